// Which bytes of output are masked, and how many bytes at the end of a growing stream must wait?
import { Automaton } from "./automaton.ts";
import { needlesOf } from "./needles.ts";

/** The byte that replaces each byte of a secret: `*`. */
export const STAR = 0x2a;

/** Masks secrets. What it masks depends only on the bytes and on the secrets. */
export interface Masker {
  /**
   * How many bytes before and after a stretch can decide what is masked in the stretch. At most this many
   * bytes are held back at the end of a growing stream (redaction.md#hold-back).
   */
  readonly context: number;
  /** Where needles lie that are completely within these bytes, as ranges that may overlap. */
  find(bytes: Uint8Array): Range[];
  /** How many bytes at the end of these bytes may be the beginning of a needle. */
  openBytes(bytes: Uint8Array): number;
}

/** From a byte up to another one, which is not in the range. */
export interface Range {
  from: number;
  to: number;
}

/** The masker of these secrets; undefined if nothing is to be masked (redaction.md#needles). */
export function maskerOf(secrets: readonly Uint8Array[]): Masker | undefined {
  const needles = needlesOf(secrets);
  if (needles.length === 0) return undefined;
  const automaton = new Automaton(needles);
  return {
    context: automaton.longest - 1,
    find: (bytes) => union(automaton, bytes),
    openBytes: (bytes) => automaton.openBytes(bytes),
  };
}

/** Masks what one of these maskers masks; undefined if there is none. */
export function joined(maskers: readonly Masker[]): Masker | undefined {
  const [first] = maskers;
  if (first === undefined || maskers.length === 1) return first;
  return {
    context: Math.max(...maskers.map(({ context }) => context)),
    find: (bytes) => maskers.flatMap((one) => one.find(bytes)),
    openBytes: (bytes) => Math.max(...maskers.map((one) => one.openBytes(bytes))),
  };
}

/** Masks everything: the masker of an attempt whose secrets are not known any more (redaction.md#secrets). */
export const MASKS_ALL: Masker = {
  context: 0,
  find: ({ length }) => [{ from: 0, to: length }],
  openBytes: () => 0,
};

/** Masks in place each needle that lies completely within these bytes (redaction.md#equal-length). */
export function maskIn(masker: Masker, bytes: Uint8Array): void {
  for (const { from, to } of masker.find(bytes)) bytes.fill(STAR, from, to);
}

/** The union of all matches, as ranges that do not touch. */
function union(automaton: Automaton, bytes: Uint8Array): Range[] {
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
