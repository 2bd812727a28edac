// What do readers see of the machine that keeps a failed run?
import { z } from "zod";
import { InstantText } from "../../common.ts";

/** The machine that keeps a failed run (tasks.md#kept). */
export const KeptMachine = z
  .object({
    worker: z.string(),
    until: InstantText,
    task: z.string().describe("where commands lead that name no task: the one that failed first"),
    perHour: z.number().nullable().describe("what its place on the machine costs; null: unknown"),
    cost: z.number().nullable().describe("from the end of the run until then; null: unknown"),
    releasing: z.boolean().describe("its end is asked for, and not confirmed yet"),
  })
  .meta({ id: "KeptMachine", description: "the machine that keeps a failed run; absent: none does" });
export type KeptMachine = z.infer<typeof KeptMachine>;
