// What is the pool `default` of `drover up`, and when is it written?
import { availableParallelism, totalmem } from "node:os";
import type { Client } from "../client/client.ts";
import type { PoolConfig } from "../client/types.ts";
import { errorText } from "../src/shared/words.ts";
import { UpError } from "./up-error.ts";

const MIB = 2 ** 20;
/** How long to wait for the Worker. It answers as soon as it listens, unless the machine is very busy. */
const PATIENCE = { unreachableMs: 30_000, busyMs: 30_000 };
/** The share of the memory that all machines may use together. The rest is for the system and Drover. */
const MEMORY_SHARE = 0.9;

/** What the flags of `drover up` can change about the pool. */
export interface PoolChoices {
  /** How long a machine may be idle, as a duration. */
  idle?: string;
  /** The maximum number of machines. */
  machines?: number | undefined;
  /** The vCPUs of each machine. If all machines together have more than this computer has, they share. */
  vcpus?: number | undefined;
  memory?: string | undefined;
}

/** The resources of this computer for runs. */
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
): PoolConfig {
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

/**
 * Puts the pool `default`, unless somebody has changed it since `drover up` last put it. `last`: the
 * configuration that the control plane showed after that; undefined if it is not known. Returns the
 * configuration that the control plane shows now; undefined if the pool was left alone. If the control plane
 * refuses the pool, throws an `UpError` that quotes the refusal.
 */
export async function settleDefaultPool(
  { pools }: Client,
  config: PoolConfig,
  last: string | undefined,
): Promise<string | undefined> {
  const shown = await pools.get("default", { patience: PATIENCE }).catch(() => undefined);
  if (shown !== undefined && last !== undefined && JSON.stringify(shown.config) !== last) return undefined;
  try {
    return JSON.stringify((await pools.put("default", config, { patience: PATIENCE })).config);
  } catch (error) {
    throw new UpError(`The control plane did not take the pool "default": ${errorText(error)}`);
  }
}
