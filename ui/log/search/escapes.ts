// What does a text show without its escape sequences, and where was each of its characters before?
import { countOf } from "../bytes/sorted.ts";

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\))/g;

/** A text without its escape sequences. */
export interface Shown {
  shown: string;
  /** Where a character of `shown` was in the text. */
  originOf: (at: number) => number;
}

/** Leaves escape sequences out, so that colors inside a text do not hide it (ui.md#d7). */
export function withoutEscapes(text: string): Shown {
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
  return { shown, originOf: (at) => at + (skipped[countOf(begins, (begin) => begin <= at) - 1] ?? 0) };
}
