/** Text as base64, as hosts send log bytes. */
export function base64(text: string): string {
  return btoa(text);
}

/** Bytes as text, where each is one character. */
export function textOf(bytes: Uint8Array): string {
  return new TextDecoder("latin1").decode(bytes);
}
