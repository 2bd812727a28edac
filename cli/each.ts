// How does a verb work on several ids, so that a failure for one id does not stop the work on the other ids?
import { explain } from "./explain.ts";
import type { Io } from "./terminal/io.ts";

/** The most simultaneous calls: enough to be quick, few enough for any server. */
const AT_ONCE = 8;

/**
 * Calls `work` once for each distinct id. Prints each failure with its id, and goes on with the other ids.
 * Returns whether all calls succeeded. `atOnce`: how many calls are made at the same time.
 */
export async function forEachOf(
  io: Io,
  ids: readonly string[],
  work: (id: string) => Promise<boolean>,
  atOnce = AT_ONCE,
): Promise<boolean> {
  const waiting = [...new Set(ids)];
  let wentWell = true;
  const next = async (): Promise<void> => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
      wentWell = (await workOrExplain(io, id, work)) && wentWell;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, next));
  return wentWell;
}

async function workOrExplain(io: Io, id: string, work: (id: string) => Promise<boolean>): Promise<boolean> {
  try {
    return await work(id);
  } catch (error) {
    const { lines } = explain(error, io);
    if (lines.length === 0) throw error;
    await io.say(`${id}: ${lines.join(" ")}`);
    return false;
  }
}
