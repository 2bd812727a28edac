// What does a worker do with each message, and what does it answer (messages.md#inboxes)?
import type { Instant } from "../../shared/machine.ts";
import type { Inbox } from "../inbox.ts";
import type { WorkerAnswer } from "../messages.ts";
import { foldBehavior } from "./life/behavior.ts";
import { foldTurn } from "./life/calls.ts";
import { foldCreate } from "./life/create.ts";
import { foldKill } from "./life/kill.ts";
import { foldSighting } from "./life/sighting.ts";
import { answerOrder, foldOrder } from "./placements.ts";
import { upsertOf } from "./read/summary.ts";
import type { ExistingWorker, WorkerState } from "./state.ts";

/** Who drains a worker that its pool no longer needs. */
const NEEDLESS = "its pool, which no longer needs such machines";

/** The worker's inbox. Every message but `order` is answered with the worker's present view. */
export const workerInbox: Inbox<"worker", WorkerState> = {
  create: { fold: foldCreate, answer: answerPool },
  sighting: { fold: ifExists(foldSighting), answer: answerPool },
  drain_worker: {
    fold: ifExists((state, _body, now) => foldBehavior(state, "drain", NEEDLESS, now)),
    answer: answerPool,
  },
  make_room: {
    fold: ifExists((state, _body, makeRoomAt) => ({ ...state, memo: { ...state.memo, makeRoomAt } })),
    answer: answerPool,
  },
  turn: { fold: ifExists(foldTurn), answer: answerPool },
  kill_worker: {
    fold: ifExists((state, { reason, by }, now) => foldKill(state, { reason, by, force: true }, now)),
    answer: answerPool,
  },
  poke_worker: {
    fold: ifExists((state) => ({ ...state, memo: { ...state.memo, poolHas: "", acknowledged: {} } })),
    answer: answerPool,
  },
  order: { fold: ifExists(foldOrder), answer: answerOrder },
};

/** A message to a worker that does not exist changes nothing. */
function ifExists<Body>(fold: (state: ExistingWorker, body: Body, now: Instant) => WorkerState) {
  return (state: WorkerState, body: Body, now: Instant) =>
    state.record === null ? state : fold({ ...state, record: state.record }, body, now);
}

function answerPool(state: WorkerState, _body: unknown, now: Instant): WorkerAnswer {
  if (state.record === null) return { kind: "no_such" };
  return { kind: "worker", worker: upsertOf({ ...state, record: state.record }, now) };
}
