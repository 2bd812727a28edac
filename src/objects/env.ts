import type { RunUsage } from "../core/worker/read/usage.ts";
import type { Why } from "../schema/why.ts";
import type { Mailbox } from "./messages/post.ts";
import type { AllocationApi, CloudWorkerApi, PoolApi, RegistryApi } from "./rpc.ts";

/** The objects of a class, by name. Its stubs are what the class implements. */
export interface Namespace<Stub> {
  getByName(name: string): Stub;
}

/** What the edge and the other objects may ask of an allocation. */
export interface AllocationStub extends AllocationApi, Mailbox<"allocation"> {}

/** What the edge and the other objects may ask of a worker. */
export interface CloudWorkerStub extends CloudWorkerApi, Mailbox<"worker"> {
  why(run?: string): Promise<Why>;
  /** What a run uses here; null if nothing is known. It waits for a moment if the host must be asked. */
  usage(run: string): Promise<RunUsage | null>;
}

/** What the edge and the other objects may ask of a pool. */
export interface PoolStub extends PoolApi, Mailbox<"pool"> {
  /** `all`: wakes all that lives here, too, since its alarms go by another time. */
  poke(all: boolean): Promise<void>;
  /** Why a run of this pool waits; null if it does not. */
  explain(run: string): Promise<Why | null>;
}

/**
 * The bindings of `wrangler.toml`. The platform's own stub types unfold every result type at every call, give
 * up on deep ones, and would make a circle of all classes.
 */
export interface Env {
  ALLOCATION: Namespace<AllocationStub>;
  CLOUD_WORKER: Namespace<CloudWorkerStub>;
  POOL: Namespace<PoolStub>;
  REGISTRY: Namespace<RegistryApi>;
  /**
   * The bucket for logs and snapshots. Without it logs travel in reports and lie in rows, as small ones
   * always do, and there are no snapshots.
   */
  LOGS?: R2Bucket;
  /** The files of the reference page. */
  ASSETS: Fetcher;
  /** The first admin's token. */
  DROVER_ADMIN_TOKEN: string;
  /** What enrollment codes are signed with. */
  DROVER_SIGNING_KEY: string;
  /** Where hosts reach this Worker. */
  DROVER_URL?: string;
  /** How many milliseconds Drover's time is ahead of the platform's clock; only `drover up` says it. */
  DROVER_CLOCK_AHEAD_MS?: string;
}

/** Where hosts reach this Worker, without a slash at the end; empty if nobody has said. */
export function urlOf({ DROVER_URL = "" }: Pick<Env, "DROVER_URL">): string {
  return DROVER_URL.replace(/\/$/, "");
}
