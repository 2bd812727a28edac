import { needlesOf } from "../../../agent/core/redaction/needles.ts";

/** What is sent of a whole output, found by looking for each needle at each place. */
export function maskedSlowly(output: Uint8Array, secrets: Uint8Array[]): Uint8Array {
  const after = Uint8Array.from(output);
  for (const needle of needlesOf(secrets)) {
    const { length } = needle;
    for (let at = 0; at + length <= output.length; at += 1) {
      if (Buffer.compare(output.subarray(at, at + length), needle) === 0) after.fill(0x2a, at, at + length);
    }
  }
  return after;
}
