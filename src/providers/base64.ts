// How is a text sent where a cloud takes base64 only?

/** Base64 of the text in UTF-8. */
export function base64(text: string): string {
  const bytes = new TextEncoder().encode(text);
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}
