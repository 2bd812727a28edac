// How are the secrets of webhooks stored (webhooks.md#secrets)?
import { DroverError } from "../../shared/errors.ts";
import { NoWrappingKey, open, seal, wrappingKeysIn } from "../../signing/envelope.ts";
import type { Env } from "../env.ts";

/** What the sealed secrets are: sealed as something else, a text does not open. */
const CONTEXT = "webhook-secret";

/** Seals a secret with the newest wrapping key of this Worker. Code: `no_wrapping_key`. */
export async function sealSecret(env: Env, secret: string): Promise<string> {
  const bytes = new TextEncoder().encode(secret);
  return JSON.stringify(await explained(() => seal(wrappingKeysIn(env), CONTEXT, bytes)));
}

/** Opens a sealed secret. Code: `no_wrapping_key` if the key that sealed it is gone. */
export async function openSecret(env: Env, sealed: string): Promise<string> {
  const bytes = await explained(() => open(wrappingKeysIn(env), CONTEXT, JSON.parse(sealed)));
  return new TextDecoder().decode(bytes);
}

async function explained<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof NoWrappingKey) throw new DroverError("no_wrapping_key", error.message);
    throw error;
  }
}
