import { explain } from "./explain.ts";
import type { Io } from "./terminal/io.ts";

/** How many things are worked on at a time: enough to be quick, few enough for every server. */
const AT_ONCE = 8;

/**
 * Does something to each of the ids that a person has named, each once. What fails for one is said with its
 * id and stops none of the others. Returns whether all went well.
 */
export async function forEachOf(
  io: Io,
  ids: readonly string[],
  work: (id: string) => Promise<boolean>,
): Promise<boolean> {
  const waiting = [...new Set(ids)];
  let wentWell = true;
  const next = async (): Promise<void> => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
      wentWell = (await explained(io, id, work)) && wentWell;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
  return wentWell;
}

async function explained(io: Io, id: string, work: (id: string) => Promise<boolean>): Promise<boolean> {
  try {
    return await work(id);
  } catch (error) {
    const { lines } = explain(error, io);
    if (lines.length === 0) throw error;
    await io.say(`${id}: ${lines.join(" ")}`);
    return false;
  }
}
