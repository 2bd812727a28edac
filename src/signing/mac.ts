import { createHash, createHmac, timingSafeEqual } from "node:crypto";

/** Bytes that HMAC-SHA256 is keyed with. */
export type Key = Uint8Array;

const encoder = new TextEncoder();

/** What a text is as a key, byte for byte in UTF-8. */
export function keyOfText(text: string): Key {
  return encoder.encode(text);
}

/** The key that base64 stands for. */
export function keyOf(base64: string): Key {
  return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
}

/** A key as base64. */
export function textOfKey(key: Key): string {
  return btoa(String.fromCharCode(...key));
}

/** HMAC-SHA256 of texts, one behind the other, in base64. */
export function mac(key: Key, ...texts: string[]): string {
  const hmac = createHmac("sha256", key);
  for (const text of texts) hmac.update(text);
  return hmac.digest("base64");
}

/** Whether two texts are the same, in a time that does not depend on where they differ. */
export function isSame(one: string, other: string): boolean {
  const [left, right] = [encoder.encode(one), encoder.encode(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** The value of `Content-Digest` (RFC 9530) of a whole body. */
export function contentDigest(body: string | Uint8Array): string {
  return digestField(createHash("sha256").update(body).digest("base64"));
}

/** The same for a digest that is known, in base64. */
export function digestField(base64: string): string {
  return `sha-256=:${base64}:`;
}

/** The value of `Content-Digest` of a call without a body. */
export const EMPTY_DIGEST = contentDigest("");
