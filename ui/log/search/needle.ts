// Where do bytes have a text that somebody looks for?
import { withoutEscapes } from "./escapes.ts";

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
