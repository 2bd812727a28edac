import { type Ways, Wildcards } from "./wildcards.ts";

/** One line of a `.gitignore`, and how far it has come on the way to a directory. */
interface Pattern {
  isNegated: boolean;
  onlyDirectories: boolean;
  wildcards: Wildcards;
  /** Absent: it means any depth, and is compared with the name alone. */
  ways?: Ways;
}

/** The patterns of one file, in a directory that it holds for: its own, or one below (gitignore(5)). */
export class Patterns {
  readonly #all: readonly Pattern[];
  /** What they cost at worst for each byte of a name. */
  readonly work: number;

  private constructor(all: readonly Pattern[]) {
    this.#all = all;
    this.work = all.reduce((sum, { wildcards }) => sum + wildcards.work, 0);
  }

  /** Reads a file, in its own directory. `bytes`: one character for each. */
  static read(bytes: string): Patterns {
    const lines = bytes.replace(/^\xef\xbb\xbf/, "").split("\n");
    return new Patterns(lines.flatMap((line) => patternOf(line) ?? []));
  }

  /** The same in a directory that lies in this one. */
  into(name: string): Patterns {
    const below = this.#all.flatMap((pattern) => {
      if (pattern.ways === undefined) return [pattern];
      const ways = pattern.wildcards.after(pattern.ways, `${name}/`);
      return ways.length === 0 ? [] : [{ ...pattern, ways }];
    });
    return new Patterns(below);
  }

  /** Whether what is called so and lies here is left out: the last pattern that fits decides, if any does. */
  leavesOut(name: string, isDirectory: boolean): boolean | undefined {
    for (let index = this.#all.length - 1; index >= 0; index -= 1) {
      const pattern = this.#all[index];
      if (pattern === undefined || (pattern.onlyDirectories && !isDirectory)) continue;
      const { wildcards, ways = wildcards.begin, isNegated } = pattern;
      if (wildcards.isEnd(wildcards.after(ways, name))) return !isNegated;
    }
    return undefined;
  }
}

/** Reads a line as Git does; undefined if nothing can fit it. */
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

/** Blanks at the end do not count, unless a backslash stands before them. */
function withoutBlanks(line: string): string {
  let end = 0;
  for (let at = 0; at < line.length; at += 1) {
    if (line[at] === "\\") at += 1;
    else if (line[at] === " ") continue;
    end = at + 1;
  }
  return line.slice(0, end);
}
