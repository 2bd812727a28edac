// Which layouts of stored values can this code read?
import { LAYOUTS } from "../shared/compat.ts";

/** The layout of stored values. Each change of meaning raises it, and adds a step below. */
export const STORED_VERSION = LAYOUTS.length;

/** A stored value with the version of its layout. */
export interface Stored<Value> {
  v: number;
  value: Value;
}

/**
 * Reads a value of any layout up to this one. Two versions of the code coexist for minutes during a deploy; a
 * newer layout is refused with an error, since guessing could lose it.
 */
export function readStored<Value>(stored: Stored<Value> | undefined): Value | null {
  if (stored === undefined) return null;
  if (stored.v > STORED_VERSION) {
    throw new Error(
      `stored by a newer version of Drover (layout ${stored.v}, this one knows ${STORED_VERSION})`,
    );
  }
  return stored.value;
}
