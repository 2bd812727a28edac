import type { PoolDirectory } from "./edge.ts";

/** How old the list of pools may be that a query is answered from (design/README.md#owners, edge cache). */
const POOL_NAMES_KEPT_MS = 3_000;

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
