// Which primitives does signing use? Keys, HMACs, digests, and comparison in constant time.
import { createHash, createHmac, createSecretKey, type KeyObject, timingSafeEqual } from "node:crypto";

/** The key of an HMAC-SHA256. */
export type Key = Uint8Array;

/** A key for many HMACs: Node needs longer to take in a key than to use it. */
export type ReadyKey = KeyObject;

const encoder = new TextEncoder();

/** A text as a key: its UTF-8 bytes. */
export function keyOfText(text: string): Key {
  return encoder.encode(text);
}

/** Decodes a key from base64. */
export function keyOf(base64: string): Key {
  return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
}

/** Makes a key ready for many HMACs. */
export function readyKey(key: Key): ReadyKey {
  return createSecretKey(key);
}

/** A key as base64. */
export function textOfKey(key: Key): string {
  return btoa(String.fromCharCode(...key));
}

/** Base64 as base64url, for use in a URL. */
export function base64Url(base64: string): string {
  return base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** HMAC-SHA256 of concatenated texts, in base64. */
export function mac(key: Key | ReadyKey, ...texts: string[]): string {
  return createHmac("sha256", key).update(texts.join("")).digest("base64");
}

/** Whether two texts are equal, in constant time. */
export function isSame(one: string, other: string): boolean {
  const [left, right] = [encoder.encode(one), encoder.encode(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** The value of `Content-Digest` (RFC 9530) for a body. */
export function contentDigest(body: string | Uint8Array): string {
  return digestField(createHash("sha256").update(body).digest("base64"));
}

/** SHA-256 in hexadecimal, as `sha256sum` prints it. */
export function hexDigest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** The SHA-256 of concatenated texts, as bytes. */
export function digestBytes(...texts: string[]): Uint8Array {
  const hash = createHash("sha256");
  for (const text of texts) hash.update(text);
  return keyOf(hash.digest("base64"));
}

/** The value of `Content-Digest` for a known digest in base64. */
export function digestField(base64: string): string {
  return `sha-256=:${base64}:`;
}

/** The value of `Content-Digest` for an empty body. */
export const EMPTY_DIGEST = contentDigest("");
