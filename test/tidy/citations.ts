import { posix } from "node:path";
import type { Offence, Rule, Scope } from "./rule.ts";
import { isCode, lineAt, type SourceFile } from "./source.ts";

/** In code a document is named without its folder: it lies in one of these, the first that has it. */
const SHELVES = ["docs/design", "docs", ""];

/** In code: a document with an anchor anywhere; one without only in a comment, since it may be any file. */
const ANCHORED = /(?<![\w./:-])((?:[\w-]+\/)*[\w-]+\.md)#([\w-]+)/g;
const NAMED = /(?<![\w./:<*-])((?:[\w-]+\/)*[\w-]+\.md)(?![\w#*])/g;
/** In a document: the target of a link. */
const LINKED = /\]\(((?!\w+:)[^)\s#]*)(?:#([^)\s]+))?\)/g;
/** A section is cited by its anchor: numbers move. */
const NUMBERED = /\b[\w-]+\.md`? ?§[\d.]+/g;

/** A file of ours in backquotes, perhaps several: `a/{b,c}.ts`. */
const FILE_NAME = /`((?:[\w.-]+\/)*[\w.{},-]+\.(?:ts|mjs|sh))`/g;
/** What a build makes, and what a reader makes. */
const isMade = (name: string) => /^(?:dist|src\/generated)\/|^(?:build|nightly|host)\.sh$/.test(name);

/** The rules and the invariants, wherever they are cited by their bare numbers. */
const RULE = /\bR(\d{1,2})\b/g;
const INVARIANT = /\binvariant (\d+)\b/g;
const RULES_PAGE = "docs/design/rules.md";

const isDocument: Scope = (path) => path.endsWith(".md");
/** What it plants leads nowhere on purpose. */
const isPlanted: Scope = (path) => path === "test/tidy/plants.ts";

interface Citation {
  at: number;
  text: string;
  /** Paths that it may mean. */
  paths: string[];
  anchor: string | undefined;
}

export const CITATION_RULES: Rule[] = [
  {
    name: "citations-resolve",
    mend: "cite a heading or an anchor of a page in docs/design, as `restart.md#row-7`",
    find: danglingCitations,
  },
  {
    name: "named-files-exist",
    mend: "name the file as it is called now",
    find: missingFiles,
  },
];

/** Files that the design names in backquotes, by a part of their path, and that are not there. */
function missingFiles(files: SourceFile[]): Offence[] {
  const paths = files.map(({ path }) => `/${path}`);
  const isThere = (name: string) => paths.some((path) => path.endsWith(`/${name}`));
  return files
    .filter(({ path }) => path.startsWith("docs/design/"))
    .flatMap((file) =>
      [...file.text.matchAll(FILE_NAME)].flatMap(({ index, 1: name = "" }) =>
        spelledOut(name)
          .filter((one) => !isThere(one) && !isMade(one))
          .map((text) => ({ path: file.path, line: lineAt(file.text, index), text })),
      ),
    );
}

/** `a/{b,c}.ts` are `a/b.ts` and `a/c.ts`. */
function spelledOut(name: string): string[] {
  const [, before = "", list, after = ""] = /^(.*)\{(.*)\}(.*)$/.exec(name) ?? [];
  return list === undefined ? [name] : list.split(",").map((one) => before + one + after);
}

/** Citations that lead to no page, or to none of its headings. */
function danglingCitations(files: SourceFile[]): Offence[] {
  const anchors = new Map(
    files.filter(({ path }) => isDocument(path)).map((file) => [file.path, anchorsOf(file)]),
  );
  const leads = ({ paths, anchor }: Citation) =>
    paths.some((path) => {
      const known = anchors.get(path);
      return known !== undefined && (anchor === undefined || known.has(anchor));
    });
  const known = new Set(files.map(({ path }) => path));
  return files
    .filter(({ path }) => (isCode(path) || isDocument(path) || path.endsWith(".sh")) && !isPlanted(path))
    .flatMap((file) =>
      citationsOf(file)
        .filter((citation) => !leads(citation) && !isOtherFile(citation, known))
        .map(({ at, text }) => ({ path: file.path, line: lineAt(file.text, at), text })),
    );
}

/** Documents link to sources and folders, too. */
function isOtherFile({ paths, anchor }: Citation, known: Set<string>): boolean {
  const isThere = (path: string) => known.has(path) || [...known].some((one) => one.startsWith(`${path}/`));
  return anchor === undefined && paths.some((path) => !isDocument(path) && (path === "." || isThere(path)));
}

function citationsOf(file: SourceFile): Citation[] {
  const numbered = [...file.text.matchAll(NUMBERED)].map(({ index, 0: text }) => ({
    at: index,
    text,
    paths: [],
    anchor: undefined,
  }));
  return [...numbered, ...(isDocument(file.path) ? linksOf(file) : namesOf(file)), ...rulesOf(file)];
}

function linksOf({ path, text }: SourceFile): Citation[] {
  return [...text.matchAll(LINKED)].map(({ index, 0: whole, 1: target = "", 2: anchor }) => ({
    at: index,
    text: whole,
    paths: [target === "" ? path : posix.join(posix.dirname(path), target).replace(/\/$/, "")],
    anchor,
  }));
}

function namesOf({ text, comments }: SourceFile): Citation[] {
  const found = [...text.matchAll(ANCHORED), ...(comments === "" ? text : comments).matchAll(NAMED)];
  return found.map(({ index, 0: whole, 1: name = "", 2: anchor }) => ({
    at: index,
    text: whole,
    paths: SHELVES.map((shelf) => posix.join(shelf, name)),
    anchor,
  }));
}

function rulesOf({ text, path }: SourceFile): Citation[] {
  if (isDocument(path) && !path.startsWith("docs/design/")) return [];
  const cited = (pattern: RegExp, prefix: string) =>
    [...text.matchAll(pattern)].map(({ index, 0: whole, 1: number = "" }) => ({
      at: index,
      text: whole,
      paths: [RULES_PAGE],
      anchor: `${prefix}${number}`,
    }));
  return [...cited(RULE, "r"), ...cited(INVARIANT, "invariant-")];
}

function anchorsOf({ text }: SourceFile): Set<string> {
  return new Set([...idsIn(text), ...headingsIn(text)]);
}

/** The anchors that a page names itself: `<a id="row-7">`. */
export function idsIn(page: string): string[] {
  return [...page.matchAll(/<a id="([\w-]+)">/g)].map(([, id = ""]) => id);
}

/** The anchors of its headings, as GitHub makes them: lower case, no punctuation, dashes for spaces. */
export function headingsIn(page: string): string[] {
  const bare = page.replace(/^```[\s\S]*?^```/gm, "");
  return [...bare.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .trim()
      .replaceAll(" ", "-"),
  );
}
