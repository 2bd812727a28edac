// How many trivial runs per second does one Drover finish?
import { type Drover, endOf } from "../drover.ts";
import type { Row } from "../table.ts";

/** Runs trivial commands: each user submits one, waits for its end, and submits the next. */
export async function measureThroughput(drover: Drover, users: number, runs: number): Promise<Row[]> {
  let left = runs;
  const use = async () => {
    while (left > 0) {
      left -= 1;
      const { id } = await drover.call<{ id: string }>("POST", "/v1/runs", { argv: ["true"] });
      await endOf(drover, id);
    }
  };
  const beganAt = performance.now();
  await Promise.all(Array.from({ length: users }, use));
  const seconds = (performance.now() - beganAt) / 1_000;
  const what = `throughput, ${users} at once`;
  return [{ what, n: runs, p50: `${(runs / seconds).toFixed(1)} runs/s`, p95: "", max: "", budget: "" }];
}
