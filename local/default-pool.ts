// What is the pool `default` of `drover up`, and when is it written?
import { availableParallelism, totalmem } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { PoolConfigInput } from "../src/schema/pool.ts";
import { UpError } from "./up-error.ts";

const MIB = 2 ** 20;
/** How long to wait for the Worker. It answers as soon as it listens, unless the machine is very busy. */
const ANSWER_WITHIN_MS = 30_000;
const RETRY_MS = 200;
/** The share of the memory that all machines may use together. The rest is for the system and Drover. */
const MEMORY_SHARE = 0.9;

/** What the flags of `drover up` can change about the pool. */
export interface PoolChoices {
  /** How long a machine may be idle, as a duration. */
  idle?: string;
  /** The most machines. */
  machines?: number | undefined;
  /** The vCPUs of each machine. If all machines together have more than this computer has, they share. */
  vcpus?: number | undefined;
  memory?: string | undefined;
}

/** What this computer has for runs. */
export interface Capacity {
  vcpus: number;
  memoryBytes: number;
}

/** The vCPUs and the memory that this process may use. */
export function capacityHere(): Capacity {
  const memoryBytes = Math.min(totalmem(), process.constrainedMemory() || totalmem());
  return { vcpus: availableParallelism(), memoryBytes };
}

/**
 * The pool `default` of a laptop: one machine with everything that this computer has, or several with equal
 * shares. Intervals are short because nothing is far away; absolute directories are allowed because the files
 * are the user's own.
 */
export function defaultPool(
  cloud: { url: string; secret: string },
  choices: PoolChoices,
  here: Capacity = capacityHere(),
): PoolConfigInput {
  const { machines = 1 } = choices;
  const vcpus = choices.vcpus ?? Math.max(1, Math.floor(here.vcpus / machines));
  const memory = choices.memory ?? `${Math.floor((here.memoryBytes * MEMORY_SHARE) / machines / MIB)}MiB`;
  return {
    provider: { kind: "http", ...cloud },
    maxInstances: machines,
    instanceTypes: { local: { vcpus, memory, disk: "10GiB", price: 0 } },
    allowHostPaths: true,
    image: "",
    probe: { interval: "1s", boot: "true" },
    timeouts: { idle: choices.idle ?? "1m", shutdown: "2s" },
    sync: { interval: "5s" },
  };
}

/** Where the control plane is, and which pool it should have. */
export interface PoolToSettle {
  url: string;
  token: string;
  fetch: typeof fetch;
  config: PoolConfigInput;
  /** What the control plane showed after `drover up` last put the pool; undefined: it never did. */
  last: string | undefined;
}

/**
 * Puts the pool `default`, unless somebody has changed it since `drover up` last put it. Returns what the
 * control plane shows of the pool now; undefined if it was left alone.
 */
export async function settleDefaultPool(pool: PoolToSettle): Promise<string | undefined> {
  const shown = await shownConfig(pool);
  if (shown !== undefined && pool.last !== undefined && shown !== pool.last) return undefined;
  await putDefaultPool(pool);
  return shownConfig(pool);
}

/** The configuration of the pool as one line of JSON; undefined if there is none, or no answer. */
async function shownConfig({ url, token, fetch }: PoolToSettle): Promise<string | undefined> {
  const response = await fetch(`${url}/v1/pools/default`, {
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
  }).catch(() => undefined);
  if (response?.ok !== true) return undefined;
  const view: { config?: Record<string, unknown> } | null = JSON.parse(await response.text());
  return view?.config === undefined ? undefined : JSON.stringify(view.config);
}

/**
 * Puts the pool, as any client would: repeating that changes nothing. Retries temporary refusals. Any other
 * refusal throws an `UpError` with the control plane's own words.
 */
async function putDefaultPool(pool: PoolToSettle): Promise<void> {
  const deadline = performance.now() + ANSWER_WITHIN_MS;
  for (;;) {
    const { refusal, temporary } = await putOnce(pool);
    if (refusal === undefined) return;
    if (!temporary || performance.now() > deadline) {
      throw new UpError(`The control plane did not take the pool "default": ${refusal}`);
    }
    await sleep(RETRY_MS);
  }
}

async function putOnce({ url, token, fetch, config }: PoolToSettle) {
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
