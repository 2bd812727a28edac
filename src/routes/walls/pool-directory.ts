// Which pools are there, and for whom? The edge remembers the Registry's answer for a few seconds.
import type { Objects, PoolRef } from "../../objects/rpc.ts";
import type { Instant } from "../../shared/machine.ts";

/** How old a cached list of pools may be (design/README.md#owners, edge cache). */
const POOLS_KEPT_MS = 3_000;

/** The pools that exist for a caller. */
export interface Pools {
  /** The pools, by name. `newerThanMs`: an answer that is older is asked for again. */
  all(newerThanMs?: number): Promise<PoolRef[]>;
  /** Their names, sorted. */
  names(): Promise<string[]>;
  /** Makes the next call ask the Registry again. Call this after changing a pool through this isolate. */
  forget(): void;
}

/** How the Registry is reached, and the time. */
interface Env {
  objects: Objects;
  now: () => Instant;
}

/** Caches the pools for one app, so that most queries need no call to the Registry. */
export class PoolDirectory {
  #known: { pools: PoolRef[]; at: Instant } | undefined;

  /** The pools, at most a few seconds old. Rejects if the call to the Registry rejects. */
  async all({ objects, now }: Env, newerThanMs = POOLS_KEPT_MS): Promise<PoolRef[]> {
    if (this.#known !== undefined && now() < this.#known.at + newerThanMs) return this.#known.pools;
    // Share only the value: another request cannot safely await this request's promise.
    const pools = await objects.registry().pools();
    this.#known = { pools, at: now() };
    return pools;
  }

  /** The pools for one request. */
  of(env: Env): Pools {
    const forget = () => {
      this.#known = undefined;
    };
    return poolsFrom((newerThanMs) => this.all(env, newerThanMs), forget);
  }
}

/** Those of the pools that `exists` selects. */
export function selectedPools(pools: Pools, exists: (pool: PoolRef) => boolean): Pools {
  return poolsFrom(async (newerThanMs) => (await pools.all(newerThanMs)).filter(exists), pools.forget);
}

function poolsFrom(all: Pools["all"], forget: Pools["forget"]): Pools {
  return { all, forget, names: async () => (await all()).map(({ name }) => name) };
}
