import { posix } from "node:path";
import { importFault } from "./matrix.ts";
import { below, eachFile, matches, type Offence, type Rule, sources, specimens, tests } from "./rule.ts";
import { isCode, type SourceFile } from "./source.ts";

/** Where everything that is used is reached from: what people and tools call by its name. */
const roots = below("package.json", "wrangler.toml", "vitest.config.ts", ".ci/run");

/** The files of the repository that this one imports, or names in a string by a path. */
function named(file: SourceFile, known: Set<string>): string[] {
  const folder = posix.dirname(file.path);
  const texts = isCode(file.path)
    ? [...file.text.matchAll(/["'`]([\w./-]+\.(?:tsx?|mjs))["'`]/g)].map((match) => match[1] ?? "")
    : [...file.text.matchAll(/[\w./-]+\.(?:tsx?|mjs)\b/g)].map((match) => match[0]);
  const paths = texts.flatMap((text) => [posix.join(folder, text), posix.normalize(text)]);
  return paths.filter((path) => known.has(path));
}

function reachedFrom(files: SourceFile[], isStart: (path: string) => boolean): Set<string> {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const known = new Set(byPath.keys());
  const reached = new Set<string>();
  const open = files.filter(({ path }) => isStart(path));
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (reached.has(file.path)) continue;
    reached.add(file.path);
    for (const path of named(file, known)) {
      const next = byPath.get(path);
      if (next !== undefined) open.push(next);
    }
  }
  return reached;
}

/** Sources that only tests use are dead, too. */
function deadFiles(files: SourceFile[]): Offence[] {
  const inUse = reachedFrom(files, roots);
  const inTests = reachedFrom(files, (path) => roots(path) || /\.test\.ts$/.test(path));
  // What declares types of a module is read by the compiler, and imported by nobody.
  const compiled = (path: string) => isCode(path) && !path.endsWith(".d.ts");
  return files
    .filter(({ path }) => compiled(path) && !specimens(path) && !(tests(path) ? inTests : inUse).has(path))
    .map(({ path }) => ({ path, line: 1, text: "nothing that is used imports it" }));
}

/** What asks Drover, but for what sends, and for the verb that calls a cloud. */
const asking = (path: string) =>
  below("client/", "cli/", "ui/")(path) &&
  !below("client/transport/http.ts", "cli/provider-test/", "ui/api/send.ts")(path);

/** A request past the client, or a path that the routes do not know of. */
function asksByItself(file: SourceFile): Offence[] {
  const sent = matches(file, file.code, /(?<![\w.])fetch\s*\(/g);
  const uncommented = [...file.text].map((char, at) => (/\s/.test(file.comments[at] ?? " ") ? char : " "));
  return [...sent, ...matches(file, uncommented.join(""), /["'`]\/v1\//g)];
}

/** Imports, of types too, of files that lead back to the file that imports them. */
function importCycles(files: SourceFile[]): Offence[] {
  const byPath = new Map(files.filter(({ path }) => sources(path)).map((file) => [file.path, file]));
  const reached = new Map([...byPath.keys()].map((path) => [path, importedBy(path, byPath)]));
  return [...byPath.values()].flatMap(({ path, imports }) =>
    imports
      .filter(({ target = "" }) => reached.get(target)?.has(path))
      .map(({ line, target }) => ({ path, line, text: `${target} leads back here` })),
  );
}

/** All that a file imports, and what that imports, and so on. */
function importedBy(start: string, byPath: Map<string, SourceFile>): Set<string> {
  const seen = new Set<string>();
  const open = [start];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    for (const { target } of byPath.get(path)?.imports ?? []) {
      if (target === undefined || seen.has(target)) continue;
      seen.add(target);
      open.push(target);
    }
  }
  return seen;
}

const ACTOR = "src/objects/actor.ts";

/** What the shell pulls in at run time, step by step, that Node does not have. */
function platformBehindTheShell(files: SourceFile[]): Offence[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const seen = new Set<string>();
  const open = [ACTOR];
  const offences: Offence[] = [];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (seen.has(path)) continue;
    seen.add(path);
    for (const { specifier, target, typeOnly, line } of byPath.get(path)?.imports ?? []) {
      if (typeOnly) continue;
      if (target !== undefined) open.push(target);
      else if (/^(?:cloudflare|node):/.test(specifier)) offences.push({ path, line, text: specifier });
    }
  }
  return offences;
}

const RUNTIME = "local/runtime/runtime.ts";

/** Nothing of the product loads wrangler: what it says of the configuration is worked out by the build. */
function unstableNames(files: SourceFile[]): Offence[] {
  return files
    .filter(({ path }) => sources(path))
    .flatMap(({ path, imports }) =>
      imports
        .filter(
          ({ specifier }) => specifier === "wrangler" || (specifier === "miniflare" && path !== RUNTIME),
        )
        .map(({ line, specifier }) => ({ path, line, text: specifier })),
    );
}

function loosePins(file: SourceFile): Offence[] {
  const { dependencies = {}, devDependencies = {}, optionalDependencies = {} } = JSON.parse(file.text);
  const pins: Record<string, string> = { ...dependencies, ...devDependencies, ...optionalDependencies };
  return Object.entries(pins)
    .filter(([, version]) => !/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version))
    .map(([name, version]) => ({
      path: file.path,
      line: file.lines.findIndex((line) => line.includes(`"${name}"`)) + 1,
      text: `${name} ${version}`,
    }));
}

/** What only the repository as a whole can show. */
export const WHOLE_RULES: Rule[] = [
  {
    name: "import-matrix",
    mend: "imports point downwards only (design/README.md#imports): move what is shared down, or pass it in",
    find: eachFile(isCode, (file) =>
      file.imports.flatMap((found) => {
        const fault = importFault(file, found);
        return fault === undefined ? [] : [{ path: file.path, line: found.line, text: fault }];
      }),
    ),
  },
  {
    name: "no-type-cycles",
    mend: "a file that is imported knows nothing of who imports it: move the type down, beside the state",
    find: importCycles,
  },
  {
    name: "portable-shell",
    mend: `${ACTOR} runs in the simulator, too: take what the platform does as an interface`,
    find: platformBehindTheShell,
  },
  {
    name: "one-client",
    mend: "ask by the name of the route (`client/transport/call-of.ts`); only http.ts beside it sends",
    find: eachFile(asking, asksByItself),
  },
  {
    name: "one-runtime",
    mend: `${RUNTIME} wraps miniflare, scripts/worker-options.mjs wrangler: use those`,
    find: unstableNames,
  },
  {
    name: "no-dead-files",
    mend: "use it or remove it",
    find: deadFiles,
  },
  {
    name: "exact-pins",
    mend: "name one version: ranges pull in packages that do not work together (tools.md#versions)",
    find: eachFile(below("package.json"), loosePins),
  },
];
