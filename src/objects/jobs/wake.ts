// What does a job do when its alarm fires (jobs.md#held)? The simulator wakes it by the same code.
import type { JobEvent } from "../../core/job/events.ts";
import type { JobMessage } from "../../core/job/machine.ts";
import type { JobState } from "../../core/job/record.ts";
import type { Millis } from "../../shared/machine.ts";
import type { Actor } from "../actor.ts";
import { platformTimer, type Timer, until } from "../waiting.ts";

/** How long the run of a held tick may take to answer. Then its tick is stored as owed. */
const HELD_FOR_MS: Millis = 10_000;

/**
 * Applies `woken` by `wake`, and returns when nothing is held any more. Until then the platform has the
 * alarm: it delivers it again if this process dies (jobs.md#held-1).
 */
export async function wakeJob(
  actor: Actor<JobState, JobEvent, JobMessage>,
  wake: (event: JobEvent) => void,
  timer: Timer = platformTimer,
): Promise<void> {
  wake({ type: "woken" });
  const isHeld = () => actor.state.memo.held !== undefined;
  await until(actor, () => !isHeld() || !actor.busy("submit"), HELD_FOR_MS, timer);
  if (isHeld()) actor.apply({ type: "tick" });
}
