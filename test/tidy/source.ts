import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { posix } from "node:path";

/** A file of the repository as the rules see it. */
export interface SourceFile {
  /** From the root of the repository, with slashes. */
  path: string;
  text: string;
  lines: string[];
  /** `text` with comments and the contents of strings and patterns blanked out: same length, same lines. */
  code: string;
  /** `text` with everything but comments blanked out. */
  comments: string;
  imports: ImportOf[];
}

/** One import or re-export. */
export interface ImportOf {
  /** As written. */
  specifier: string;
  /** The path in the repository that a relative specifier means; undefined for a package. */
  target: string | undefined;
  /** Nothing of it is there at run time. */
  typeOnly: boolean;
  line: number;
}

/** Text is code if a rule can read it as JavaScript. */
export function isCode(path: string): boolean {
  return /\.(?:tsx?|mjs)$/.test(path);
}

/** What Git tracks, and what it would track after the next `git add`, without what is gone from the disk. */
export function repositoryFiles(root: string): SourceFile[] {
  const list = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
  });
  const files: SourceFile[] = [];
  for (const path of new Set(list.split("\0"))) {
    const text = path === "" ? undefined : readIfThere(`${root}/${path}`);
    if (text !== undefined) files.push(sourceFile(path, text));
  }
  return files;
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

/** Reads one file: what is comment, what is literal, what it imports. */
export function sourceFile(path: string, text: string): SourceFile {
  const { code, comments } = isCode(path) ? masks(text) : { code: text, comments: "" };
  const imports = isCode(path) ? importsOf(path, text, code) : [];
  return { path, text, lines: text.split("\n"), code, comments, imports };
}

/** The number of the line that holds this offset, from 1. */
export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}

const BLANK = /[^\n]/g;
/** After these a slash begins a pattern; after a name, a number or a closing bracket it divides. */
const BEFORE_PATTERN =
  /(?:^|[=(,:;!&|?{}[+\-*%<>~^]|\b(?:return|typeof|case|do|else|in|of|void|throw|await|yield|default))\s*$/;
/** The next piece of a file that is no plain code. */
const PIECES: [start: string, whole: RegExp][] = [
  ["//", /\/\/[^\n]*/y],
  ["/*", /\/\*[\s\S]*?\*\//y],
  ['"', /"(?:[^"\\\n]|\\[\s\S])*"/y],
  ["'", /'(?:[^'\\\n]|\\[\s\S])*'/y],
];
const PATTERN = /\/(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y;

function masks(text: string): { code: string; comments: string } {
  let code = "";
  let comments = "";
  /** For each template that is open: how many braces are open inside its `${`. */
  const templates: number[] = [];
  const blank = (piece: string) => piece.replace(BLANK, " ");
  const literal = (piece: string) => {
    code += piece.length < 2 ? blank(piece) : piece[0] + blank(piece.slice(1, -1)) + piece.at(-1);
    comments += blank(piece);
  };
  for (let at = 0; at < text.length; ) {
    const piece = pieceAt(text, at, code);
    const depth = templates.at(-1);
    if (piece?.startsWith("//") || piece?.startsWith("/*")) {
      code += blank(piece);
      comments += piece;
      at += piece.length;
    } else if (piece !== undefined) {
      literal(piece);
      at += piece.length;
    } else if (text[at] === "`" || (text[at] === "}" && depth === 0)) {
      // A stretch of template text: from a backtick, or from the end of a `${}`, to the next backtick or
      // `${`.
      const stretch = text.slice(at).match(/^[`}](?:[^`\\$]|\\[\s\S]|\$(?!\{))*(?:`|\$\{)?/)?.[0] ?? "`";
      if (text[at] === "}") templates.pop();
      if (stretch.endsWith("${")) templates.push(0);
      literal(stretch);
      at += stretch.length;
    } else {
      if (depth !== undefined && text[at] === "{") templates[templates.length - 1] = depth + 1;
      if (depth !== undefined && text[at] === "}") templates[templates.length - 1] = depth - 1;
      code += text[at];
      comments += text[at] === "\n" ? "\n" : " ";
      at += 1;
    }
  }
  return { code, comments };
}

/** The comment, string or pattern that begins here. `before` is the code up to here, without its literals. */
function pieceAt(text: string, at: number, before: string): string | undefined {
  for (const [start, whole] of PIECES) {
    if (text.startsWith(start, at)) return matchAt(whole, text, at);
  }
  // `</` ends an element of JSX.
  if (text[at] !== "/" || text[at - 1] === "<") return undefined;
  return BEFORE_PATTERN.test(before.slice(-40)) ? matchAt(PATTERN, text, at) : undefined;
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

const STATIC = /(?<![.\w$])(import|export)\b(\s+type\b(?!\s*(?:,|from\b)))?([^;"'`()=]*?)\bfrom\s*(["'])/g;
const BARE = /(?<![.\w$])import\s*(["'])/g;
const DYNAMIC = /(?<![.\w$])import\s*\(\s*(["'])/g;

function importsOf(path: string, text: string, code: string): ImportOf[] {
  const found: ImportOf[] = [];
  const add = (match: RegExpMatchArray, typeOnly: boolean) => {
    const quoteAt = (match.index ?? 0) + match[0].length - 1;
    const specifier = text.slice(quoteAt + 1, text.indexOf(text[quoteAt] ?? '"', quoteAt + 1));
    const target = specifier.startsWith(".")
      ? posix.join(posix.dirname(path), specifier).replace(/^\.\//, "")
      : undefined;
    found.push({ specifier, target, typeOnly, line: lineAt(text, match.index ?? 0) });
  };
  for (const match of code.matchAll(STATIC))
    add(match, match[2] !== undefined || namesTypesOnly(match[3] ?? ""));
  for (const match of code.matchAll(BARE)) add(match, false);
  for (const match of code.matchAll(DYNAMIC)) add(match, isTypeQuery(code, match.index));
  return found;
}

/** `{ type A, type B }`: nothing of it is there at run time either, and bundlers leave the module out. */
function namesTypesOnly(clause: string): boolean {
  const names = clause.match(/^\s*\{([^}]*)\}\s*$/)?.[1]?.split(",") ?? [];
  const given = names.map((name) => name.trim()).filter((name) => name !== "");
  return given.length > 0 && given.every((name) => name.startsWith("type "));
}

/** `typeof import("…")`, `: import("…").Name` and `type Name = import("…").Name` are types. */
function isTypeQuery(code: string, at: number): boolean {
  return /(?:\btypeof|:|\bas|\btype \w+ =)\s*$/.test(code.slice(Math.max(0, at - 80), at));
}
