import { durationMs } from "../../shared/duration.ts";
import { type Envelope, earliest, type Instant, type Machine, type Millis } from "../../shared/machine.ts";

import { type Answered, foldMessage, isMessage, type Kind, type Letter, type Message } from "../inbox.ts";
import type { ListAnswer, Place, RunRef } from "../messages.ts";
import { SELF_HOSTED } from "../worker/read/status.ts";
import { foldEndAnswer, runsToEnd, workersToDrain, workersToKill } from "./forced.ts";
import { poolInbox } from "./inbox.ts";

import type { Plan } from "./plan/pass.ts";
import { changesAt, keptInstances, plan, planOneMore } from "./plan/plan.ts";
import { withdrawUnwanted, workersToGiveUp } from "./plan/unwanted.ts";
import { withdrawUntold } from "./plan/withdraw.ts";
import { isSweepDue, sweepAt } from "./provider/listings.ts";
import { foldListing } from "./provider/sweep.ts";
import { freeAt, giveTurns, turnsAt } from "./provider/turns.ts";
import { hasTurn, isUnheard, runKey, type WorkerRow } from "./record.ts";
import { dueForgets, foldForgotten, foldUnwanted, lookForExpired } from "./rows/forget.ts";
import { foldInvite } from "./rows/invite.ts";
import { foldPlaceAnswer, openEpoch, tell, termsOn } from "./rows/runs.ts";
import { askForWorker, foldWorkerAnswer, intentOf, nextWorkerName, POOL_TAG } from "./rows/workers.ts";
import {
  type Configured,
  hasLiveRuns,
  type PoolState,
  type ReadonlyConfigured,
  type ReadonlyPool,
} from "./state.ts";

/** What pools say to runs, to workers, and to nobody else. */
type ToRun = "place" | "poke_run" | "end_run" | "forget";
type ToWorker = Exclude<Kind<"worker">, "order">;

export type PoolEvent =
  | { type: "tick" }
  /** A self-hosted machine may join as this worker, for so long. */
  | { type: "invite"; worker: string; ttlMs: Millis }
  /** Somebody wants an ended run deleted. */
  | { type: "unwanted"; run: RunRef }
  /** `consistencyMs`: what was called for shortly before the listing began may be missing in it. */
  | { type: "listed"; answer: ListAnswer; consistencyMs: Millis }
  | Message<"pool">
  | Answered<"allocation", ToRun>
  | Answered<"worker", ToWorker>;

export type PoolMessage =
  | Letter<"allocation", ToRun>
  | Letter<"worker", ToWorker>
  | (Envelope & { kind: "list"; tag: string });

/** What a pool decides: who is placed where, and which machines are wanted (rules.md). */
export const poolMachine: Machine<PoolState, PoolEvent, PoolMessage> = {
  apply(before, event, now) {
    const state = fold(before, event, now);
    if (state.record === null) return state;
    const configured: Configured = { ...state, record: state.record };
    withdrawUntold(configured, now);
    const decided = decideTwice(lookForExpired(configured, now), now);
    giveTurns(decided, now);
    tellAsker(decided, event);
    const tally = decided.memo.counting.owed(now);
    return tally === undefined ? decided : { ...decided, record: { ...decided.record, tally } };
  },

  due(state: ReadonlyPool, now) {
    if (state.record === null) return [];
    const configured: ReadonlyConfigured = { ...state, record: state.record };
    return [
      ...runMessages(configured, now),
      ...forgetMessages(configured),
      ...workerMessages(configured, now),
      ...sweepDue(configured, now),
    ];
  },

  wakeAt(state: ReadonlyPool) {
    if (state.record === null) return undefined;
    const configured: ReadonlyConfigured = { ...state, record: state.record };
    return earliest(
      state.memo.lookAt,
      latest(sweepAt(configured), freeAt(configured)),
      holdEndsAt(configured),
      pauseEndsAt(configured),
      turnsAt(configured),
    );
  },
};

/** When machines may be asked for again, if any are wanted, and if that is still to come. */
function holdEndsAt(state: ReadonlyConfigured): Instant | undefined {
  const { holds, config } = state.record;
  const { decidedAt, index } = state.memo;
  const ends = earliest(...holds.map((hold) => stillToCome(state, hold.until)));
  if (ends === undefined) return undefined;
  const missing = keptInstances(state, decidedAt) < config.minInstances;
  return missing || index.queue.length > 0 ? ends : undefined;
}

function latest(at: Instant | undefined, other: Instant): Instant | undefined {
  return at === undefined ? undefined : Math.max(at, other);
}

/** A moment that the latest decision has not seen pass. */
function stillToCome({ memo }: ReadonlyConfigured, at: Instant | null): Instant | undefined {
  return at !== null && at > memo.decidedAt ? at : undefined;
}

