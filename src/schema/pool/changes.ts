// What do the changes of a pool look like on the wire?
import { z } from "zod";
import { WorkerSummary } from "../pool.ts";
import { RunSummary } from "../run/run.ts";

/** The current state of a run or worker that has changed. */
export const PoolChange = z
  .object({
    number: z.int().describe("number of its latest change; higher is later"),
    run: RunSummary.optional(),
    worker: WorkerSummary.optional(),
  })
  .meta({ id: "PoolChange" });
export type PoolChange = z.infer<typeof PoolChange>;

export const PoolEventList = z
  .object({
    items: z.array(PoolChange),
    next: z.int().describe("the `after` of the next request"),
  })
  .meta({ id: "PoolEventList" });
export type PoolEventList = z.infer<typeof PoolEventList>;
