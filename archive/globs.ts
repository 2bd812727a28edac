// Does a path match the globs of `outputs`? Matched in linear time, unlike regular expressions, which could
// block the agent's only thread for minutes on `*a*a*a*a*b`.
import { ArchiveFault } from "./faults.ts";
import type { Choice } from "./walk.ts";

/** Alternatives of `{a,b}` that globs may have altogether. */
const MAX_ALTERNATIVES = 1_024;
/** What one name may have to be compared with: places of names with `*`, and parts of globs with `**`. */
const MAX_WORK = 4_096;

/** One place of a name: any number of characters, or one of which it is said whether it fits. */
type Place = "any" | ((char: string) => boolean);
/** One part of a path: any number of directories, or one thing whose name fits. */
type Part = "directories" | Place[];

/** How far globs have come on the way to a path. */
export interface GlobPlace {
  /** What lies here fits, and with it all below it. */
  readonly fits: boolean;
  /** The place of what is called so and lies here; undefined if nothing fits there, or below. */
  into(name: string): GlobPlace | undefined;
}

/**
 * Reads globs, relative to a directory: `*`, `?`, `[a-z]`, `[!a-z]`, `{a,b}`, and `**` for any number of
 * directories; a backslash takes a character as it is. A leading dot is a character like any other. What fits
 * is meant with all that is below it. The place that is returned is that of the directory itself.
 */
export function readGlobs(globs: readonly string[]): GlobPlace {
  const alternatives: string[] = [];
  for (const glob of globs) expand("", glob, alternatives);
  const read = alternatives.map(partsOf);
  if (read.reduce((work, glob) => work + workOf(glob), 0) > MAX_WORK) {
    const text = "are too long altogether, with all alternatives of their braces";
    throw new ArchiveFault(`the globs that have a "*" in them ${text}`);
  }
  return placeAt(
    read,
    read.map((_, glob) => ({ glob, done: 0 })),
  );
}

/** What globs choose of a directory and all below it. */
export function choiceOf(place: GlobPlace): Choice {
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

/** A glob of which the first so many parts are done. */
interface Way {
  glob: number;
  done: number;
}

function placeAt(globs: Part[][], ways: Way[]): GlobPlace {
  const open = unique(ways.flatMap((way) => withSkipped(globs, way)));
  return {
    fits: open.some(({ glob, done }) => done === globs[glob]?.length),
    into(name) {
      const chars = [...name];
      const next = open.flatMap(({ glob, done }) => {
        const part = globs[glob]?.[done];
        if (part === "directories") return [{ glob, done }];
        return part !== undefined && fitsName(part, chars) ? [{ glob, done: done + 1 }] : [];
      });
      return next.length === 0 ? undefined : placeAt(globs, next);
    },
  };
}

/** `**` stands for no directory, too. No two of them are neighbors. */
function withSkipped(globs: Part[][], { glob, done }: Way): Way[] {
  const skips = globs[glob]?.[done] === "directories";
  return skips
    ? [
        { glob, done },
        { glob, done: done + 1 },
      ]
    : [{ glob, done }];
}

function unique(ways: Way[]): Way[] {
  const seen = new Map<number, Set<number>>();
  return ways.filter(({ glob, done }) => {
    const known = seen.get(glob) ?? new Set();
    seen.set(glob, known);
    if (known.has(done)) return false;
    known.add(done);
    return true;
  });
}

/** How much there is to try of a glob, at worst, for each character of a name. */
function workOf(glob: Part[]): number {
  const places = glob.flatMap((part) => (part !== "directories" && part.includes("any") ? part : []));
  return places.length + (glob.includes("directories") ? glob.length : 0);
}

/** Whether a name fits. Only the latest `*` is ever tried anew: what an earlier one takes can be its own. */
function fitsName(places: Place[], chars: string[]): boolean {
  let place = 0;
  let star: number | undefined;
  let retryAt = 0;
  for (let at = 0; at < chars.length; ) {
    const wanted = places[place];
    if (wanted === "any") {
      star = place;
      retryAt = at;
      place += 1;
    } else if (wanted?.(chars[at] ?? "")) {
      place += 1;
      at += 1;
    } else if (star !== undefined) {
      retryAt += 1;
      at = retryAt;
      place = star + 1;
    } else return false;
  }
  return places.slice(place).every((left) => left === "any");
}

/** Adds the globs that braces make of one: `a{b,c}` are two. Braces without a comma are themselves. */
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

/** What stands between the brace at `from` and the one that closes it, and where that ends. */
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
  const parts = glob.split("/").filter((part) => part !== "" && part !== ".");
  const needed = parts.filter((part, at) => part !== "**" || parts[at - 1] !== "**");
  return needed.map((part) => (part === "**" ? "directories" : placesOf([...part])));
}

function placesOf(chars: string[]): Place[] {
  const places: Place[] = [];
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

/** Where a class of characters ends: a bracket right at its beginning is one of them. Undefined: nowhere. */
function endOfClass(chars: string[], from: number): number | undefined {
  const first = chars[from + 1] === "!" || chars[from + 1] === "^" ? from + 2 : from + 1;
  const end = chars.indexOf("]", first + 1);
  return end < 0 ? undefined : end;
}

function classOf(said: string[]): (char: string) => boolean {
  const not = said[0] === "!" || said[0] === "^";
  const chars = not ? said.slice(1) : said;
  const ranges: [string, string][] = [];
  for (let at = 0; at < chars.length; at += 1) {
    const first = chars[at] ?? "";
    const last = chars[at + 1] === "-" ? chars[at + 2] : undefined;
    ranges.push([first, last ?? first]);
    if (last !== undefined) at += 2;
  }
  return (char) => ranges.some(([first, last]) => first <= char && char <= last) !== not;
}
