// With what does a command ask for tokens that say which run it is (oidc.md#request-tokens)?
import { join } from "node:path";
import { readIfThere } from "../../posix/files.ts";
import { requestToken } from "../../src/signing/attempt-token.ts";
import { keyOf } from "../../src/signing/mac.ts";
import { runOf } from "../core/attempts/placements.ts";

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
 * The identities of the attempts on this machine. Their request tokens must not leave it in output
 * (redaction.md#secrets).
 */
export class Identities {
  readonly #of: (attempt: string) => Identity | undefined;
  /** By run and attempt: the token as bytes; null: it was not needed yet. */
  readonly #tokens = new Map<string, Map<string, Uint8Array | null>>();

  /**
   * `recovered`: attempts of earlier starts of the agent. Nobody knows whether they have an identity, so each
   * is taken to have one.
   */
  constructor(identityOf: (attempt: string) => Identity | undefined, recovered: readonly string[]) {
    this.#of = identityOf;
    for (const id of recovered) this.#note(id, null);
  }

  /** The identity for an attempt that is about to start; undefined if this machine is not enrolled. */
  readonly give = (id: string): Identity | undefined => {
    this.#note(id, null);
    return this.#of(id);
  };

  /** The secret values of the identities of a run's attempts. Answers from memory after the first time. */
  secretsOf(run: string): readonly Uint8Array[] {
    const tokens = this.#tokens.get(run);
    if (tokens === undefined) return NONE;
    return [...tokens].flatMap(([id, known]) => known ?? this.#tokenOf(id) ?? NONE);
  }

  /** The token of an attempt that is over is worth nothing. */
  forget(id: string): void {
    const tokens = this.#tokens.get(runOf(id));
    tokens?.delete(id);
    if (tokens?.size === 0) this.#tokens.delete(runOf(id));
  }

  #tokenOf(id: string): Uint8Array | undefined {
    const token = this.#of(id)?.token;
    if (token === undefined) return undefined;
    const value = new TextEncoder().encode(token);
    this.#note(id, value);
    return value;
  }

  #note(id: string, token: Uint8Array | null): void {
    const run = runOf(id);
    this.#tokens.set(run, (this.#tokens.get(run) ?? new Map()).set(id, token));
  }
}

const NONE: readonly Uint8Array[] = [];
