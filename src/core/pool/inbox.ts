// What does a pool do with each message, and what does it answer (messages.md#inboxes)?
import type { Instant } from "../../shared/machine.ts";
import type { Inbox } from "../inbox.ts";
import { answerConfigure, foldConfigure } from "./configure.ts";
import { answerFollow, foldFollow } from "./rows/followers.ts";
import { answerRun, foldRun } from "./rows/runs.ts";
import { answerWorker, foldWorker } from "./rows/workers.ts";
import type { Configured, PoolState } from "./state.ts";

/** The pool's inbox. */
export const poolInbox: Inbox<"pool", PoolState> = {
  configure: { fold: foldConfigure, answer: answerConfigure },
  run: { fold: foldRun, answer: answerRun },
  worker: { fold: ifConfigured(foldWorker), answer: answerWorker },
  follow: { fold: ifConfigured(foldFollow), answer: answerFollow },
};

/** A message to a pool without a configuration changes nothing. */
function ifConfigured<Body>(fold: (state: Configured, body: Body, now: Instant) => PoolState) {
  return (state: PoolState, body: Body, now: Instant) =>
    state.record === null ? state : fold({ ...state, record: state.record }, body, now);
}
