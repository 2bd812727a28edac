// With what does a command ask for tokens that say which run it is (oidc.md#request-tokens)?
import { join } from "node:path";
import { readIfThere } from "../../posix/files.ts";
import { requestToken } from "../../src/signing/attempt-token.ts";
import { keyOf } from "../../src/signing/mac.ts";

/** Where an attempt asks, and the token that it sends there. The token is a secret of the attempt. */
export interface Identity {
  url: string;
  token: string;
}

/**
 * What an attempt asks with; undefined if this machine is not enrolled. It follows from the id of the attempt
 * and the host's secret alone, so it is the same after a restart of the agent, before the agent has joined,
 * and it is never stored. `base`: the URL of the control plane.
 */
export function identityIn(stateDir: string, base: string, attempt: string): Identity | undefined {
  const secret = readIfThere(join(stateDir, "secret"))?.trim() ?? "";
  const setup = readIfThere(join(stateDir, "setup.json"));
  if (secret === "" || setup === undefined) return undefined;
  // The agent has checked its setup when it joined.
  const { worker } = JSON.parse(setup) as { worker: string };
  const url = `${base.replace(/\/+$/, "")}/v1/oidc/token`;
  return { url, token: requestToken(keyOf(secret), worker, attempt) };
}

/**
 * The secret values that the identity of an attempt has: what its output must not show
 * (redaction.md#secrets). Call it only for attempts whose task has an `identity`.
 */
export function identitySecrets(stateDir: string, attempt: string): readonly Uint8Array[] {
  const found = identityIn(stateDir, "", attempt);
  return found === undefined ? [] : [new TextEncoder().encode(found.token)];
}
