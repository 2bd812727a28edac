// Which tags does each machine of a pool have at its cloud?

/** Names the worker to which a machine belongs. */
export const WORKER_TAG = "drover-worker";
/** Names the pool to which a machine belongs. */
export const POOL_TAG = "drover-pool";

/** The tag of all machines of a pool, as listings select it: `name:value`. */
export function tagOfPool(pool: string): string {
  return `${POOL_TAG}:${pool}`;
}
