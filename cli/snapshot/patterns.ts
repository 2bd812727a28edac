// Which names do the lines of `.gitignore` files exclude in a directory? `rules.ts` uses this.
import { type Ways, Wildcards } from "./wildcards.ts";

/** The pattern of one line of a `.gitignore`, and how much of it the path to a directory has matched. */
interface Pattern {
  isNegated: boolean;
  onlyDirectories: boolean;
  wildcards: Wildcards;
  /** Absent for a pattern that applies at any depth: such a pattern is compared with the name alone. */
  ways?: Ways;
}

/**
 * The patterns that apply in one directory, from rule files there and in directories above it (gitignore(5)).
 */
export class Patterns {
  readonly #all: readonly Pattern[];
  /** The most steps that a match can take for each byte of a name. */
  readonly work: number;

  private constructor(all: readonly Pattern[]) {
    this.#all = all;
    this.work = all.reduce((sum, { wildcards }) => sum + wildcards.work, 0);
  }

  static readonly NONE = new Patterns([]);

  /** Adds the patterns of a file in this directory. `bytes`: its content, one character per byte. */
  with(bytes: string): Patterns {
    if (bytes === "") return this;
    const lines = bytes.replace(/^\xef\xbb\xbf/, "").split("\n");
    return new Patterns([...this.#all, ...lines.flatMap((line) => patternOf(line) ?? [])]);
  }

  /** The patterns as they apply in a subdirectory. */
  into(name: string): Patterns {
    const bytes = bytesOf(`${name}/`);
    const below = this.#all.flatMap((pattern) => {
      if (pattern.ways === undefined) return [pattern];
      const ways = pattern.wildcards.after(pattern.ways, bytes);
      return ways.length === 0 ? [] : [{ ...pattern, ways }];
    });
    return new Patterns(below);
  }

  /** Whether an entry of this directory is left out: the last matching pattern decides, if any matches. */
  leavesOut(name: string, isDirectory: boolean): boolean {
    const bytes = bytesOf(name);
    const last = this.#all.findLast(
      ({ onlyDirectories, wildcards, ways = wildcards.begin }) =>
        (isDirectory || !onlyDirectories) && wildcards.isEnd(wildcards.after(ways, bytes)),
    );
    return last !== undefined && !last.isNegated;
  }
}

/** A name with one character per byte, since Git compares bytes. */
function bytesOf(name: string): string {
  return Buffer.from(name).toString("latin1");
}

/** Reads a line as Git does. Undefined if the line can match nothing. */
function patternOf(line: string): Pattern | undefined {
  if (line.startsWith("#")) return undefined;
  let text = withoutBlanks(line.endsWith("\r") ? line.slice(0, -1) : line);
  const isNegated = text.startsWith("!");
  if (isNegated) text = text.slice(1);
  const onlyDirectories = text.endsWith("/");
  if (onlyDirectories) text = text.slice(0, -1);
  const isAnchored = text.includes("/");
  const wildcards = Wildcards.read(text.startsWith("/") ? text.slice(1) : text);
  if (wildcards === undefined) return undefined;
  return { isNegated, onlyDirectories, wildcards, ...(isAnchored ? { ways: wildcards.begin } : {}) };
}

/** Drops trailing blanks, unless a backslash escapes them. */
function withoutBlanks(line: string): string {
  let end = 0;
  for (let at = 0; at < line.length; at += 1) {
    if (line[at] === "\\") at += 1;
    else if (line[at] === " ") continue;
    end = at + 1;
  }
  return line.slice(0, end);
}
