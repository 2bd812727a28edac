// At which byte did each unit of a decoded text begin, whatever the bytes were?

const UTF8 = new TextDecoder("utf-8", { ignoreBOM: true });
const REPLACEMENT = "\ufffd";
/** Of a character that breaks off, at most this many bytes become one U+FFFD. U+FFFD itself has as many. */
const MAX_REPLACED = 3;

/**
 * The offsets at which the UTF-16 units of a text begin in the bytes that it was decoded from. The last one
 * is the number of bytes. Both halves of a pair have the same offset.
 */
export function unitStarts(text: string, bytes: Uint8Array): number[] {
  const starts: number[] = [];
  let at = 0;
  for (const character of text) {
    for (let unit = 0; unit < character.length; unit++) starts.push(at);
    at += character === REPLACEMENT ? replacedBytes(bytes.subarray(at)) : encodedBytes(character);
  }
  starts.push(at);
  return starts;
}

/** How many of the first bytes became one U+FFFD: a broken character goes as far as it is one. */
function replacedBytes(bytes: Uint8Array): number {
  for (let count = Math.min(MAX_REPLACED, bytes.length); count > 1; count--) {
    if (UTF8.decode(bytes.subarray(0, count)) === REPLACEMENT) return count;
  }
  return 1;
}

function encodedBytes(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x80) return 1;
  if (code < 0x800) return 2;
  return code < 0x10000 ? 3 : 4;
}
