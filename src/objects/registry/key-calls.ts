// How does the registry make the keys of Drover, and what does it answer about them (oidc.md#rotation)?
import { exportJWK, exportPKCS8, generateKeyPair } from "jose";
import {
  keyOwed,
  type NewSigningKey,
  type SigningKeys,
  signingKeysAt,
} from "../../core/registry/keys/signing-keys.ts";
import type { RegistryEvent, RegistryState } from "../../core/registry/machine.ts";
import { DroverError } from "../../shared/errors.ts";
import type { Instant } from "../../shared/machine.ts";
import { contextOfSealed } from "../../signing/contexts.ts";
import { NoWrappingKey, seal, type WrappingKeys, wrappingKeysIn } from "../../signing/envelope.ts";

/** The registry as these calls use it: `enter` applies an event, and returns the new state. */
interface Entered {
  enter(event?: RegistryEvent): Pick<RegistryState, "keys">;
  now(): Instant;
}

const ALGORITHM = "RS256";

/** The calls of `RegistryApi` about the keys with which Drover signs. */
export class KeyCalls {
  readonly #registry: Entered;
  readonly #wrapping: WrappingKeys;
  /** A key pair takes a while to make, and anybody can ask for the keys: so one at a time is made. */
  #making: Promise<NewSigningKey> | undefined;

  constructor(registry: Entered, env: object) {
    this.#registry = registry;
    this.#wrapping = wrappingKeysIn(env);
  }

  /** The keys of now. Makes the first one, and each next one in time. */
  async keys(): Promise<SigningKeys> {
    await this.#makeOwed();
    const found = signingKeysAt(this.#registry.enter().keys, this.#registry.now());
    if (found === null) throw new Error("there is no key although one was made");
    return found;
  }

  /** Makes the next key in time, if there are keys: a Drover that never signs has none. */
  async rotate(): Promise<void> {
    if (keyOwed(this.#registry.enter().keys, this.#registry.now()) !== "none") await this.#makeOwed();
  }

  /**
   * Replaces all keys by a new one, which signs at once (oidc.md#replacement). Answers the new keys.
   * `registry`: the registry as it is for the request that asks for this (audit.md#via).
   */
  async replace(by: string, registry: Entered = this.#registry): Promise<SigningKeys> {
    const key = await madeKey(this.#wrapping);
    registry.enter({ type: "keys_replaced", key, by });
    return this.keys();
  }

  async #makeOwed(): Promise<void> {
    const owed = keyOwed(this.#registry.enter().keys, this.#registry.now());
    if (owed === undefined) return;
    this.#making ??= madeKey(this.#wrapping).finally(() => {
      this.#making = undefined;
    });
    const key = await this.#making;
    this.#registry.enter({ type: "key_made", key, replaces: owed === "none" ? null : owed });
  }
}

/** Makes and seals a key pair. Throws `no_wrapping_key`. */
async function madeKey(wrapping: WrappingKeys): Promise<NewSigningKey> {
  const kid = crypto.randomUUID();
  // Without a wrapping key this fails before it costs anything.
  await sealed(wrapping, kid, new Uint8Array(1));
  const { publicKey, privateKey } = await generateKeyPair(ALGORITHM, { extractable: true });
  const { n = "", e = "" } = await exportJWK(publicKey);
  const secret = new TextEncoder().encode(await exportPKCS8(privateKey));
  return { kid, n, e, sealed: await sealed(wrapping, kid, secret) };
}

async function sealed(wrapping: WrappingKeys, kid: string, secret: Uint8Array) {
  try {
    return await seal(wrapping, contextOfSealed("signing_key", kid), secret);
  } catch (error) {
    throw error instanceof NoWrappingKey ? new DroverError("no_wrapping_key", error.message) : error;
  }
}
