// What the tasks of a run use right now, and have used at most (`GET /v1/runs/{id}/stats`).
import { z } from "zod";
import { InstantText } from "../common.ts";
import { Sample } from "../host.ts";
import { DeviceIds } from "./devices.ts";
import { Peaks } from "./peaks.ts";
import { TaskState } from "./run.ts";

/** The usage of a run's tasks. */
export const RunStats = z
  .object({
    run: z.string(),
    at: InstantText.nullable().describe("when it was measured; null: not yet"),
    tasks: z.array(
      z.object({
        name: z.string(),
        state: TaskState,
        attempt: z.string().nullable().describe("the running attempt; null: none"),
        devices: DeviceIds.optional().describe(
          "the ids of the GPUs that its latest attempt was given; absent: none",
        ),
        usage: Sample.nullable(),
        peaks: Peaks.optional().describe(
          "the most that one of its attempts has used; absent: not measured, or none has ended",
        ),
      }),
    ),
    total: Sample.nullable().describe("sum of all running tasks that were measured"),
  })
  .meta({ id: "RunStats" });
export type RunStats = z.infer<typeof RunStats>;
