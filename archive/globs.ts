// Does a path match the globs of `outputs`? Globs are matched in linear time. A regular expression could
// block the agent's only thread for minutes on `*a*a*a*a*b`.
import { namesOf } from "./entries.ts";
import { ArchiveFault } from "./faults.ts";
import type { Choice } from "./walk.ts";

/** All globs together may expand to this many alternatives of `{a,b}`. */
const MAX_ALTERNATIVES = 1_024;
/** Limit of the work for one name: the tokens of patterns with `*` plus the parts of globs with `**`. */
const MAX_WORK = 4_096;

/** One token of a name's pattern: any number of characters, or a test of one character. */
type Token = "any" | ((char: string) => boolean);
/** One part of a glob: any number of directories, or the pattern of one name. */
type Part = "directories" | Token[];

/** How far globs have matched, for one path below their directory. */
export interface GlobMatcher {
  /** This path matches, and so does everything below it. */
  readonly fits: boolean;
  /**
   * The matcher for this name in this directory; undefined if neither that path nor anything below it can
   * match.
   */
  into(name: string): GlobMatcher | undefined;
}

/**
 * Reads globs, relative to a directory: `*`, `?`, `[a-z]`, `[!a-z]`, `{a,b}`, and `**` for any number of
 * directories; a backslash makes the next character literal. A leading dot is a character like any other. A
 * match includes everything below it. The returned matcher is for the directory itself. Throws an
 * `ArchiveFault` if matching would take too long.
 */
export function readGlobs(globs: readonly string[]): GlobMatcher {
  const alternatives: string[] = [];
  for (const glob of globs) expand("", glob, alternatives);
  const read = alternatives.map(partsOf);
  if (read.reduce((work, glob) => work + workOf(glob), 0) > MAX_WORK) {
    throw new ArchiveFault(
      'the globs with a "*" are too long in total, counting all alternatives in their braces',
    );
  }
  return matcherAt(
    read,
    read.map((_, glob) => ({ glob, done: 0 })),
  );
}

/** Selects the matches of globs in a directory and below it. */
export function choiceOf(place: GlobMatcher): Choice {
  const choice: Choice = {
    chosen: place.fits,
    open: async () => (entry) => {
      if (place.fits) return choice;
      const inner = place.into(entry.name);
      return inner && choiceOf(inner);
    },
  };
  return choice;
}

/** How far one glob has matched: its first `done` parts. */
interface Progress {
  glob: number;
  done: number;
}

function matcherAt(globs: Part[][], progress: Progress[]): GlobMatcher {
  const open = unique(progress.flatMap((one) => withSkipped(globs, one)));
  return {
    fits: open.some(({ glob, done }) => done === globs[glob]?.length),
    into(name) {
      const chars = [...name];
      const next = open.flatMap(({ glob, done }) => {
        const part = globs[glob]?.[done];
        if (part === "directories") return [{ glob, done }];
        return part !== undefined && fitsName(part, chars) ? [{ glob, done: done + 1 }] : [];
      });
      return next.length === 0 ? undefined : matcherAt(globs, next);
    },
  };
}

/** Adds the progress after a `**`, which may match no directory at all. Two `**` are never neighbors. */
function withSkipped(globs: Part[][], { glob, done }: Progress): Progress[] {
  const behind = globs[glob]?.[done] === "directories" ? [{ glob, done: done + 1 }] : [];
  return [{ glob, done }, ...behind];
}

function unique(progress: Progress[]): Progress[] {
  return [...new Map(progress.map((one) => [`${one.glob} ${one.done}`, one])).values()];
}

/** Comparisons that a glob costs, at worst, for each character of a name. */
function workOf(glob: Part[]): number {
  const places = glob.flatMap((part) => (part !== "directories" && part.includes("any") ? part : []));
  return places.length + (glob.includes("directories") ? glob.length : 0);
}

