// How do the objects and the edge reach an object?
import type { Env } from "../env.ts";
import { LogChunks } from "../files/log-chunks.ts";
import { Snapshots } from "../files/snapshots.ts";
import type { Objects } from "../rpc.ts";

/** The name of the only registry. */
const REGISTRY_NAME = "registry";

/**
 * How objects reach each other. Each call gets a new stub, since a stub that has failed once keeps failing
 * (platform.md#calls-and-faults).
 */
export function peersOf(env: Env) {
  return {
    allocation: (run: string) => env.ALLOCATION.getByName(run),
    worker: (id: string) => env.CLOUD_WORKER.getByName(id),
    pool: (name: string) => env.POOL.getByName(name),
    registry: () => env.REGISTRY.getByName(REGISTRY_NAME),
  };
}
export type Peers = ReturnType<typeof peersOf>;

/**
 * Makes a pool count invariants that one of its objects broke. If the call is lost, they are still in the
 * log.
 */
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
    logs: () => new LogChunks(env.LOGS, peersOf(env)),
    snapshots: () => new Snapshots(env.LOGS),
  };
}