/** When a worker that had refused a run gets the next one, if any waits. */
function pauseEndsAt({ memo, workers }: ReadonlyConfigured): Instant | undefined {
  if (memo.index.queue.length === 0) return undefined;
  return earliest(...workers.derive(pausesOf).filter((at) => at > memo.decidedAt));
}

function pausesOf(workers: Iterable<WorkerRow>): Instant[] {
  const pauses: Instant[] = [];
  for (const { pausedUntil } of workers) if (pausedUntil > 0) pauses.push(pausedUntil);
  return pauses;
}

function fold(state: PoolState, event: PoolEvent, now: Instant): PoolState {
  if (isMessage(poolInbox, event)) return foldMessage(poolInbox, state, event, now);
  if (state.record === null) return state;
  const configured: Configured = { ...state, record: state.record };
  switch (event.type) {
    case "tick":
      return state;
    case "invite":
      return foldInvite(configured, event.worker, event.ttlMs, now);
    case "unwanted":
      return foldUnwanted(state, event.run, now);
    case "listed":
      return foldListing(configured, event.answer, event.consistencyMs, now);
    case "forget_answered":
      return foldForgotten(state, event.sent, event.answer, now);
    case "end_run_answered":
      return foldEndAnswer(state, event.sent, event.answer, now);
    case "place_answered":
      return foldPlaceAnswer(state, event.sent, event.answer, now);
    case "poke_run_answered":
      state.memo.index.heard.note(runKey(event.sent.submittedAt, event.sent.run), now);
      return foldPlaceAnswer(state, event.sent, event.answer, now);
    case "poke_worker_answered":
      state.memo.heardWorkers.note(event.sent.worker, now);
      return foldWorkerAnswer(configured, event.sent.worker, event.answer, now);
    default:
      return foldWorkerAnswer(configured, event.sent.worker, event.answer, now);
  }
}

/** Decides, and decides again if that leaves permits which nothing needs: what they kept is free then. */
function decideTwice(state: Configured, now: Instant): Configured {
  const decided = decide(state, now);
  return withdrawUnwanted(decided, now) ? decide(decided, now) : decided;
}

/** Applies the plan. */
function decide(state: Configured, now: Instant): Configured {
  const decided = whatIsNew(state, now);
  if (decided === undefined) return state;
  const { places, creates, pass } = decided;
  let next: Configured = state;
  const isForced = state.record.forced !== undefined;
  for (const { run, worker } of isForced ? [] : places) openEpoch(next, run, worker, now);
  for (const type of isForced ? [] : creates) {
    pass.awaited.add(nextWorkerName(next.record));
    next = askForWorker(next, type, now);
  }
  next.memo.index.settle();
  next.memo.latest.pass = pass;
  return { ...next, memo: { ...next.memo, decidedAt: now, decidedFrom: basisOf(next) } };
}

/** The answer to the run that an event is about tells it its place: that needs no message. */
function tellAsker(state: Configured, event: PoolEvent): void {
  if (event.type !== "run") return;
  const row = state.runs.get(runKey(event.body.submittedAt, event.body.run));
  if (row !== undefined) tell(state, row);
}

/** The plan, as far as it is not what the latest one was; undefined, if it must be the same. */
function whatIsNew(state: Configured, now: Instant): Plan | undefined {
  const { index, decidedAt, decidedFrom } = state.memo;
  const { pass } = state.memo.latest;
  const lasts = now < (changesAt(state, decidedAt) ?? Number.POSITIVE_INFINITY);
  const same = pass !== null && lasts && decidedFrom === basisOf(state);
  if (!same || index.arrivals === undefined) return plan(state, now);
  const [first, ...others] = index.arrivals;
  if (first === undefined) return undefined;
  return (others.length === 0 ? planOneMore(pass, first) : undefined) ?? plan(state, now);
}

/** What a plan is made from besides the runs, whose changes the index knows. */
function basisOf({ record, workers }: ReadonlyConfigured): string {
  return `${record.revision} ${workers.version} ${record.holds.map(({ until }) => until)}`;
}

function runMessages(state: ReadonlyConfigured, now: Instant): PoolMessage[] {
  const { memo, record, runs } = state;
  const owed: PoolMessage[] = [];
  const object = "allocation";
  const { untold, heard } = memo.index;
  for (const row of untold.values()) {
    const { run, worker, opened: epoch, version, submittedAt } = row;
    if (worker === null) continue;
    const body: Place = { run, worker, epoch, version, submittedAt, ...termsOn(state, row, worker) };
    owed.push({ object, to: run, kind: "place", repeatedBy: "self", body });
  }
  for (const key of heard.silentSince(now - durationMs(record.config.timeouts.lease))) {
    const row = runs.get(key);
    if (row === undefined || row.forget === true || untold.has(key)) continue;
    const body = { run: row.run, submittedAt: row.submittedAt };
    owed.push({ object, to: row.run, kind: "poke_run", repeatedBy: "peer", body });
  }
  for (const body of runsToEnd(state)) {
    owed.push({ object, to: body.run, kind: "end_run", repeatedBy: "self", body });
  }
  return owed;
}

