import type { Client } from "../../client/client.ts";
import { ApiError } from "../../client/errors.ts";
import { escapeReferences } from "../../src/shared/references.ts";
import type { Context } from "../context.ts";
import type { Io } from "../terminal/io.ts";

/** What a command is given that runs on this machine, so that it runs as if it had been started here. */
export interface Here {
  cwd: string;
  umask: string;
  /** Absent: there is no `PATH` here. */
  path: string | undefined;
}

/** The pool whose machines are processes on this one (`local/default-pool.ts`). */
const OWN_POOL = "default";

/**
 * What this place gives to a command, if the pool runs it on this machine; undefined if not. That is so with
 * a local Drover, in the pool of `drover up`, and in each other one that takes directories by their paths.
 * `isRefused`: this Drover is a local one, and the pool takes none.
 */
export async function hereFor(
  { cwd, env }: Pick<Io, "cwd" | "env">,
  client: Client,
  context: Context,
  pool: unknown = OWN_POOL,
): Promise<{ here: Here | undefined; isRefused: boolean }> {
  const takes = context.file === undefined ? undefined : await takesPaths(client, pool);
  if (takes !== true) return { here: undefined, isRefused: takes === false };
  const umask = process.umask().toString(8).padStart(3, "0");
  const path = env.PATH === undefined ? undefined : escapeReferences(env.PATH);
  return { here: { cwd, umask, path }, isRefused: false };
}

/** Undefined: there is no such pool. The submission is refused, too, and says why. */
async function takesPaths(client: Client, pool: unknown): Promise<boolean | undefined> {
  if (pool === OWN_POOL) return true;
  if (typeof pool !== "string") return undefined;
  try {
    return (await client.pools.get(pool)).config.allowHostPaths === true;
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}
