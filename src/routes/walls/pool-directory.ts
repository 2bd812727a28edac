// Which pools are there, and for whom? The edge remembers the Registry's answer for a few seconds.
import type { Objects, PoolRef } from "../../objects/rpc.ts";
import type { Instant } from "../../shared/machine.ts";

/** How old a cached list of pools may be (design/README.md#owners, edge cache). */
const POOLS_KEPT_MS = 3_000;

/** The pools that exist for a caller. */
export interface Pools {
  /** The pools, by name. */
  all(): Promise<PoolRef[]>;
  /** Their names, sorted. */
  names(): Promise<string[]>;
  /** Makes the next call ask the Registry again. Call this after changing a pool through this isolate. */
  forget(): void;
}

/** Caches the pools for one app, so that most queries need no call to the Registry. */
export class PoolDirectory {
  #known: { pools: PoolRef[]; until: Instant } | undefined;

  /** The pools, at most a few seconds old. Rejects if the call to the Registry rejects. */
  async all({ objects, now }: { objects: Objects; now: () => Instant }): Promise<PoolRef[]> {
    if (this.#known !== undefined && now() < this.#known.until) return this.#known.pools;
    // Share only the value: another request cannot safely await this request's promise.
    const pools = await objects.registry().pools();
    this.#known = { pools, until: now() + POOLS_KEPT_MS };
    return pools;
  }

  /** The pools for one request. */
  of(env: Parameters<PoolDirectory["all"]>[0]): Pools {
    const forget = () => {
      this.#known = undefined;
    };
    return poolsFrom(() => this.all(env), forget);
  }
}

/** Those of the pools that `exists` selects. */
export function selectedPools(pools: Pools, exists: (pool: PoolRef) => boolean): Pools {
  return poolsFrom(async () => (await pools.all()).filter(exists), pools.forget);
}

function poolsFrom(all: Pools["all"], forget: Pools["forget"]): Pools {
  return { all, forget, names: async () => (await all()).map(({ name }) => name) };
}