/**
 * Whether a name matches. Only the latest `*` is retried with more characters: an earlier `*` needs no retry.
 */
function fitsName(tokens: Token[], chars: string[]): boolean {
  let index = 0;
  let star: number | undefined;
  let retryAt = 0;
  for (let at = 0; at < chars.length; ) {
    const token = tokens[index];
    if (token === "any") {
      star = index;
      retryAt = at;
      index += 1;
    } else if (token?.(chars[at] ?? "")) {
      index += 1;
      at += 1;
    } else if (star !== undefined) {
      retryAt += 1;
      at = retryAt;
      index = star + 1;
    } else return false;
  }
  return tokens.slice(index).every((token) => token === "any");
}

/** Expands braces: `a{b,c}` becomes two globs. Braces without a comma are literal. */
function expand(before: string, glob: string, into: string[]): void {
  for (let at = 0; at < glob.length; at += 1) {
    if (glob[at] === "\\") at += 1;
    else if (glob[at] === "{") {
      const [choices, end] = choicesAt(glob, at);
      if (choices.length < 2) continue;
      for (const choice of choices) {
        expand(before + glob.slice(0, at), choice + glob.slice(end), into);
      }
      return;
    }
  }
  if (into.length >= MAX_ALTERNATIVES) {
    throw new ArchiveFault(`the globs have more than ${MAX_ALTERNATIVES} alternatives in braces`);
  }
  into.push(before + glob);
}

/** The choices between the brace at `from` and its closing brace, and the index after the closing brace. */
function choicesAt(glob: string, from: number): [string[], number] {
  const choices: string[] = [];
  let depth = 0;
  let begin = from + 1;
  for (let at = from; at < glob.length; at += 1) {
    const char = glob[at];
    if (char === "\\") at += 1;
    else if (char === "{") depth += 1;
    else if (char === "}") depth -= 1;
    const ends = char === "}" && depth === 0;
    if (!ends && !(char === "," && depth === 1)) continue;
    choices.push(glob.slice(begin, at));
    begin = at + 1;
    if (ends) return [choices, begin];
  }
  return [[], glob.length];
}

function partsOf(glob: string): Part[] {
  const parts = namesOf(glob);
  const needed = parts.filter((part, at) => part !== "**" || parts[at - 1] !== "**");
  return needed.map((part) => (part === "**" ? "directories" : tokensOf([...part])));
}

function tokensOf(chars: string[]): Token[] {
  const places: Token[] = [];
  for (let at = 0; at < chars.length; at += 1) {
    const char = chars[at] ?? "";
    const end = char === "[" ? endOfClass(chars, at) : undefined;
    if (char === "*") places.push("any");
    else if (char === "?") places.push(() => true);
    else if (end !== undefined) {
      places.push(classOf(chars.slice(at + 1, end)));
      at = end;
    } else {
      const literal = char === "\\" ? (chars[++at] ?? char) : char;
      places.push((one) => one === literal);
    }
  }
  return places;
}

/**
 * The index of the bracket that ends a class; undefined if there is none. A bracket at its start is literal.
 */
function endOfClass(chars: string[], from: number): number | undefined {
  const first = chars[from + 1] === "!" || chars[from + 1] === "^" ? from + 2 : from + 1;
  const end = chars.indexOf("]", first + 1);
  return end < 0 ? undefined : end;
}

function classOf(content: string[]): (char: string) => boolean {
  const not = content[0] === "!" || content[0] === "^";
  const chars = not ? content.slice(1) : content;
  const ranges: [string, string][] = [];
  for (let at = 0; at < chars.length; at += 1) {
    const first = chars[at] ?? "";
    const last = chars[at + 1] === "-" ? chars[at + 2] : undefined;
    ranges.push([first, last ?? first]);
    if (last !== undefined) at += 2;
  }
  return (char) => ranges.some(([first, last]) => first <= char && char <= last) !== not;
}
