// Which layouts of stored values can this code read?
import { LAYOUTS } from "../shared/compat.ts";

/**
 * The number of the present layout. A change of meaning increases this number, and adds a step to
 * `readStored`.
 */
export const STORED_VERSION = LAYOUTS.length;

/** A stored value with the version of its layout. */
export interface Stored<Value> {
  v: number;
  value: Value;
}

/**
 * Reads a value of any layout up to the present layout. During a deploy two versions of the code coexist for
 * minutes. A newer layout is refused with an error, since a guess could lose the value.
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
