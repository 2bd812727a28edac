import { z } from "zod";
import { InstantText } from "../common.ts";
import { Sample } from "../host.ts";
import { TaskState } from "./run.ts";

/** What the tasks of a run use now (`GET /v1/runs/{id}/stats`). */
export const RunStats = z
  .object({
    run: z.string(),
    at: InstantText.nullable().meta({ description: "when it was measured; null: nothing has been yet" }),
    tasks: z.array(
      z.object({
        name: z.string(),
        state: TaskState,
        attempt: z.string().nullable().meta({ description: "the one that runs; null: none does" }),
        usage: Sample.nullable(),
      }),
    ),
    total: Sample.nullable().meta({ description: "of the tasks that run, as far as they were measured" }),
  })
  .meta({ id: "RunStats" });
export type RunStats = z.infer<typeof RunStats>;
