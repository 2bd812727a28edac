// How does a host get the secrets of an attempt (secrets.md#handed)?
import { setTimeout as sleep } from "node:timers/promises";
import type { HostSecrets, SecretsRequest } from "../../src/schema/access/secret.ts";
import type { Millis } from "../../src/shared/machine.ts";
import { errorText } from "../../src/shared/words.ts";
import { EXCHANGE_TIMEOUT_MS } from "../core/bounds.ts";
import { retryDelayMs } from "../core/reports/pace.ts";
import { type ControlPlane, Refusal } from "./control-plane.ts";

/** How long a start waits for its secrets while the control plane cannot give them. */
export const SECRETS_WITHIN_MS: Millis = 2 * 60_000;

/** Why an attempt gets no secrets. `recoverable`: another start may get them. */
export class NoSecrets extends Error {
  readonly recoverable: boolean;

  constructor(text: string, recoverable: boolean) {
    super(text);
    this.recoverable = recoverable;
  }
}

/** The secrets that the control plane has for attempts of this host, reached by signed calls. */
export class SecretSource {
  readonly #plane: ControlPlane;
  readonly #url: string;
  /** This host's worker: sealed values are bound to it. */
  readonly worker: string;
  readonly #withinMs: Millis;

  constructor(plane: ControlPlane, url: string, worker: string, withinMs = SECRETS_WITHIN_MS) {
    this.#plane = plane;
    this.#url = url;
    this.worker = worker;
    this.#withinMs = withinMs;
  }

  /**
   * The sealed secrets of an attempt. Temporary failures are retried, with a growing wait, until the
   * deadline. Rejects with `NoSecrets`, or with the reason of the signal.
   */
  async sealedFor(request: SecretsRequest, signal: AbortSignal): Promise<HostSecrets> {
    const until = performance.now() + this.#withinMs;
    for (let failures = 1; ; failures += 1) {
      try {
        const limit = AbortSignal.any([signal, AbortSignal.timeout(EXCHANGE_TIMEOUT_MS)]);
        return answerFrom(await this.#plane.post(this.#url, "secrets", JSON.stringify(request), limit));
      } catch (error) {
        signal.throwIfAborted();
        const refused = error instanceof Refusal ? error : undefined;
        if (refused?.isFinal === true) throw new NoSecrets(refused.message, false);
        const waitMs = Math.max(refused?.retryAfterMs ?? 0, retryDelayMs(failures, Math.random()));
        if (performance.now() + waitMs > until) {
          const tries = `${failures} ${failures === 1 ? "try" : "tries"} in ${this.#withinMs / 1_000} s`;
          throw new NoSecrets(`${errorText(error)} (${tries})`, true);
        }
        await sleep(waitMs, undefined, { signal });
      }
    }
  }
}

/** Accepts an answer only if it has the fields that the agent relies on. */
function answerFrom(answer: unknown): HostSecrets {
  // The fields are checked below. A schema library would double the agent's memory.
  const secrets = answer as HostSecrets;
  const isText = (value: unknown) => typeof value === "string";
  const complete =
    Array.isArray(secrets?.items) &&
    secrets.items.every(({ name, key, iv, ct }) => [name, key, iv, ct].every(isText));
  if (!complete) throw new Error("The answer is incomplete: is this the control plane?");
  return { items: secrets.items.map(({ name, key, iv, ct }) => ({ name, key, iv, ct })) };
}
