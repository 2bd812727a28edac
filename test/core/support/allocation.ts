import { loadedAllocation } from "../../../src/core/allocation/load.ts";
import {
  type AllocationEvent,
  type AllocationMessage,
  allocationMachine,
} from "../../../src/core/allocation/machine.ts";
import { answerObserved } from "../../../src/core/allocation/placements/orders.ts";
import {
  type AllocationRecord,
  type AllocationState,
  openPlacement,
} from "../../../src/core/allocation/state.ts";
import { upsertOf } from "../../../src/core/allocation/summary.ts";
import type { EndedHow, ObservedAnswer, OrderAnswer, PoolAnswer } from "../../../src/core/messages.ts";
import type { AttemptReport } from "../../../src/schema/host.ts";
import { type Exit, RunSpec, type RunSpecInput } from "../../../src/schema/run/run.ts";
import type { Instant } from "../../../src/shared/machine.ts";
import { applied } from "./applied.ts";

/** When the run of every story here is submitted. */
export const T0: Instant = Date.UTC(2026, 10, 21, 8, 30);
export const RUN = "build-17";
/** As messages of the pool name it. */
export const REF = { run: RUN, submittedAt: T0 };
export const FIRST = `${RUN}/main/1.1`;

export type Submitted = AllocationState & { record: AllocationRecord };

export function specOf(more: Partial<RunSpecInput> = {}): RunSpec {
  return RunSpec.parse({ argv: ["make", "test"], ...more });
}

/** Folds events in, all at one moment. */
export function at(state: AllocationState, now: Instant, ...events: AllocationEvent[]): AllocationState {
  return events.reduce((before, event) => applied(allocationMachine, before, event, now), state);
}

/** The same, for a run that exists afterwards. */
export function runAt(state: AllocationState, now: Instant, ...events: AllocationEvent[]): Submitted {
  return existing(at(state, now, ...events));
}

export function existing(state: AllocationState): Submitted {
  if (state.record === null) throw new Error("there is no run");
  return { ...state, record: state.record };
}

/** What is left of an allocation when its object is evicted and loaded again. */
export function reloaded(state: AllocationState): Submitted {
  return existing(loadedAllocation(state.record, false));
}

export const nothing = (): AllocationState => loadedAllocation(null, false);

export function submit(more: Partial<RunSpecInput> = {}): AllocationEvent {
  return {
    type: "submitted",
    id: RUN,
    spec: specOf(more),
    hash: "hash",
    by: "admin",
    project: "default",
    budget: null,
  };
}

export const abort = (reason = "enough"): AllocationEvent => ({ type: "abort", reason, by: "ann" });

/** What the run first reports of itself to its pool. */
const SAID = upsertOf(runAt(nothing(), T0, submit()));

/** The pool's answer to what the run has reported of itself as of `version`. */
export function pool(version: number, answer: PoolAnswer): AllocationEvent {
  return { type: "run_answered", sent: { ...SAID, version }, answer };
}

export function placedOn(worker = "w1", epoch = 1): PoolAnswer {
  return { kind: "placed", worker, epoch };
}

export function place(worker = "w1", epoch = 1, version = 1): AllocationEvent {
  return { type: "place", body: { run: RUN, worker, epoch, version, submittedAt: T0 } };
}

export function observed(
  attempts: AttemptReport[],
  { epoch = 1, worker = "w1", protocol = 0 }: { epoch?: number; worker?: string; protocol?: number } = {},
): AllocationEvent {
  return { type: "observed", body: { run: RUN, epoch, worker, held: true, protocol, attempts } };
}

/** The end of a placement, reported as soon as it happens. */
export function ended(
  how: EndedHow,
  { epoch = 1, worker = "w1", held = true }: { epoch?: number; worker?: string; held?: boolean } = {},
): AllocationEvent {
  const at = Number.POSITIVE_INFINITY;
  return { type: "ended", body: { run: RUN, epoch, worker, how, held, at } };
}

