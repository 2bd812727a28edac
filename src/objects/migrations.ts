/** The layout in which this code stores its values. Each change of meaning adds one, and a step below. */
export const STORED_VERSION = 1;

/** A stored value with the version of its layout. */
export interface Stored<Value> {
  v: number;
  value: Value;
}

/**
 * Reads what any version up to this one has stored. Two versions of the code coexist for minutes during a
 * deploy, so a newer layout than ours can only be refused, loudly: guessing would lose it.
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
