// Does a pattern of gitignore(5) match a path, as in Git's `wildmatch`? Regular expressions would take
// exponential time for `*a*a*a*a*b`. This simulates an NFA instead: byte by byte, it follows all ways to
// match at once. Its time is proportional to the length of the pattern times the length of the name.

/**
 * One place of a pattern: a test of one byte; any number of bytes, with slashes (`deep`) or without (`star`);
 * or a fork, which continues both at the next place and at `orFrom`.
 */
type Place = ((byte: string) => boolean) | "star" | "deep" | { orFrom: number };

/** The places in a pattern that a path can have reached. */
export type Ways = readonly number[];

const SPECIAL = new Set(["*", "?", "[", "\\"]);

/** A pattern that is matched against a path, one name after the other. */
export class Wildcards {
  readonly #places: readonly Place[];
  /** The most steps that a match can take for each byte of a name. */
  readonly work: number;
  /**
   * The turn in which each place was last added. A turn collects the places for one byte, without duplicates.
   */
  readonly #addedIn: Float64Array;
  #turn = 0;

  private constructor(places: readonly Place[]) {
    this.#places = places;
    this.#addedIn = new Float64Array(places.length + 1);
    this.work = places.some((place) => typeof place !== "function") ? places.length : 1;
  }

  /** Reads a pattern without its `!` and trailing slash. Undefined if it is malformed and matches nothing. */
  static read(pattern: string): Wildcards | undefined {
    const places: Place[] = [];
    const special = [...pattern].findIndex((char) => SPECIAL.has(char));
    // Git compares the literal prefix separately, and then reads the rest as if a pattern began there.
    const begin = special < 0 ? pattern.length : special;
    for (let at = 0; at < pattern.length; ) {
      const char = pattern[at] ?? "";
      if (char === "*") {
        const end = endOf(pattern, at);
        const isBegin = at === begin || pattern[at - 1] === "/";
        const rest = pattern.slice(end);
        const isDeep = end - at > 1 && isBegin && (rest === "" || /^\\?\//.test(rest));
        // `**/` may also stand for no directory at all.
        if (isDeep && rest.startsWith("/")) places.push({ orFrom: places.length + 3 });
        places.push(isDeep ? "deep" : "star");
        at = end;
      } else if (char === "[") {
        const read = readClass(pattern, at + 1);
        if (read === undefined) return undefined;
        places.push(read.fits);
        at = read.end;
      } else {
        const literal = char === "\\" ? pattern[at + 1] : char;
        if (literal === undefined) return undefined;
        places.push(char === "?" ? (byte) => byte !== "/" : (byte) => byte === literal);
        at += char === "\\" ? 2 : 1;
      }
    }
    return new Wildcards(places);
  }

  /** The places that are reached before the first byte. */
  get begin(): Ways {
    const ways: number[] = [];
    this.#turn += 1;
    this.#add(ways, 0);
    return ways;
  }

  /** The places that are reached after more bytes; none if the bytes do not match. */
  after(ways: Ways, bytes: string): Ways {
    let now = ways;
    for (let at = 0; at < bytes.length && now.length > 0; at += 1) now = this.#step(now, bytes[at] ?? "");
    return now;
  }

  /** Whether the whole pattern is matched. */
  isEnd(ways: Ways): boolean {
    return ways.includes(this.#places.length);
  }

  #step(ways: Ways, byte: string): Ways {
    const next: number[] = [];
    this.#turn += 1;
    for (const at of ways) {
      const place = this.#places[at];
      const stays = place === "deep" || (place === "star" && byte !== "/");
      if (stays) this.#add(next, at);
      else if (typeof place === "function" && place(byte)) this.#add(next, at + 1);
    }
    return next;
  }

  /**
   * Adds a place, and all places reachable from it without a byte, unless they were already added in this
   * turn.
   */
  #add(ways: number[], from: number): void {
    const others: number[] = [];
    for (let at: number | undefined = from; at !== undefined; ) {
      if (this.#addedIn[at] === this.#turn) {
        at = others.pop();
        continue;
      }
      this.#addedIn[at] = this.#turn;
      ways.push(at);
      const place: Place | undefined = this.#places[at];
      if (typeof place === "object") others.push(place.orFrom);
      at = place === undefined || typeof place === "function" ? others.pop() : at + 1;
    }
  }
}

function endOf(pattern: string, from: number): number {
  let end = from;
  while (pattern[end] === "*") end += 1;
  return end;
}

const inRange = (first: string, last: string) => (byte: string) => first <= byte && byte <= last;
const CLASSES: Record<string, (byte: string) => boolean> = {
  alnum: (byte) => /[0-9A-Za-z]/.test(byte),
  alpha: (byte) => /[A-Za-z]/.test(byte),
  blank: (byte) => byte === " " || byte === "\t",
  cntrl: (byte) => byte < " " || byte === "\x7f",
  digit: inRange("0", "9"),
  graph: inRange("!", "~"),
  lower: inRange("a", "z"),
  print: inRange(" ", "~"),
  punct: (byte) => /[!-/:-@[-`{-~]/.test(byte),
  space: (byte) => " \t\n\r".includes(byte),
  upper: inRange("A", "Z"),
  xdigit: (byte) => /[0-9A-Fa-f]/.test(byte),
};

/** Reads a bracket expression, from the character after its `[`. Undefined if the expression never ends. */
function readClass(
  pattern: string,
  from: number,
): { fits: (byte: string) => boolean; end: number } | undefined {
  const isNot = pattern[from] === "!" || pattern[from] === "^";
  const first = isNot ? from + 1 : from;
  const parts: ((byte: string) => boolean)[] = [];
  let before: string | undefined;
  for (let at = first; ; at += 1) {
    let char = pattern[at];
    if (char === undefined) return undefined;
    if (char === "]" && at > first) {
      const fits = (byte: string) => byte !== "/" && parts.some((part) => part(byte)) !== isNot;
      return { fits, end: at + 1 };
    }
    const next = pattern[at + 1];
    if (char === "-" && before !== undefined && next !== undefined && next !== "]") {
      at += next === "\\" ? 2 : 1;
      const last = pattern[at];
      if (last === undefined) return undefined;
      parts.push(inRange(before, last));
      before = undefined;
      continue;
    }
    if (char === "[" && next === ":") {
      const end = pattern.indexOf("]", at + 2);
      if (end < 0) return undefined;
      if (end > at + 2 && pattern[end - 1] === ":") {
        const name = pattern.slice(at + 2, end - 1);
        if (!Object.hasOwn(CLASSES, name)) return undefined;
        parts.push(CLASSES[name] ?? (() => false));
        before = undefined;
        at = end;
        continue;
      }
    }
    if (char === "\\") char = pattern[++at];
    if (char === undefined) return undefined;
    parts.push(inRange(char, char));
    before = char;
  }
}
