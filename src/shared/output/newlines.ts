// How many lines end in these bytes?

const NEWLINE = 0x0a;

/** The number of newline bytes. */
export function newlinesIn(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) count += 1;
  return count;
}