/** The worker's answer to the order that is due. */
export function orderAnswered(state: AllocationState, answer: OrderAnswer, now = T0): AllocationEvent {
  const order = owed(state, now).order;
  if (order === undefined) throw new Error("no order is due");
  return { type: "order_answered", sent: order, answer };
}

/** The current order, as the worker of that placement receives it. */
export function orderNow(state: AllocationState, epoch: number, now: Instant, worker = "w1"): ObservedAnswer {
  return answerObserved(state, { run: RUN, epoch, worker, held: true, protocol: 0, attempts: [] }, now);
}

export const EXIT = { code: 0, signal: null, oomKilled: false, message: "" };

export const running: AttemptReport = { id: FIRST, state: "running", startedAgoMs: 0 };

export function exited(exit: Partial<Exit> = {}): AttemptReport {
  return { id: FIRST, state: "exited", startedAgoMs: 1_000, endedAgoMs: 0, exit: { ...EXIT, ...exit } };
}

/** An exit with log bytes still missing: the run cannot end until they arrive or are given up. */
export const exitedButUnlogged: AttemptReport = {
  ...exited({ code: 3 }),
  log: { stdout: { from: 0, size: 10 } },
};

/** A run that is submitted, and known to its pool. */
export function queued(more: Partial<RunSpecInput> = {}): Submitted {
  return runAt(nothing(), T0, submit(more), pool(1, { kind: "queued" }));
}

/** A run that is submitted and placed on worker w1, which has confirmed the order. */
export function ordered(more: Partial<RunSpecInput> = {}): Submitted {
  const state = runAt(nothing(), T0, submit(more), pool(1, placedOn()));
  return runAt(state, T0, orderAnswered(state, { kind: "accepted", revision: 1 }));
}

/** A run whose command runs on worker w1. */
export function started(more: Partial<RunSpecInput> = {}): Submitted {
  return runAt(ordered(more), T0, observed([running]));
}

/**
 * Delivers everything that is due, and has it answered as its receivers would. An answer may make the next
 * message due, hence the rounds.
 */
export function acknowledged(state: AllocationState, now: Instant): AllocationState {
  const rounds = [1, 2, 3];
  return rounds.reduce((told) => answered(told, now), state);
}

function answered(state: AllocationState, now: Instant): AllocationState {
  const due = allocationMachine.due(state, now);
  return due.reduce((known, message) => at(known, now, answerTo(message, known)), state);
}

function answerTo(message: AllocationMessage, known: AllocationState): AllocationEvent {
  if (message.kind === "clear_logs") return { type: "logs_cleared" };
  if (message.kind === "order") {
    const answer: OrderAnswer = { kind: "accepted", revision: message.body.revision };
    return { type: "order_answered", sent: message.body, answer };
  }
  if (message.kind === "await_end")
    return { type: "await_end_answered", sent: message.body, answer: { kind: "goes_on", tells: true } };
  if (message.kind === "run_ended")
    return { type: "run_ended_answered", sent: message.body, answer: { kind: "noted" } };
  const { version, wants } = message.body;
  const open = openPlacement(known);
  if (open !== null) return pool(version, placedOn(open.worker, open.epoch));
  return pool(version, wants === "place" ? { kind: "queued" } : { kind: "none", version });
}

/** What is due, by kind: there is never more than one message of a kind. */
export function owed(
  state: AllocationState,
  now: Instant,
): {
  run?: Extract<AllocationMessage, { kind: "run" }>["body"];
  order?: Extract<AllocationMessage, { kind: "order" }>["body"];
  await_end?: Extract<AllocationMessage, { kind: "await_end" }>["body"];
  run_ended?: Extract<AllocationMessage, { kind: "run_ended" }>["body"];
  clear_logs?: true;
} {
  const due = allocationMachine.due(state, now);
  return Object.fromEntries(due.map((one) => [one.kind, one.kind === "clear_logs" || one.body]));
}
