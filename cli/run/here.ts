// What does a command need to run as if this process had started it, and does the pool allow it?
import type { Client } from "../../client/client.ts";
import { ApiError } from "../../client/errors.ts";
import { escapeReferences } from "../../src/shared/references.ts";
import type { Context } from "../context.ts";
import type { Io } from "../terminal/io.ts";

/** What a command on this machine takes over from this process. */
export interface Here {
  cwd: string;
  /** Undefined: the command has its own. */
  umask: string | undefined;
  /** Undefined if this process has no `PATH`. */
  path: string | undefined;
}

/** The pool whose machines are processes on this machine (`local/default-pool.ts`). */
const OWN_POOL = "default";

/**
 * Returns what the command takes over from this process; undefined if the pool does not accept host paths or
 * the Drover is not local. The pool of `drover up` and every pool with `allowHostPaths` accept host paths.
 * `isRefused`: the Drover is local, but the pool does not accept host paths.
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

/** Whether the pool accepts host paths. Undefined if the pool is unknown: the submission will say why. */
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
