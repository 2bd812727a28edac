// Which pools are there? The edge remembers the Registry's answer for a few seconds.
import type { PoolDirectory } from "./edge.ts";

/** How old a cached list of pools may be (design/README.md#owners, edge cache). */
const POOL_NAMES_KEPT_MS = 3_000;

/** Makes an empty directory, one per app, shared by its requests. */
export function createPoolDirectory(): PoolDirectory {
  let known: { names: string[]; until: number } | undefined;
  return {
    async names({ objects, now }) {
      if (known !== undefined && now() < known.until) return known.names;
      // Only the value is shared: another request cannot safely await this request's promise.
      const names = await objects.registry().pools();
      known = { names, until: now() + POOL_NAMES_KEPT_MS };
      return names;
    },
    forget() {
      known = undefined;
    },
  };
}
