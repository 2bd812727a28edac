// Which bytes of output are masked, and how many bytes at the end of a growing stream must wait?
import { Automaton } from "./automaton.ts";
import { needlesOf } from "./needles.ts";

/** The byte that replaces each byte of a secret: `*`. */
export const STAR = 0x2a;

/** Masks the secrets of an attempt. What it masks depends only on the bytes and on the secrets. */
export interface Masker {
  /**
   * How many bytes before and after a stretch can decide what is masked in the stretch. At most this many
   * bytes are held back at the end of a growing stream (redaction.md#hold-back).
   */
  readonly context: number;
  /** Masks in place each needle that lies completely within these bytes. */
  mask(bytes: Uint8Array): void;
  /** How many bytes at the end of these bytes may be the beginning of a needle. */
  openBytes(bytes: Uint8Array): number;
}

/**
 * The masker of an attempt with these secrets; undefined if nothing is to be masked (redaction.md#needles).
 */
export function maskerOf(secrets: readonly Uint8Array[]): Masker | undefined {
  const needles = needlesOf(secrets);
  if (needles.length === 0) return undefined;
  const automaton = new Automaton(needles);
  return {
    context: automaton.longest - 1,
    mask: (bytes) => {
      for (const { from, to } of masked(automaton, bytes)) bytes.fill(STAR, from, to);
    },
    openBytes: (bytes) => automaton.openBytes(bytes),
  };
}

/** Masks everything: the masker of an attempt whose secrets are not known any more (redaction.md#secrets). */
export const MASKS_ALL: Masker = {
  context: 0,
  mask: (bytes) => void bytes.fill(STAR),
  openBytes: () => 0,
};

interface Range {
  from: number;
  to: number;
}

/** The union of all matches, as ranges that do not touch (redaction.md#equal-length). */
function masked(automaton: Automaton, bytes: Uint8Array): Range[] {
  const ranges: Range[] = [];
  automaton.scan(bytes, (to, length) => {
    let from = to - length;
    for (let last = ranges.at(-1); last !== undefined && last.to >= from; last = ranges.at(-1)) {
      from = Math.min(from, last.from);
      ranges.pop();
    }
    ranges.push({ from, to });
  });
  return ranges;
}
