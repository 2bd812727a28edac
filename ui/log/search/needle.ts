// Where do bytes have a text that somebody looks for?

/** Bytes `from` up to `to`, where the text was found. */
export interface Hit {
  from: number;
  to: number;
}

/**
 * One character for each byte, in both directions: so texts can be searched by the engine of the browser, and
 * places in them are offsets of bytes.
 */
const BYTEWISE = new TextDecoder("windows-1252");
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\))/g;
const SYNTAX = /[\\^$.*+?()[\]{}|/-]/g;

/** Finds a text in bytes. Results are in the order of the bytes, and do not overlap. */
export type Needle = (bytes: Uint8Array, offset: number) => Generator<Hit>;

/**
 * Makes the search for a text (ui.md#d7). Colors inside the text do not hide it. Unless `matchCase` is set, A
 * to Z are found in both cases; other letters as they are written. `offset` is added to each hit.
 */
export function needleOf(text: string, { matchCase }: { matchCase: boolean }): Needle {
  const bytewise = BYTEWISE.decode(new TextEncoder().encode(text));
  const pattern = [...bytewise].map((character) => {
    const isLetter = !matchCase && /[a-z]/i.test(character);
    return isLetter
      ? `[${character.toLowerCase()}${character.toUpperCase()}]`
      : character.replace(SYNTAX, "\\$&");
  });
  const source = pattern.join("");
  return function* (bytes, offset) {
    if (source === "") return;
    const { shown, originOf } = withoutEscapes(BYTEWISE.decode(bytes));
    for (const match of shown.matchAll(new RegExp(source, "g"))) {
      const last = match.index + match[0].length - 1;
      yield { from: offset + originOf(match.index), to: offset + originOf(last) + 1 };
    }
  };
}

/** The text without its escape sequences, and where each of its characters was before. */
function withoutEscapes(text: string): { shown: string; originOf: (at: number) => number } {
  if (!text.includes("\u001b")) return { shown: text, originOf: (at) => at };
  /** Where shown text goes on after an escape sequence, and how much was left out before. */
  const begins: number[] = [];
  const skipped: number[] = [];
  let sum = 0;
  const shown = text.replace(ESCAPES, (found, at: number) => {
    begins.push(at - sum);
    sum += found.length;
    skipped.push(sum);
    return "";
  });
  return { shown, originOf: (at) => at + (skipped[countUpTo(begins, at) - 1] ?? 0) };
}

/** How many of the sorted numbers are at most this one. */
function countUpTo(sorted: readonly number[], most: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((sorted[middle] ?? 0) <= most) low = middle + 1;
    else high = middle;
  }
  return low;
}
