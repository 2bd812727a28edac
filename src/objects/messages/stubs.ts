// How do the objects and the edge reach an object?
import type { Via } from "../../core/audit/via.ts";
import type { Env } from "../env.ts";
import { LogChunks } from "../files/log-chunks.ts";
import { nodeArchive } from "../files/node-archives.ts";
import { Snapshots } from "../files/snapshots.ts";
import type { RegistryCalls } from "../registry/api.ts";
import type { Objects } from "../rpc.ts";
import { calledVia } from "./via.ts";

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
    webhook: (id: string) => env.WEBHOOK.getByName(id),
    /** `id`: the job's name, after its project unless that is `default` (`jobIdOf`). */
    job: (id: string) => env.JOB.getByName(id),
    registry: () => registryOf(env),
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

/**
 * The registry, as its callers see it. Its many calls all pass through one method of its object, so that the
 * object need not repeat each of them. `via`: the request of a user that makes the calls.
 */
export function registryOf(env: Pick<Env, "REGISTRY">, via?: Via): RegistryCalls {
  const stub = env.REGISTRY.getByName(REGISTRY_NAME);
  const get = (_target: object, method: string | symbol) =>
    typeof method === "string" ? (...args: unknown[]) => stub.call(method, args, via) : undefined;
  return new Proxy({}, { get }) as RegistryCalls; // `Registry` has exactly these calls
}

/** How the edge reaches the objects. `via`: the request for which it does. */
export function objectsOf(env: Env, via?: Via): Objects {
  const peers = peersOf(env);
  return {
    ...(via === undefined ? peers : calledVia(peers, via)),
    registry: () => registryOf(env, via),
    logs: () => new LogChunks(env.LOGS, peersOf(env)),
    snapshots: () => new Snapshots(env.LOGS),
    nodeArchive: (file) => nodeArchive(env.LOGS, file),
  };
}
