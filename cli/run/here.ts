import type { Client } from "../../client/client.ts";
import { ApiError } from "../../client/errors.ts";
import { escapeReferences } from "../../src/core/references.ts";
import type { Context } from "../context.ts";
import type { Io } from "../io.ts";

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
 */
export async function hereFor(
  { cwd, env }: Pick<Io, "cwd" | "env">,
  client: Client,
  context: Context,
  pool: unknown = OWN_POOL,
): Promise<Here | undefined> {
  if (context.file === undefined || !(await takesPaths(client, pool))) return undefined;
  const umask = process.umask().toString(8).padStart(3, "0");
  return { cwd, umask, path: env.PATH === undefined ? undefined : escapeReferences(env.PATH) };
}

async function takesPaths(client: Client, pool: unknown): Promise<boolean> {
  if (pool === OWN_POOL) return true;
  try {
    return typeof pool === "string" && (await client.pools.get(pool)).config.allowHostPaths === true;
  } catch (error) {
    // The submission is refused, too, and says why.
    if (error instanceof ApiError) return false;
    throw error;
  }
}
