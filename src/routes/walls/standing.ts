// What is a pool for a caller's project (projects.md#pools)?
import type { PoolRef } from "../../objects/rpc.ts";
import type { Pools } from "./pool-directory.ts";

/** `own`: the pool serves the caller's project alone. `shared`: others, too. `none`: it does not serve it. */
export type Standing = "own" | "shared" | "none";

/** What a pool is for a project. Null: there is no wall, so every pool is the caller's own. */
export function standingOf({ projects }: PoolRef, project: string | null): Standing {
  if (project === null) return "own";
  if (!projects.includes(project)) return "none";
  return projects.length === 1 ? "own" : "shared";
}

/** A list of pools that is older than this is asked for again before a pool counts as unknown. */
const LOOK_AGAIN_MS = 1_000;

/** Tells what each pool is for a caller. A pool that is not known, or serves others, is looked up again. */
export function standings(pools: Pools, project: string | null): (pool: string) => Promise<Standing> {
  const look = async (pool: string, newerThanMs?: number) => {
    const found = (await pools.all(newerThanMs)).find(({ name }) => name === pool);
    return found === undefined ? "none" : standingOf(found, project);
  };
  return async (pool) => {
    if (project === null) return "own";
    const known = await look(pool);
    return known === "none" ? look(pool, LOOK_AGAIN_MS) : known;
  };
}
