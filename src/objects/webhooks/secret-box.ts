// How are the secrets of webhooks kept at rest (webhooks.md#secrets)?
import type { Env } from "../env.ts";

/**
 * Seals a secret for storage. For now it is stored as it is, as the secrets of providers are: encrypted at
 * rest by the platform, and readable by whoever can read the storage of the objects.
 */
export async function sealSecret(_env: Env, secret: string): Promise<string> {
  return secret;
}

/** Opens a sealed secret. Rejects if the key that sealed it is gone. */
export async function openSecret(_env: Env, sealed: string): Promise<string> {
  return sealed;
}
