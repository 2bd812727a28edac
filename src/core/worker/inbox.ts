import type { Instant } from "../../shared/machine.ts";
import type { Inbox } from "../inbox.ts";
import type { WorkerAnswer } from "../messages.ts";
import { foldDrain } from "./life/behavior.ts";
import { foldTurn } from "./life/calls.ts";
import { foldCreate } from "./life/create.ts";
import { foldSighting } from "./life/deadlines.ts";
import { foldKill } from "./life/kill.ts";
import { answerOrder, foldOrder } from "./placements.ts";
import { upsertOf } from "./read/summary.ts";
import type { Living, WorkerState } from "./state.ts";

/** What a worker does with each message, and what it answers (messages.md#inboxes). */
export const workerInbox: Inbox<"worker", WorkerState> = {
  create: { fold: foldCreate, answer: answerPool },
  sighting: { fold: ifLiving(foldSighting), answer: answerPool },
  drain_worker: { fold: ifLiving(foldDrain), answer: answerPool },
  make_room: {
    fold: ifLiving((state, _body, makeRoomAt) => ({ ...state, memo: { ...state.memo, makeRoomAt } })),
    answer: answerPool,
  },
  turn: { fold: ifLiving(foldTurn), answer: answerPool },
  kill_worker: {
    fold: ifLiving((state, { reason, by }, now) => foldKill(state, { reason, by, force: true }, now)),
    answer: answerPool,
  },
  poke_worker: {
    fold: ifLiving((state) => ({ ...state, memo: { ...state.memo, poolHas: "", heard: {} } })),
    answer: answerPool,
  },
  order: { fold: ifLiving(foldOrder), answer: answerOrder },
};

/** Nothing changes in a worker that does not exist. */
function ifLiving<Body>(fold: (state: Living, body: Body, now: Instant) => WorkerState) {
  return (state: WorkerState, body: Body, now: Instant) =>
    state.record === null ? state : fold({ ...state, record: state.record }, body, now);
}

/** The worker as it is now. */
function answerPool(state: WorkerState, _body: unknown, now: Instant): WorkerAnswer {
  if (state.record === null) return { kind: "no_such" };
  return { kind: "worker", worker: upsertOf({ ...state, record: state.record }, now) };
}
