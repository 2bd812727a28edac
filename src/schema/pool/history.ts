// What `GET /v1/pools/{name}/history` answers (api.md#history-of-a-pool).
import { z } from "zod";
import { InstantText } from "../common.ts";

/** What can happen to the runs and the machines of a pool. */
export const HAPPENINGS = [
  "run_queued",
  "run_placed",
  "run_started",
  "run_ended",
  "machine_requested",
  "machine_ready",
  "machine_failed",
  "machine_ending",
  "machine_gone",
] as const;

/** Something that happened in a pool. */
export const HistoryItem = z
  .object({
    at: InstantText,
    what: z.enum(HAPPENINGS),
    run: z.string().nullable().describe("the run; null: it is about a machine"),
    worker: z.string().nullable().describe("the worker of the machine, or of the run at that time"),
    project: z.string().nullable().describe("whose run or machine it is; null: no single project's"),
    text: z.string().describe("for people: the command, how it ended, the type of the machine, or why"),
  })
  .meta({ id: "HistoryItem" });
export type HistoryItem = z.infer<typeof HistoryItem>;

export const PoolHistory = z
  .object({
    items: z.array(HistoryItem).describe("in the order of time"),
    next: InstantText.nullable().describe("the `since` of the rest; null: this is all until `until`"),
    completeSince: InstantText.describe(
      "runs that ended before this may be gone from it: their retention is over",
    ),
  })
  .meta({ id: "PoolHistory" });
export type PoolHistory = z.infer<typeof PoolHistory>;
