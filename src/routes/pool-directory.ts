import type { EdgeBindings } from "./edge.ts";

/** How old the list of pools may be that a query is answered from (design/README.md#owners, edge cache). */
const POOL_NAMES_KEPT_MS = 3_000;

/**
 * The names of all pools, remembered for a few seconds, so that a query does not cost a call to the one
 * Registry.
 */
export interface PoolDirectory {
  /** The names, at most a few seconds old. Fails as the Registry does. */
  names(env: Pick<EdgeBindings, "objects" | "now">): Promise<string[]>;
  /** Asks the Registry again next time: after a pool was put through this isolate. */
  forget(): void;
}

/** Makes a directory that knows nothing yet. One per app, shared by its requests. */
export function createPoolDirectory(): PoolDirectory {
  let known: { names: string[]; until: number } | undefined;
  return {
    async names({ objects, now }) {
      if (known !== undefined && now() < known.until) return known.names;
      // The value is shared and not the promise: a promise of one request cannot be awaited safely in
      // another.
      const names = await objects.registry().pools();
      known = { names, until: now() + POOL_NAMES_KEPT_MS };
      return names;
    },
    forget() {
      known = undefined;
    },
  };
}
