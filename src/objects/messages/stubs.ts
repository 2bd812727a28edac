import type { AllocationStub, CloudWorkerStub, Env, PoolStub } from "../env.ts";
import { LogChunks } from "../files/log-chunks.ts";
import { Snapshots } from "../files/snapshots.ts";
import type { Objects } from "../rpc.ts";

/** The registry is one object. */
const REGISTRY_NAME = "registry";

/** A fresh stub for each call: one that has failed once keeps failing (platform.md#calls-and-faults). */
export interface Peers {
  allocation(run: string): AllocationStub;
  worker(id: string): CloudWorkerStub;
  pool(name: string): PoolStub;
}

/** How objects reach each other. */
export function peersOf(env: Env): Peers {
  return {
    allocation: (run) => env.ALLOCATION.getByName(run),
    worker: (id) => env.CLOUD_WORKER.getByName(id),
    pool: (name) => env.POOL.getByName(name),
  };
}

/** How the edge reaches the objects. */
export function objectsOf(env: Env): Objects {
  return {
    ...peersOf(env),
    registry: () => env.REGISTRY.getByName(REGISTRY_NAME),
    logs: () => new LogChunks(env.LOGS, peersOf(env)),
    snapshots: () => new Snapshots(env.LOGS),
  };
}
