// How long does a newcomer wait: until Drover is up, for the first run from nothing, and for `drover ps`?
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { COMMAND, endOf, startDrover } from "../drover.ts";
import { type Row, rowOf } from "../table.ts";

const LISTS_A_ROUND = 5;

/** Starts Drover anew in each round, runs the first command, and lists the runs. */
export async function measureStartup(rounds: number): Promise<Row[]> {
  const [up, first, list] = [[] as number[], [] as number[], [] as number[]];
  for (let round = 0; round < rounds; round += 1) {
    const beganAt = performance.now();
    const drover = await startDrover();
    try {
      up.push(performance.now() - beganAt);
      const { id } = await drover.call<{ id: string }>("POST", "/v1/runs", { argv: ["true"] });
      await endOf(drover, id);
      first.push(performance.now() - beganAt);
      for (let n = 0; n < LISTS_A_ROUND; n += 1) {
        const askedAt = performance.now();
        const args = [COMMAND, "--state", join(drover.dir, "state"), "ps", "--all"];
        await promisify(execFile)(process.execPath, args);
        list.push(performance.now() - askedAt);
      }
    } finally {
      await drover.stop();
    }
  }
  return [
    rowOf("drover up → up", "ms", up),
    rowOf("drover up → the first run has ended", "ms", first),
    rowOf("drover ps", "ms", list),
  ];
}
