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
/** How much of the memory machines may have together: the rest is for the system and for Drover. */
const MEMORY_SHARE = 0.9;

/** What of the pool may be asked for otherwise than by default. */
export interface PoolChoices {
  /** How long a machine may have nothing to do, as a duration. */
  idle?: string;
  /** How many machines there may be. */
  machines?: number | undefined;
  /** Of each machine. What is declared beyond what this machine has is shared. */
  vcpus?: number | undefined;
  memory?: string | undefined;
}

/** What this machine has for its runs. */
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
 * The pool `default` of a laptop: one machine with all that this one has, or so many with an equal share of
 * it, short intervals because nothing is far away, and absolute directories because the files are the user's.
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

/** A pool as the control plane shows it: without the secret of its provider. */
type ShownConfig = Record<string, unknown>;

/** Where the control plane is, the pool as it is by default, and what it was made last. */
export interface PoolToSettle {
  url: string;
  token: string;
  fetch: typeof fetch;
  config: PoolConfigInput;
  /** What the control plane showed of it when `drover up` had put it last; undefined: it never has. */
  last: string | undefined;
}

/**
 * Puts the pool `default`, unless somebody has changed it since `drover up` put it last: then it stays as it
 * is. Returns what the control plane shows of it now, if it was put.
 */
export async function settleDefaultPool(pool: PoolToSettle): Promise<string | undefined> {
  const shown = await shownConfig(pool);
  if (shown !== undefined && pool.last !== undefined && shown !== pool.last) return undefined;
  await putDefaultPool(pool);
  return shownConfig(pool);
}

/** The configuration of the pool in one line; undefined if there is none, or nobody says. */
async function shownConfig({ url, token, fetch }: PoolToSettle): Promise<string | undefined> {
  const response = await fetch(`${url}/v1/pools/default`, {
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
  }).catch(() => undefined);
  if (response?.ok !== true) return undefined;
  const view: { config?: ShownConfig } | null = JSON.parse(await response.text());
  return view?.config === undefined ? undefined : JSON.stringify(view.config);
}

/**
 * Puts the pool, as any client would. Doing it again with the same configuration changes nothing. Temporary
 * refusals are tried again; any other is an `UpError` with the control plane's own words.
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
