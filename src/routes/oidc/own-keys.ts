// How does Drover sign a token, and which keys does it publish (oidc.md#rotation)?
import { importPKCS8, type JWTPayload, SignJWT } from "jose";
import type { Objects, SigningKeys } from "../../objects/rpc.ts";
import { DroverError } from "../../shared/errors.ts";
import type { Instant, Millis } from "../../shared/machine.ts";
import { contextOfSealed } from "../../signing/contexts.ts";
import { NoWrappingKey, open, type WrappingKeys } from "../../signing/envelope.ts";

/** The algorithm of every token: the one that everybody who verifies tokens knows. */
export const OWN_ALGORITHM = "RS256";
/** How long the edge uses what the registry has said of the keys. A key is published before it signs. */
const KEPT_MS: Millis = 300_000;

/** How the keys are reached. */
interface Source {
  objects: Objects;
  wrappingKeys: WrappingKeys;
  now: () => Instant;
}

interface Known extends SigningKeys {
  at: Instant;
  /** The private key, which cannot be exported again; undefined: nothing was signed with it yet. */
  key?: Awaited<ReturnType<typeof importPKCS8>>;
}

/** Drover's own keys, as one isolate remembers them. Each app has its own. */
export class OwnKeys {
  #known: Known | undefined;

  /** The public keys. Code: `no_wrapping_key`. */
  async published(source: Source): Promise<SigningKeys["published"]> {
    return (await this.#read(source)).published;
  }

  /** Replaces all keys at once, and uses the new one here from now on. Code: `no_wrapping_key`. */
  async replace(by: string, { objects, now }: Source): Promise<SigningKeys> {
    const keys = await objects.registry().replaceSigningKeys(by);
    this.#known = { ...keys, at: now() };
    return keys;
  }

  /** Signs claims with the present key. Codes: `no_wrapping_key`. */
  async sign(claims: JWTPayload, source: Source): Promise<string> {
    const known = await this.#read(source);
    known.key ??= await privateKey(known.signer, source.wrappingKeys);
    const header = { alg: OWN_ALGORITHM, typ: "JWT", kid: known.signer.kid };
    return new SignJWT(claims).setProtectedHeader(header).sign(known.key);
  }

  async #read({ objects, now }: Source): Promise<Known> {
    if (this.#known !== undefined && this.#known.at + KEPT_MS > now()) return this.#known;
    const keys = await objects.registry().signingKeys();
    const key = keys.signer.kid === this.#known?.signer.kid ? this.#known.key : undefined;
    this.#known = { ...keys, at: now(), ...(key && { key }) };
    return this.#known;
  }
}

async function privateKey({ kid, sealed }: SigningKeys["signer"], keys: WrappingKeys) {
  try {
    const pem = new TextDecoder().decode(await open(keys, contextOfSealed("signing_key", kid), sealed));
    return await importPKCS8(pem, OWN_ALGORITHM);
  } catch (error) {
    throw error instanceof NoWrappingKey ? new DroverError("no_wrapping_key", error.message) : error;
  }
}
