// How is a secret sealed before it is stored, so that whoever reads the storage cannot read the secret
// (oidc.md#sealed-keys)?
import { keyOf, textOfKey } from "./mac.ts";

/** Keys that seal other secrets: base64 of 32 bytes each, by the names of the Worker's secrets. */
export type WrappingKeys = Readonly<Record<string, string>>;

/** A sealed secret: AES-256-GCM, all bytes in base64. */
export interface Sealed {
  /** The name of the wrapping key. */
  by: string;
  iv: string;
  text: string;
}

/** A wrapping key is missing, or is no key. The message says which, and what to do. */
export class NoWrappingKey extends Error {
  override readonly name = "NoWrappingKey";
}

const NAME = /^DROVER_KEK_([1-9]\d{0,5})$/;
const KEY = /^[A-Za-z0-9+/]{43}=$/;
const IV_BYTES = 12;
const HOW = "`openssl rand -base64 32 | npx wrangler secret put DROVER_KEK_1` makes one";

/** The wrapping keys among the bindings of a Worker. */
export function wrappingKeysIn(bindings: object): WrappingKeys {
  const named = Object.entries(bindings).filter(
    (entry): entry is [string, string] => NAME.test(entry[0]) && typeof entry[1] === "string",
  );
  return Object.fromEntries(named.map(([name, key]) => [name, key.trim()]));
}

/**
 * Seals a secret with the wrapping key of the highest number. `context`: what the secret is; a sealed secret
 * that is stored as something else does not open. Throws `NoWrappingKey`.
 */
export async function seal(keys: WrappingKeys, context: string, secret: Uint8Array): Promise<Sealed> {
  const [by] = Object.keys(keys).sort((one, other) => numberOf(other) - numberOf(one));
  if (by === undefined)
    throw new NoWrappingKey(`this deployment has no DROVER_KEK_1 to seal secrets; ${HOW}`);
  const key = await importKey(keys, by);
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
  const bytes = await crypto.subtle.encrypt(algorithm(iv, context), key, Uint8Array.from(secret));
  return { by, iv: textOfKey(iv), text: textOfKey(new Uint8Array(bytes)) };
}

/** Opens a sealed secret. Throws `NoWrappingKey` without its key, and `OperationError` for a changed one. */
export async function open(keys: WrappingKeys, context: string, sealed: Sealed): Promise<Uint8Array> {
  const key = await importKey(keys, sealed.by);
  const [iv, text] = [Uint8Array.from(keyOf(sealed.iv)), Uint8Array.from(keyOf(sealed.text))];
  return new Uint8Array(await crypto.subtle.decrypt(algorithm(iv, context), key, text));
}

function algorithm(iv: Uint8Array<ArrayBuffer>, context: string) {
  return { name: "AES-GCM", iv, additionalData: new TextEncoder().encode(context) };
}

async function importKey(keys: WrappingKeys, name: string) {
  const text = keys[name];
  if (text === undefined) {
    throw new NoWrappingKey(`a secret is sealed with ${name}, which this deployment lacks; set it again`);
  }
  if (!KEY.test(text)) throw new NoWrappingKey(`${name} must be the base64 of 32 random bytes; ${HOW}`);
  return crypto.subtle.importKey("raw", Uint8Array.from(keyOf(text)), "AES-GCM", false, [
    "encrypt",
    "decrypt",
  ]);
}

/** The number in the name of a wrapping key. */
export function numberOf(name: string): number {
  return Number(NAME.exec(name)?.[1] ?? 0);
}