/** If this process dies, what is to be forgotten is found again: no alarm is needed for that. */
function forgetMessages(state: ReadonlyConfigured): PoolMessage[] {
  return dueForgets(state).map(({ key, body }) => {
    const repeatedBy = state.memo.expired.has(key) ? "peer" : "self";
    return { object: "allocation", to: body.run, kind: "forget", repeatedBy, body };
  });
}

function workerMessages(state: ReadonlyConfigured, now: Instant): PoolMessage[] {
  const owed: PoolMessage[] = [];
  const object = "worker";
  // Of those that were taken for gone, too: a listing may show that they are not.
  for (const body of Object.values(state.memo.sightings)) {
    owed.push({ object, to: body.worker, kind: "sighting", repeatedBy: "peer", body });
  }
  for (const row of state.workers.derive(toldToBe)) {
    owed.push({ object, to: row.worker, kind: "create", repeatedBy: "self", body: intentOf(state, row) });
  }
  for (const { worker, version } of state.workers.derive(toldToCall)) {
    owed.push({ object, to: worker, kind: "turn", repeatedBy: "self", body: { worker, version } });
  }
  const leaver = leaverOf(state, now);
  if (leaver !== undefined)
    owed.push({ object, to: leaver, kind: "make_room", repeatedBy: "self", body: { worker: leaver } });
  const { leaving, config } = state.record;
  const isDone = leaving === true && !hasLiveRuns(state);
  const drained = new Set([...workersToDrain(state), ...workersToGiveUp(state)]);
  for (const [type, workers] of state.workers.derive(goingOnByType)) {
    if (!isDone && (type === SELF_HOSTED || Object.hasOwn(config.instanceTypes, type))) continue;
    for (const worker of workers) drained.add(worker);
  }
  for (const worker of drained)
    owed.push({ object, to: worker, kind: "drain_worker", repeatedBy: "self", body: { worker } });
  for (const body of workersToKill(state))
    owed.push({ object, to: body.worker, kind: "kill_worker", repeatedBy: "self", body });
  // Of these nothing has been heard for one lease: their alarm may be lost (messages.md#self-repair).
  const since = now - durationMs(state.record.config.timeouts.lease);
  for (const worker of state.memo.heardWorkers.silentSince(since)) {
    // One that has never been heard of is told to be created. A poke that overtakes that order is answered
    // that there is no such worker, and the answer may come after the word that it is booting.
    const row = state.workers.get(worker);
    if (row === undefined || row.phase === "asked" || isUnheard(row)) continue;
    owed.push({ object, to: worker, kind: "poke_worker", repeatedBy: "peer", body: { worker } });
  }
  return owed;
}

/** The worker that stands in the way of the first run in the queue, if nothing is on it any more. */
function leaverOf({ memo, workers }: ReadonlyConfigured, now: Instant): string | undefined {
  const { worker, leaves } = memo.latest.pass?.reserved ?? {};
  const row = worker == null || leaves === undefined ? undefined : workers.get(worker);
  const stays = row === undefined || memo.index.placed.has(row.worker) || now < row.stopUntil;
  return stays ? undefined : row.worker;
}

/** Those that do not know of themselves yet. No provider is asked for a self-hosted machine. */
function toldToBe(workers: readonly WorkerRow[]): WorkerRow[] {
  return workers.filter((row) => {
    return row.phase === "asked" ? row.kind === "self-hosted" || row.turn !== undefined : isUnheard(row);
  });
}

/** Those whose turn it is to call the provider, and that have not taken it. */
function toldToCall(workers: readonly WorkerRow[]): WorkerRow[] {
  return workers.filter((row) => row.waits !== undefined && hasTurn(row));
}

/** By instance type, which may be configured no more: the workers that go on as if it were. */
function goingOnByType(workers: readonly WorkerRow[]): Map<string, string[]> {
  const byType = new Map<string, string[]>();
  for (const row of workers) {
    const goesOn = row.phase === "booting" || row.phase === "ready" || row.phase === "unknown";
    if (!goesOn || row.idleBehavior !== "run" || isUnheard(row)) continue;
    const type = row.kind === "cloud" ? row.instanceType : SELF_HOSTED;
    const same = byType.get(type);
    if (same === undefined) byType.set(type, [row.worker]);
    else same.push(row.worker);
  }
  return byType;
}

function sweepDue(state: ReadonlyConfigured, now: Instant): PoolMessage[] {
  if (!isSweepDue(state, now) || now < freeAt(state)) return [];
  return [{ to: "provider", kind: "list", repeatedBy: "peer", tag: `${POOL_TAG}:${state.record.name}` }];
}
