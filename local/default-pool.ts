import { availableParallelism, totalmem } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { PoolConfigInput } from "../src/schema/pool.ts";
import { UpError } from "./up-error.ts";

const MIB = 2 ** 20;
/**
 * The Worker answers as soon as it listens; this is for one that does not, and for a machine that is very
 * busy.
 */
const ANSWER_WITHIN_MS = 30_000;
const RETRY_MS = 200;
/** Machines that the pool of the smallest laptop may have: one can be replaced while another works. */
const FEWEST_INSTANCES = 2;

/** What of the pool may be asked for otherwise than by default. */
export interface PoolChoices {
  /** How long a machine may have nothing to do, as a duration. */
  idle?: string;
}

/**
 * The pool `default` of a laptop: machines of 4 vCPUs (declared, not dedicated) and half of this machine's
 * memory, short intervals because nothing is far away, and absolute directories because the files are the
 * user's own.
 */
export function defaultPool(cloud: { url: string; secret: string }, choices: PoolChoices): PoolConfigInput {
  const memoryMiB = Math.floor(Math.min(totalmem(), process.constrainedMemory() || totalmem()) / 2 / MIB);
  return {
    provider: { kind: "http", ...cloud },
    // They all share this machine: more of them would only be in each other's way.
    maxInstances: Math.max(FEWEST_INSTANCES, availableParallelism()),
    instanceTypes: { local: { vcpus: 4, memory: `${memoryMiB}MiB`, disk: "10GiB", price: 0 } },
    allowHostPaths: true,
    image: "",
    probe: { interval: "1s", boot: "true" },
    timeouts: { idle: choices.idle ?? "1m", shutdown: "2s" },
    sync: { interval: "5s" },
  };
}

/**
 * Puts the pool, as any client would. Doing it again with the same configuration changes nothing. Temporary
 * refusals are tried again; any other is an `UpError` with the control plane's own words.
 */
export async function putDefaultPool(url: string, token: string, config: PoolConfigInput): Promise<void> {
  const deadline = performance.now() + ANSWER_WITHIN_MS;
  for (;;) {
    const { refusal, temporary } = await putOnce(url, token, config);
    if (refusal === undefined) return;
    if (!temporary || performance.now() > deadline) {
      throw new UpError(`The control plane did not take the pool "default": ${refusal}`);
    }
    await sleep(RETRY_MS);
  }
}

async function putOnce(url: string, token: string, config: PoolConfigInput) {
  const response = await fetch(`${url}/v1/pools/default`, {
    method: "PUT",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(config),
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
  }).catch((error: unknown) => String(error));
  if (typeof response === "string") return { refusal: response, temporary: true };
  const text = await response.text();
  if (response.ok) return { temporary: false };
  return {
    refusal: `${response.status} ${text}`,
    temporary: response.status === 429 || response.status === 503,
  };
}
