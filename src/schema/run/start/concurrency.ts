// How many runs with the same concurrency key run at once, and what becomes of one too many?
import { z } from "zod";
import {
  CONCURRENCY_STRATEGIES,
  MAX_CONCURRENCY_KEY_CHARS,
  MAX_CONCURRENCY_LIMIT,
  MAX_CONCURRENCY_QUEUE,
} from "../../../shared/limits.ts";

const KEY_TEXT = `must be a text of 1 to ${MAX_CONCURRENCY_KEY_CHARS} characters`;

/** The concurrency key of a run (pool.md#concurrency-keys). */
export const Concurrency = z
  .strictObject({
    key: z
      .string(KEY_TEXT)
      .min(1, KEY_TEXT)
      .max(MAX_CONCURRENCY_KEY_CHARS, KEY_TEXT)
      .describe("runs of the same project and pool with the same key share its slots"),
    limit: z
      .int()
      .min(1)
      .max(MAX_CONCURRENCY_LIMIT)
      .default(1)
      .describe("the run is placed only while fewer runs than this with its key have a slot"),
    strategy: z
      .enum(CONCURRENCY_STRATEGIES)
      .default("queue")
      .describe(
        "what happens if the key has no slot for the run: it waits (`queue`), and takes turns with runs of " +
          "other keys (`round-robin`), or takes the turn of the one that waits (`queue-one`); the earlier " +
          "runs are ended, and it waits for that (`cancel-running`); or it is refused (`cancel-new`)",
      ),
    queueMax: z
      .int()
      .min(0)
      .max(MAX_CONCURRENCY_QUEUE)
      .optional()
      .describe("the run is refused if, beyond `limit`, so many runs with its key are there already"),
  })
  .refine(({ strategy, queueMax }) => queueMax === undefined || isBounded(strategy), {
    path: ["queueMax"],
    error:
      "is only for the strategies `queue` and `round-robin`: with `cancel-new` none waits, and with the " +
      "others at most as many as they say",
  })
  .meta({
    id: "Concurrency",
    description:
      "how many runs of its project and pool with the same key run at once, and what becomes of one too many",
  });
export type Concurrency = z.output<typeof Concurrency>;

/** Whether any number of runs may wait with the strategy. */
function isBounded(strategy: (typeof CONCURRENCY_STRATEGIES)[number]): boolean {
  return strategy === "queue" || strategy === "round-robin";
}
