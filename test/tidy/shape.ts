import { posix } from "node:path";
import {
  below,
  eachFile,
  nowhereInCode,
  nowhereInText,
  type Offence,
  type Rule,
  type Scope,
  tests,
} from "./rule.ts";
import { isCode, type SourceFile } from "./source.ts";

const MAX_FILE_LINES = 400;
const MAX_TEST_LINES = 700;
/** A Durable Object class holds storage, an alarm and RPC methods, and no rule (shell.md#shell). */
const MAX_OBJECT_CLASS_LINES = 199;
const MAX_LINE_CHARS = 110;
const MAX_FILES_OF_FOLDER = 15;
const MAX_HEAD_LINES = 3;
/** The folders in which every file says what it answers. The list grows. */
const HEADED = below(
  ...["agent/", "archive/", "bench/", "cli/", "client/", "disk/", "local/", "posix/", "scripts/"],
  ...["src/core/", "src/objects/", "src/probes/", "src/providers/"],
  ...["src/routes/", "src/schema/", "src/shared/", "src/signing/", "ui/"],
);

const objectClasses = below(
  ...["allocation", "cloud-worker", "pool", "registry"].map((name) => `src/objects/${name}.ts`),
);
/** The rules must be able to name what they forbid. */
const rules = below("test/tidy/", "test/tidy.test.ts");
const words: Scope = (path) =>
  !rules(path) && !below("LICENSE", "package-lock.json")(path) && !path.endsWith(".png");

const BRITISH = new RegExp(
  `\\b(?:${[
    "(?:behavi|col|fav|hon|lab|neighb)our",
    "(?:initial|serial|normal|recogn|organ|author|summar|synchron|optim|minim|maxim)is(?:e|ed|ing|ation)",
    "(?:cancel|label|model|signal|travel)l(?:ed|ing)",
    "centre|licence|defence|catalogue|grey",
  ].join("|")})s?\\b`,
  "gi",
);

function atMost(scope: Scope, maxLines: number): Rule["find"] {
  return eachFile(scope, ({ path, text, lines }) => {
    const count = text.endsWith("\n") ? lines.length - 1 : lines.length;
    return count > maxLines
      ? [{ path, line: maxLines + 1, text: `${count} lines, at most ${maxLines}` }]
      : [];
  });
}

/** Folders of sources with too many files side by side. Tests mirror behavior, and verbs are a list. */
function crowdedFolders(files: SourceFile[]): Offence[] {
  const counts = new Map<string, number>();
  for (const { path } of files) {
    const folder = posix.dirname(path);
    if (folder === "." || folder === "cli/verbs" || below("test/", "docs/")(path)) continue;
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  const crowded = [...counts].filter(([, count]) => count > MAX_FILES_OF_FOLDER);
  return crowded.map(([path, count]) => ({ path, line: 1, text: `${count} files` }));
}

function withoutHead({ path, text }: SourceFile): Offence[] {
  const head = text.match(/^(?:\/\/ .*\n)+/)?.[0].split("\n").length ?? 1;
  const count = head - 1;
  return count > 0 && count <= MAX_HEAD_LINES
    ? []
    : [{ path, line: 1, text: `${count} lines of head comment` }];
}

/** How files look: their length, their names, their words. */
export const SHAPE_RULES: Rule[] = [
  {
    name: "file-length",
    mend: "a file is one idea: move the second one into a file that is named after it",
    find: (files) => [
      ...atMost((path) => isCode(path) && !tests(path), MAX_FILE_LINES)(files),
      ...atMost(tests, MAX_TEST_LINES)(files),
    ],
  },
  {
    name: "object-class-length",
    mend: "object classes hold storage, an alarm and RPC methods: move what decides into src/core",
    find: atMost(objectClasses, MAX_OBJECT_CLASS_LINES),
  },
  {
    name: "line-length",
    mend: `break the line: at most ${MAX_LINE_CHARS} characters, in comments and strings too`,
    find: eachFile(isCode, ({ path, lines }) =>
      lines.flatMap((line, index) =>
        [...line].length > MAX_LINE_CHARS
          ? [{ path, line: index + 1, text: `${[...line].length} characters` }]
          : [],
      ),
    ),
  },
  {
    name: "kebab-case",
    mend: "name files and folders in lower case with dashes",
    find: eachFile(
      // Names that people, and forges, look for.
      (path) =>
        !/(?:^|\/)(?:README|LICENSE|NOTICE|CHANGELOG|CONTRIBUTING|SECURITY)(?:\.md)?$/.test(path) &&
        !path.startsWith(".github/"),
      ({ path }) =>
        path.split("/").every((part) => /^\.?[a-z0-9]+(?:[-.][a-z0-9]+)*$/.test(part))
          ? []
          : [{ path, line: 1, text: path }],
    ),
  },
  {
    name: "small-folders",
    mend: `make folders within it, by what its files are about: at most ${MAX_FILES_OF_FOLDER} side by side`,
    find: crowdedFolders,
  },
  {
    name: "head-comments",
    mend: `open with a comment of at most ${MAX_HEAD_LINES} lines that says which question the file answers`,
    find: eachFile((path) => isCode(path) && HEADED(path), withoutHead),
  },
  {
    name: "no-open-ends",
    mend: "finish it, or leave it out and write it down where work is planned",
    find: nowhereInText(words, /\b(?:TODO|FIXME|XXX|HACK)\b/g),
  },
  {
    name: "no-paths-of-a-machine",
    mend: "make it relative to the checkout, or take it from a flag or the environment",
    find: nowhereInText(words, /(?<![\w.$}>)\]-])\/(?:work|root|home|Users)\/\w+/g),
  },
  {
    name: "no-registry-hosts",
    mend: "leave registries to the configuration of the one who installs",
    find: nowhereInText(
      (path) => !rules(path),
      /\b(?:registry|npm|artifactory|nexus)\.[\w-]+\.(?:org|com|net|io|dev)\b/g,
    ),
  },
  {
    name: "american-spelling",
    mend: "spell it the American way",
    find: nowhereInText(words, BRITISH),
  },
  {
    name: "no-console-log",
    mend: "the Worker logs errors alone, each as one object; a library answers, it does not print",
    find: nowhereInCode(below("src/", "client/"), /\bconsole\.(?:log|debug|info|trace)\b/g),
  },
];
