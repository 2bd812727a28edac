// What a pool tells of its past: samples, hours, and machines that are gone (api.md#past-of-a-pool).
import { z } from "zod";
import { InstantText } from "../common.ts";
import { WorkerSummary } from "../pool.ts";

const Count = z.int().min(0);
const ByName = z.record(z.string(), Count);
const Next = InstantText.nullable().describe("the `since` of the rest; null: this is all until `until`");

/** A pool at a moment. */
export const PoolSample = z
  .object({
    at: InstantText,
    queue: z.object({ depth: Count, oldestAgeMs: Count.nullable() }),
    runs: z.object({ pending: Count, running: Count }),
    workers: ByName.describe("number of workers by state"),
    filled: z
      .number()
      .describe("how many machines the placed runs fill together, each counted by its scarcest resource"),
    perHour: z.number().optional().describe("cost per hour of all machines that may exist"),
    unpriced: Count.optional().describe("machines of unknown price, not in `perHour`"),
  })
  .meta({ id: "PoolSample" });
export type PoolSample = z.infer<typeof PoolSample>;

export const PoolSamples = z
  .object({ items: z.array(PoolSample).describe("in the order of time"), next: Next })
  .meta({ id: "PoolSamples" });
export type PoolSamples = z.infer<typeof PoolSamples>;

/** What was counted in an hour. */
export const PoolTally = z
  .object({
    from: InstantText.describe("the beginning of the hour"),
    to: InstantText.describe("its end, or the latest look at the pool, if it is not over"),
    ended: ByName.describe("number of runs that ended, by state"),
    failedExits: Count.optional().describe(
      "of those that ended `complete`: with another exit code than 0; absent: this was not counted in " +
        "all of the hour",
    ),
    restarts: Count.describe("of their tasks"),
    started: z
      .object({ runs: Count, seconds: z.number() })
      .describe("of the runs that ended: how many had started, and how long they had waited for that in all"),
    machines: z
      .object({ created: Count, refused: Count, ready: Count, failed: Count, gone: Count })
      .describe(
        "machines that were made, that were asked for in vain, that became ready, that did not, and that " +
          "are gone",
      ),
    spent: z.number().optional().describe("what machines have cost, counted when they are gone"),
  })
  .meta({ id: "PoolTally" });
export type PoolTally = z.infer<typeof PoolTally>;

export const PoolTallies = z
  .object({
    items: z.array(PoolTally).describe("in the order of time; hours without news are left out"),
    next: Next,
  })
  .meta({ id: "PoolTallies" });
export type PoolTallies = z.infer<typeof PoolTallies>;

/** A worker whose machine is gone. */
export const GoneWorker = WorkerSummary.omit({ runs: true, kept: true, used: true })
  .extend({
    endingAt: InstantText.nullable().describe("when it began to end; null: it did not say"),
    goneAt: InstantText,
    cost: z.number().nullable().describe("from `askedAt` on, at its latest price; null: unknown"),
  })
  .meta({ id: "GoneWorker" });
export type GoneWorker = z.infer<typeof GoneWorker>;

export const GoneWorkers = z
  .object({
    items: z.array(GoneWorker).describe("the latest first"),
    next: InstantText.nullable().describe("the `until` of the rest; null: this is all since `since`"),
  })
  .meta({ id: "GoneWorkers" });
export type GoneWorkers = z.infer<typeof GoneWorkers>;
