// How are secrets encrypted with a data key, and data keys with the Worker's wrapping keys
// (secrets.md#envelope)?

import type { Reseal, ResealedEvent, Rewrap } from "../../core/registry/keys/wrapping-keys.ts";
import type { Named } from "../../core/registry/projects.ts";
import {
  type Ciphertext,
  contextOfDataKey,
  contextOfValue,
  type DataKeyRow,
  dataKeyOf,
  type SecretEvent,
  type SecretRow,
} from "../../core/registry/secrets.ts";
import { DroverError } from "../../shared/errors.ts";
import { contextOfSealed } from "../../signing/contexts.ts";
import { numberOf, open, seal, type WrappingKeys, wrappingKeysIn } from "../../signing/envelope.ts";
import { type Key, keyOf, textOfKey } from "../../signing/mac.ts";
import { gcm, textOf } from "../../signing/seal.ts";

/** How many bytes a wrapping key and a data key have. */
const KEY_BYTES = 32;
const IV_BYTES = 12;

/** What makes a wrapping key. */
const MAKE_ONE = "openssl rand -base64 32 | npx wrangler secret put";

/** The wrapping keys in these bindings, as texts, by number, ascending. */
function keksIn(env: object): Map<number, string> {
  const found = Object.entries(wrappingKeysIn(env)).map(([name, key]): [number, string] => [
    numberOf(name),
    key,
  ]);
  return new Map(found.sort(([a], [b]) => a - b));
}

/** Encrypts and decrypts with the wrapping keys of this Worker. It stores nothing. */
export class Vault {
  readonly #keks: Map<number, string>;
  readonly #named: WrappingKeys;

  constructor(env: object) {
    this.#keks = keksIn(env);
    this.#named = wrappingKeysIn(env);
  }

  /** The numbers of the configured wrapping keys, ascending. */
  get numbers(): number[] {
    return [...this.#keks.keys()];
  }

  /** The name of the data key for new values of a project. Throws `no_wrapping_key` if there is no key. */
  dataKeyOf(project: string): string {
    return dataKeyOf(project, this.#newest());
  }

  /** Makes a data key, wrapped by the newest wrapping key. Throws `no_wrapping_key` if there is none. */
  async makeDataKey(id: string): Promise<Extract<SecretEvent, { type: "data_key_made" }>> {
    const kek = this.#newest();
    const made = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
    return { type: "data_key_made", id, kek, wrapped: await this.#wrap(made, id, kek) };
  }

  /** Wraps a data key with a newer wrapping key. Rejects if either wrapping key cannot be used. */
  async rewrap({ key, kek }: Rewrap["body"]): Promise<SecretEvent> {
    const wrapped = await this.#wrap(await this.#unwrap(key), key.id, kek);
    return { type: "data_key_rewrapped", id: key.id, from: key.kek, kek, wrapped };
  }

  /** Seals a text with the newest wrapping key. Rejects if either wrapping key cannot be used. */
  async reseal({ of, id, sealed }: Reseal["body"]): Promise<ResealedEvent> {
    const context = contextOfSealed(of, id);
    const text = await open(this.#named, context, JSON.parse(sealed));
    return {
      type: "resealed",
      of,
      id,
      sealed,
      resealed: JSON.stringify(await seal(this.#named, context, text)),
    };
  }

  /** Encrypts a value. Throws `no_wrapping_key` if the data key cannot be unwrapped. */
  async encrypt(
    value: Uint8Array,
    secret: Named,
    version: number,
    row: DataKeyRow,
  ): Promise<SecretRow["sealed"]> {
    const key = await this.#unwrap(row);
    return { key: row.id, ...(await encrypted(value, key, contextOfValue(secret, version))) };
  }

  /** The value of a secret. Throws `no_wrapping_key` if the data key cannot be unwrapped. */
  async decrypt(secret: SecretRow, row: DataKeyRow): Promise<Uint8Array> {
    const context = contextOfValue(secret, secret.version);
    return decrypted(secret.sealed, await this.#unwrap(row), context);
  }

  async #wrap(dataKey: Key, id: string, kek: number): Promise<Ciphertext> {
    return encrypted(dataKey, this.#kek(kek), contextOfDataKey(id));
  }

  async #unwrap(row: DataKeyRow): Promise<Key> {
    try {
      return await decrypted(row, this.#kek(row.kek), contextOfDataKey(row.id));
    } catch (error) {
      if (error instanceof DroverError) throw error;
      const why = `DROVER_KEK_${row.kek} is not the key that has wrapped the secrets`;
      throw new DroverError("no_wrapping_key", `${why}; put the former one back`);
    }
  }

  #newest(): number {
    const kek = this.numbers.at(-1);
    if (kek === undefined) throw noKey();
    return kek;
  }

  #kek(number: number): Key {
    const text = this.#keks.get(number);
    if (text === undefined && this.#keks.size === 0) throw noKey();
    if (text === undefined) {
      const why = `the secrets need the wrapping key DROVER_KEK_${number}, which this Worker does not have`;
      throw new DroverError("no_wrapping_key", `${why}; put it back, and keep it until it is unused`);
    }
    return wrappingKey(number, text);
  }
}

/** Throws `no_wrapping_key` if the text is not a key. */
function wrappingKey(number: number, text: string): Key {
  try {
    const key = keyOf(text);
    if (key.length === KEY_BYTES) return key;
  } catch {
    // not base64: refused below
  }
  const why = `DROVER_KEK_${number} is not the base64 of ${KEY_BYTES} bytes`;
  throw new DroverError("no_wrapping_key", `${why}; put it again: ${MAKE_ONE} DROVER_KEK_${number}`);
}

function noKey(): DroverError {
  const text = `this Drover has no wrapping key, so it stores no secrets; make one: ${MAKE_ONE} DROVER_KEK_1`;
  return new DroverError("no_wrapping_key", text);
}

async function encrypted(value: Uint8Array, key: Key, context: string): Promise<Ciphertext> {
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
  const aes = await crypto.subtle.importKey("raw", key, "AES-GCM", false, ["encrypt"]);
  const ct = await crypto.subtle.encrypt(gcm(iv, context), aes, value);
  return { iv: textOfKey(iv), ct: textOf(new Uint8Array(ct)) };
}

async function decrypted({ iv, ct }: Ciphertext, key: Key, context: string): Promise<Uint8Array> {
  const aes = await crypto.subtle.importKey("raw", key, "AES-GCM", false, ["decrypt"]);
  return new Uint8Array(await crypto.subtle.decrypt(gcm(keyOf(iv), context), aes, keyOf(ct)));
}
