// How is a value sealed so that only one host can open it (secrets.md#sealing)?
import { type Key, keyOf, keyOfText, textOfKey } from "./mac.ts";

/** How many bytes a key of X25519 has. */
const X25519_BYTES = 32;
/** How many bits an AES key has, and how many bytes an initialization vector of GCM. */
const AES_BITS = 256;
const IV_BYTES = 12;
/** Everything about a key of X25519 in PKCS #8 except the key itself (RFC 8410). */
const PKCS8_HEAD = keyOf("MC4CAQAwBQYDK2VuBCIEIA==");

/** The purpose of a key, so that no other use of the same secret gives the same key. */
const PURPOSE = "drover-sealed-secret";

/** A sealed value, in base64: the public key of its one-time key pair, and what AES-256-GCM made. */
export interface Sealed {
  key: string;
  iv: string;
  ct: string;
}

/** The key pair of a host, in base64. */
export interface HostKey {
  publicKey: string;
  privateKey: string;
}

/** A key of WebCrypto. The types of Node and of the Worker differ, so it is named by what makes it. */
type Handle = Awaited<ReturnType<typeof crypto.subtle.importKey>>;
interface Pair {
  publicKey: Handle;
  privateKey: Handle;
}

/** Makes the key pair of a host. */
export async function makeHostKey(): Promise<HostKey> {
  const { publicKey, privateKey } = await makePair();
  const whole = new Uint8Array(await exported("pkcs8", privateKey));
  return { publicKey: await rawText(publicKey), privateKey: textOfKey(whole.slice(-X25519_BYTES)) };
}

/**
 * Seals a value for the host with this public key. `context`: what the value is for. Who opens the value must
 * name the same context.
 */
export async function seal(value: Uint8Array, publicKey: string, context: string): Promise<Sealed> {
  const pair = await makePair();
  const key = await rawText(pair.publicKey);
  const aes = await sharedKey(pair.privateKey, publicKey, { one: key, host: publicKey }, "encrypt");
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
  const ct = await crypto.subtle.encrypt(gcm(iv, context), aes, value);
  return { key, iv: textOfKey(iv), ct: textOf(new Uint8Array(ct)) };
}

/** Opens a sealed value. Rejects if it is for another host or context, or was changed. */
export async function unseal({ key, iv, ct }: Sealed, host: HostKey, context: string): Promise<Uint8Array> {
  const { privateKey, publicKey } = host;
  const head = new Uint8Array([...PKCS8_HEAD, ...keyOf(privateKey)]);
  const own = await crypto.subtle.importKey("pkcs8", head, { name: "X25519" }, false, ["deriveBits"]);
  const aes = await sharedKey(own, key, { one: key, host: publicKey }, "decrypt");
  return new Uint8Array(await crypto.subtle.decrypt(gcm(keyOf(iv), context), aes, keyOf(ct)));
}

/** AES-GCM with additional data. */
export function gcm(iv: Uint8Array, context: string) {
  return { name: "AES-GCM", iv, additionalData: keyOfText(context) };
}

/** The key that both sides derive: HKDF-SHA256 of the shared secret, salted with both public keys. */
async function sharedKey(
  own: Handle,
  other: string,
  salt: { one: string; host: string },
  use: "encrypt" | "decrypt",
): Promise<Handle> {
  const theirs = await crypto.subtle.importKey("raw", keyOf(other), { name: "X25519" }, true, []);
  const exchange = { name: "X25519", public: theirs };
  const shared = await crypto.subtle.deriveBits(exchange, own, X25519_BYTES * 8);
  const secret = await crypto.subtle.importKey("raw", shared, "HKDF", false, ["deriveKey"]);
  const salted = new Uint8Array([...keyOf(salt.one), ...keyOf(salt.host)]);
  const hkdf = { name: "HKDF", hash: "SHA-256", salt: salted, info: keyOfText(PURPOSE) };
  const aes = { name: "AES-GCM", length: AES_BITS };
  return crypto.subtle.deriveKey(hkdf, secret, aes, false, [use]);
}

async function makePair(): Promise<Pair> {
  const made = await crypto.subtle.generateKey({ name: "X25519" }, true, ["deriveBits"]);
  return made as unknown as Pair; // a key for an exchange is always one of two
}

async function rawText(key: Handle): Promise<string> {
  return textOfKey(new Uint8Array(await exported("raw", key)));
}

async function exported(format: "raw" | "pkcs8", key: Handle): Promise<ArrayBuffer> {
  return (await crypto.subtle.exportKey(format, key)) as ArrayBuffer; // JSON comes only with the format `jwk`
}

/** Bytes as base64. `textOfKey` would pass each byte as an argument, and a value may have many. */
export function textOf(bytes: Key): string {
  let chars = "";
  for (const byte of bytes) chars += String.fromCharCode(byte);
  return btoa(chars);
}
