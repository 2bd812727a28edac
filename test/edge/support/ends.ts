import { until } from "../../local/support/scratch.ts";
import type { RunningDrover } from "./drover.ts";
import type { Json } from "./edge.ts";

/** The run, once it has ended: one long poll may be over before that. */
export function endOf(at: Pick<RunningDrover, "json">, id: string): Promise<Json> {
  return until(`${id} has ended`, async () => {
    const run = await at.json(200, "GET", `/v1/runs/${id}?wait=30s&state=done`);
    return run.finishedAt === null ? undefined : run;
  });
}
