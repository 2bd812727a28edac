// What does an allocation do with each message, and what does it answer (messages.md#inboxes)?
import type { Instant } from "../../shared/machine.ts";
import type { Inbox } from "../inbox.ts";
import type { EndedAnswer } from "../messages.ts";
import { foldArrayEnded, foldRunEnded } from "./after/awaiting.ts";
import { answerAwaitEnd, foldAwaitEnd } from "./after/followers.ts";
import { changed, type RunDraft } from "./draft.ts";
import { foldEnded } from "./end.ts";
import { answerForget, foldForget } from "./forget.ts";
import { foldObserved } from "./placements/observe.ts";
import { answerObserved } from "./placements/orders.ts";
import { foldPlace } from "./placements/placed.ts";
import type { AllocationState } from "./state.ts";
import { foldEndRun } from "./stop.ts";
import { answerPlace } from "./summary.ts";

/** The allocation's inbox. */
export const allocationInbox: Inbox<"allocation", AllocationState> = {
  place: { fold: changing(foldPlace), answer: answerPlace },
  poke_run: {
    fold: changing((run) => run.remember({ poolHas: 0, workerHas: "", askEndAt: {} })),
    answer: answerPlace,
  },
  end_run: { fold: changing(foldEndRun), answer: answerPlace },
  forget: { fold: foldForget, answer: answerForget },
  await_end: { fold: foldAwaitEnd, answer: answerAwaitEnd },
  run_ended: { fold: changing(foldRunEnded), answer: answerNoted },
  array_ended: { fold: changing(foldArrayEnded), answer: answerPlace },
  observed: { fold: changing(foldObserved), answer: answerObserved },
  ended: { fold: changing(foldEnded), answer: answerNoted },
};

function answerNoted({ record }: AllocationState): EndedAnswer {
  return { kind: record === null ? "no_such" : "noted" };
}

/** Turns a step that changes the run into the `fold` of a message. */
function changing<Body>(step: (run: RunDraft, body: Body) => void) {
  return (state: AllocationState, body: Body, now: Instant) => changed(state, now, (run) => step(run, body));
}
