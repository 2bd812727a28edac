// What `why` answers: the reason for a state, and what happens next.
import { z } from "zod";
import { InstantText } from "./common.ts";

/** Codes of what can happen next to a run or worker (explained in `docs/operating.md`). */
export const NEXT_CODES = [
  "nothing",
  "place",
  "ask",
  "give_up",
  "confirm",
  "stop_task",
  "start_task",
  "stop_run",
  "end",
  "release",
  "reschedule",
  "lose_runs",
  "create",
  "boot",
  "propose_stop",
  "stay",
  "destroy",
] as const;
export type NextCode = (typeof NEXT_CODES)[number];

/** Whom a run or worker can wait for. */
export const AWAITED = ["pool", "worker", "host", "provider", "command", "operator"] as const;

/** What happens next. */
export const Next = z
  .object({
    action: z.string(),
    at: InstantText.nullable().describe(
      "when Drover does it by itself, unless something happens first; null: it waits for `waitsFor`",
    ),
    code: z.enum(NEXT_CODES).optional().describe("the action, for programs"),
    waitsFor: z.enum(AWAITED).nullable().optional().describe("who can change it sooner; null: nobody"),
  })
  .meta({ id: "Next" });

/** Why a run or worker waits, and when Drover acts next (invariant 5). */
export const Why = z
  .object({
    state: z.string(),
    reason: z
      .object({ code: z.string(), text: z.string() })
      .catchall(z.union([z.number(), z.string(), z.boolean(), z.array(z.string())])),
    next: Next,
    chain: z.array(z.object({ what: z.string(), state: z.string(), text: z.string() })),
  })
  .meta({ id: "Why" });
export type Why = z.infer<typeof Why>;
