import type { Allocation } from "./allocation.ts";
import type { CloudWorker } from "./cloud-worker.ts";
import type { Pool } from "./pool.ts";
import type { Registry } from "./registry.ts";

/** The bindings of `wrangler.toml`. */
export interface Env {
  ALLOCATION: DurableObjectNamespace<Allocation>;
  CLOUD_WORKER: DurableObjectNamespace<CloudWorker>;
  POOL: DurableObjectNamespace<Pool>;
  REGISTRY: DurableObjectNamespace<Registry>;
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
