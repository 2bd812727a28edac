// How do the objects and the edge reach an object?
import type { AllocationStub, CloudWorkerStub, Env, PoolStub } from "../env.ts";
import { LogChunks } from "../files/log-chunks.ts";
import { Snapshots } from "../files/snapshots.ts";
import type { Objects } from "../rpc.ts";

/** The name of the only registry. */
const REGISTRY_NAME = "registry";

/** Each call gets a fresh stub: one that has failed keeps failing (platform.md#calls-and-faults). */
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

/** Makes a pool count invariants that one of its objects broke. If the call is lost, the log has them. */
export function countViolations(env: Env, pool: string | undefined, machine: string, count: number): void {
  if (pool !== undefined)
    void peersOf(env)
      .pool(pool)
      .violated(machine, count)
      .catch(() => undefined);
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
