// What a machine's console looks like on the wire.
import { z } from "zod";
import { InstantText } from "../common.ts";

/** The end of what the console of a worker's machine has shown (clouds.md#console). */
export const WorkerConsole = z
  .object({
    worker: z.string(),
    readAt: InstantText.describe("when its provider was asked"),
    updatedAt: InstantText.nullable().describe(
      "as of when the provider shows it, which can be minutes before; null: it does not say",
    ),
    truncated: z.boolean().describe("what came before `text` is left out"),
    text: z
      .string()
      .describe(
        "the last whole lines, at most 16 KiB, without escape sequences, and with `[secret]` in the place " +
          "of what Drover has put into the machine's user data and keeps secret",
      ),
  })
  .meta({ id: "WorkerConsole" });
export type WorkerConsole = z.infer<typeof WorkerConsole>;
