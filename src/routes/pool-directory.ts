// Which pools are there? The edge remembers the Registry's answer for a few seconds.
import type { Objects } from "../objects/rpc.ts";
import type { Instant } from "../shared/machine.ts";

/** How old a cached list of pools may be (design/README.md#owners, edge cache). */
const POOL_NAMES_KEPT_MS = 3_000;

/** The names of the pools that exist for a caller. */
export interface PoolNames {
  names(): Promise<string[]>;
  /** Makes the next call ask the Registry again. Call this after changing a pool through this isolate. */
  forget(): void;
}

/** Caches the names of all pools for one app, so that most queries need no call to the Registry. */
export class PoolDirectory {
  #known: { names: string[]; until: Instant } | undefined;

  /** The names, at most a few seconds old. Rejects if the call to the Registry rejects. */
  async names({ objects, now }: { objects: Objects; now: () => Instant }): Promise<string[]> {
    if (this.#known !== undefined && now() < this.#known.until) return this.#known.names;
    // Share only the value: another request cannot safely await this request's promise.
    const names = await objects.registry().pools();
    this.#known = { names, until: now() + POOL_NAMES_KEPT_MS };
    return names;
  }

  /** The names for one request. */
  of(env: Parameters<PoolDirectory["names"]>[0]): PoolNames {
    return {
      names: () => this.names(env),
      forget: () => {
        this.#known = undefined;
      },
    };
  }
}
