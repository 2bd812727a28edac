// What does an allocation do with each message, and what does it answer (messages.md#inboxes)?
import type { Inbox } from "../inbox.ts";
import { foldEnded } from "./end.ts";
import { answerForget, foldForget } from "./forget.ts";
import { foldObserved } from "./placements/observe.ts";
import { answerObserved } from "./placements/orders.ts";
import { foldPlace } from "./placements/placed.ts";
import type { AllocationState } from "./state.ts";
import { answerPlace } from "./summary.ts";
import { foldEndRun } from "./user/abort.ts";

/** The allocation's inbox. */
export const allocationInbox: Inbox<"allocation", AllocationState> = {
  place: { fold: foldPlace, answer: answerPlace },
  poke_run: {
    fold: (state) => ({ ...state, memo: { ...state.memo, poolHas: 0, workerHas: "" } }),
    answer: answerPlace,
  },
  end_run: { fold: foldEndRun, answer: answerPlace },
  forget: { fold: foldForget, answer: answerForget },
  observed: { fold: foldObserved, answer: answerObserved },
  ended: {
    fold: foldEnded,
    answer: ({ record }) => ({ kind: record === null ? "no_such" : "noted" }),
  },
};
