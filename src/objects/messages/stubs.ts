import type { Env } from "../env.ts";
import { LogChunks } from "../files/log-chunks.ts";
import { Snapshots } from "../files/snapshots.ts";
import type { AllocationApi, CloudWorkerApi, Objects, PoolApi, RegistryApi } from "../rpc.ts";
import type { AllocationPeer, CloudWorkerPeer, PoolPeer } from "./peers.ts";

/** The registry is one object. */
const REGISTRY_NAME = "registry";

/**
 * A fresh stub for each call: one that has failed once keeps failing (platform.md#calls-and-faults).
 *
 * The platform's own stub types unfold every result type at every call and give up on deep ones; the
 * interfaces say the same, and each class implements them, so the casts below lose nothing.
 */
export interface Peers {
  allocation(run: string): AllocationPeer & AllocationApi;
  worker(id: string): CloudWorkerPeer & CloudWorkerApi;
  pool(name: string): PoolPeer & PoolApi;
}

/** How objects reach each other. */
export function peersOf(env: Env): Peers {
  return {
    // The classes implement these interfaces: see above.
    allocation: (run) => env.ALLOCATION.getByName(run) as unknown as AllocationPeer & AllocationApi,
    // see above
    worker: (id) => env.CLOUD_WORKER.getByName(id) as unknown as CloudWorkerPeer & CloudWorkerApi,
    pool: (name) => env.POOL.getByName(name) as unknown as PoolPeer & PoolApi, // see above
  };
}

/** How the edge reaches the objects. */
export function objectsOf(env: Env): Objects {
  return {
    ...peersOf(env),
    // The class implements the interface.
    registry: () => env.REGISTRY.getByName(REGISTRY_NAME) as unknown as RegistryApi,
    logs: () => new LogChunks(env.LOGS, peersOf(env)),
    snapshots: () => new Snapshots(env.LOGS),
  };
}
