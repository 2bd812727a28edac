// What does a pool decide: which run is placed on which worker, and which machines are needed (rules.md)?
import { tagOfPool } from "../../shared/cloud/tags.ts";
import { durationMs } from "../../shared/duration.ts";
import { type Envelope, earliest, type Instant, type Machine, type Millis } from "../../shared/machine.ts";

import { type ExportAnswered, type ExportMessage, exportDue, foldExported } from "../audit/export.ts";
import type { Caused } from "../audit/via.ts";
import { type Answered, foldMessage, isMessage, type Kind, type Letter, type Message } from "../inbox.ts";
import type { Place, RunRef } from "../messages.ts";
import type { PricedType } from "../provider-answers.ts";
import { SELF_HOSTED } from "../worker/read/status.ts";
import { arrayNews, arraysToEnd } from "./arrays/array-ends.ts";
import { poolInvariants } from "./check.ts";
import { noteTurns } from "./concurrency/round-robin.ts";
import { runsToEnd, workersToDrain, workersToKill } from "./forced.ts";
import { poolInbox } from "./inbox.ts";
import { looked } from "./past/hours.ts";
import type { Plan } from "./plan/pass.ts";
import { keptInstances, plan, planOneMore } from "./plan/plan.ts";
import { pricedTypes } from "./plan/prices.ts";
import { workerToReplace } from "./plan/replace.ts";
import { changesAt, patienceEndsAt } from "./plan/times.ts";
import { typeNamed } from "./plan/types.ts";
import { withdrawUnusable, withdrawUnwanted, workersToGiveUp } from "./plan/withdraw.ts";
import { workersOutOfUse } from "./projects.ts";
import { isSweepDue, sweepAt } from "./provider/listings.ts";
import { foldListing, type Listing } from "./provider/sweep.ts";
import { freeAt, giveTurns, turnsAt } from "./provider/turns.ts";
import { hasTurn, isUnheard, runKey, type WorkerRow } from "./record.ts";
import { logWakesAt, trimLog } from "./rows/deleted-log.ts";
import { foldNewsAnswer, newsAt, newsOwed } from "./rows/followers.ts";
import { dueForgets, foldUnwanted, lookForExpired } from "./rows/forget.ts";
import { askForWorker, foldInvite, intentOf, nextWorkerName } from "./rows/new-workers.ts";
import { replacedToEnd } from "./rows/replaced.ts";
import { acknowledge, foldRunAnswer, openEpoch, type RunAnswered, termsOn } from "./rows/runs.ts";
import { foldWorkerAnswer, type WorkerAnswered } from "./rows/workers.ts";
import {
  type Configured,
  hasLiveRuns,
  type PoolState,
  type ReadonlyConfigured,
  type ReadonlyPool,
} from "./state.ts";

/** What can happen to a pool. */
export type PoolEvent =
  | { type: "tick" }
  /** The cron trigger comes by: it is time to look at the pool, if there is anything to see. */
  | { type: "look" }
  /** A self-hosted machine may enroll as this worker for `ttlMs`. */
  | ({ type: "invite"; worker: string; ttlMs: Millis; by: string } & Caused)
  /** A user deletes an ended run. */
  | ({ type: "unwanted"; run: RunRef; by: string } & Caused)
  /** A listing was answered. */
  | ({ type: "listed" } & Listing)
  | ExportAnswered
  | Message<"pool">
  | RunAnswered
  | WorkerAnswered
  | Answered<"webhook", "news">;

export type PoolMessage =
  | Letter<"allocation", "place" | "poke_run" | "end_run" | "array_ended" | "forget">
  | Letter<"worker", Exclude<Kind<"worker">, "order">>
  | Letter<"webhook", "news">
  | ExportMessage
  | (Envelope & { kind: "list"; tag: string; known: KnownRow[]; priced: PricedType[] });

/** The state machine of a pool. */
export const poolMachine: Machine<PoolState, PoolEvent, PoolMessage> = {
  name: "pool",
  invariants: poolInvariants,

  apply(before, event, now) {
    const state = fold(before, event, now);
    if (state.record === null) return state;
    const configured: Configured = { ...state, record: state.record };
    withdrawUnusable(configured, now);
    trimLog(configured, now);
    const decided = decideTwice(lookForExpired(configured, now), now);
    giveTurns(decided, now);
    acknowledgeSender(decided, event);
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
      ...newsOwed(configured, now),
      ...exportDue(configured.record.exported, now),
    ];
  },

  wakeAt(state: ReadonlyPool) {
    if (state.record === null) return undefined;
    const configured: ReadonlyConfigured = { ...state, record: state.record };
    const sweep = sweepAt(configured);
    return earliest(
      state.memo.lookAt,
      sweep === undefined ? undefined : Math.max(sweep, freeAt(configured)),
      holdEndsAt(configured),
      pauseEndsAt(configured),
      patienceEndsAt(configured.record.config, state.memo.index.queue, state.memo.decidedAt),
      turnsAt(configured),
      newsAt(configured),
      logWakesAt(configured),
    );
  },
};

/** When the next hold-off ends, if a machine is needed. */
function holdEndsAt(state: ReadonlyConfigured): Instant | undefined {
  const { holds, config } = state.record;
  const { decidedAt, index } = state.memo;
  const ends = earliest(...holds.flatMap(({ until }) => (until !== null && until > decidedAt ? until : [])));
  if (ends === undefined) return undefined;
  const missing = keptInstances(state, decidedAt) < config.minInstances;
  return missing || index.queue.length > 0 ? ends : undefined;
}

/** When a paused worker may get a run again, if a run waits. */
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
    case "look":
      return looked(configured, now);
    case "invite":
      return foldInvite(configured, event, now);
    case "unwanted":
      return foldUnwanted(configured, event, now);
    case "audit_exported": {
      const exported = foldExported(state.record.exported, event) ?? state.record.exported;
      state.audit.noteExported(exported);
      state.audit.trim(now);
      return { ...state, record: { ...state.record, exported } };
    }
    case "listed":
      return looked(foldListing(configured, event, now), now);
    case "forget_answered":
    case "array_ended_answered":
    case "end_run_answered":
    case "place_answered":
    case "poke_run_answered":
      return foldRunAnswer(state, event, now);
    case "news_answered":
      return foldNewsAnswer(configured, event, now);
    default:
      return foldWorkerAnswer(configured, event, now);
  }
}

/** Makes and applies a plan. If permits are then unneeded, withdraws these permits and plans again. */
function decideTwice(state: Configured, now: Instant): Configured {
  const decided = decide(state, now);
  return withdrawUnwanted(decided, now) ? decide(decided, now) : decided;
}

/** Makes and applies a plan, unless it would equal the latest plan. */
function decide(state: Configured, now: Instant): Configured {
  const decided = nextPlan(state, now);
  if (decided === undefined) return state;
  const { places, creates, pass } = decided;
  let next: Configured = state;
  const isForced = state.record.forced !== undefined;
  for (const { run, worker } of isForced ? [] : places) openEpoch(next, run, worker, now);
  noteTurns(next, isForced ? [] : places, now);
  for (const offer of isForced ? [] : creates) {
    pass.awaited.add(nextWorkerName(next.record));
    next = askForWorker(next, offer, now);
  }
  next.memo.index.settle();
  next.memo.latest.pass = pass;
  return { ...next, memo: { ...next.memo, decidedAt: now, decidedFrom: basisOf(next) } };
}

/** The answer to a run's message contains the run's placement, so no further message is needed. */
function acknowledgeSender(state: Configured, event: PoolEvent): void {
  if (event.type !== "run") return;
  const row = state.runs.get(runKey(event.body.submittedAt, event.body.run));
  if (row !== undefined) acknowledge(state, row);
}

/**
 * The next plan, or only what it adds to the latest plan. Undefined: the next plan would equal the latest
 * plan.
 */
function nextPlan(state: Configured, now: Instant): Plan | undefined {
  const { index, decidedAt, decidedFrom } = state.memo;
  const { pass } = state.memo.latest;
  const lasts = now < (changesAt(state, decidedAt) ?? Number.POSITIVE_INFINITY);
  const same = pass !== null && lasts && decidedFrom === basisOf(state);
  if (!same || index.arrivals === undefined) return plan(state, now);
  const [first, ...others] = index.arrivals;
  if (first === undefined) return undefined;
  return (others.length === 0 ? planOneMore(pass, first) : undefined) ?? plan(state, now);
}

/** What a plan depends on besides the runs. The index tracks changes of runs. */
function basisOf({ record, workers }: ReadonlyConfigured): string {
  const prices = record.prices?.map(({ price }) => price) ?? [];
  return `${record.revision} ${workers.version} ${record.holds.map(({ until }) => until)} ${prices}`;
}

function runMessages(state: ReadonlyConfigured, now: Instant): PoolMessage[] {
  const { memo, record, runs } = state;
  const owed: PoolMessage[] = [];
  const object = "allocation";
  const { unacknowledged, lastHeard } = memo.index;
  for (const row of unacknowledged.values()) {
    const { run, worker, opened: epoch, version, submittedAt } = row;
    if (worker === null) continue;
    const body: Place = { run, worker, epoch, version, submittedAt, ...termsOn(state, row, worker) };
    owed.push({ object, to: run, kind: "place", repeatedBy: "self", body });
  }
  for (const key of lastHeard.silentSince(now - durationMs(record.config.timeouts.lease))) {
    const row = runs.get(key);
    if (row === undefined || row.forget === true || unacknowledged.has(key)) continue;
    const body = { run: row.run, submittedAt: row.submittedAt };
    owed.push({ object, to: row.run, kind: "poke_run", repeatedBy: "peer", body });
  }
  for (const body of [...runsToEnd(state), ...replacedToEnd(state), ...arraysToEnd(state)]) {
    owed.push({ object, to: body.run, kind: "end_run", repeatedBy: "self", body });
  }
  for (const body of arrayNews(state))
    owed.push({ object, to: body.run, kind: "array_ended", repeatedBy: "self", body });
  return owed;
}

function forgetMessages(state: ReadonlyConfigured): PoolMessage[] {
  return dueForgets(state).map(({ key, body }) => {
    // After a crash the pool finds expired runs again, so these messages need no alarm.
    const repeatedBy = state.memo.expired.has(key) ? "peer" : "self";
    return { object: "allocation", to: body.run, kind: "forget", repeatedBy, body };
  });
}

function workerMessages(state: ReadonlyConfigured, now: Instant): PoolMessage[] {
  const owed: PoolMessage[] = [];
  const object = "worker";
  // Sightings are sent even to workers that are marked gone: a listing may show that their machines still
  // exist.
  for (const body of Object.values(state.memo.sightings)) {
    owed.push({ object, to: body.worker, kind: "sighting", repeatedBy: "peer", body });
  }
  for (const row of state.workers.derive(intentsDue)) {
    owed.push({ object, to: row.worker, kind: "create", repeatedBy: "self", body: intentOf(state, row) });
  }
  for (const { worker, version } of state.workers.derive(turnsDue)) {
    owed.push({ object, to: worker, kind: "turn", repeatedBy: "self", body: { worker, version } });
  }
  const evicted = workerToEvict(state, now);
  if (evicted !== undefined)
    owed.push({ object, to: evicted, kind: "make_room", repeatedBy: "self", body: { worker: evicted } });
  const { leaving, config } = state.record;
  const isDone = leaving === true && !hasLiveRuns(state);
  const drained = new Set([...workersToDrain(state), ...workersToGiveUp(state)]);
  for (const [type, workers] of state.workers.derive(activeByType)) {
    if (!isDone && (type === SELF_HOSTED || typeNamed(config, type) !== undefined)) continue;
    for (const worker of workers) drained.add(worker);
  }
  const byProject = state.workers.derive(activeByProject);
  for (const worker of workersOutOfUse(config, byProject)) drained.add(worker);
  const replaced = workerToReplace(state);
  if (replaced !== undefined) drained.add(replaced);
  for (const worker of drained)
    owed.push({ object, to: worker, kind: "drain_worker", repeatedBy: "self", body: { worker } });
  for (const body of workersToKill(state))
    owed.push({ object, to: body.worker, kind: "kill_worker", repeatedBy: "self", body });
  // The alarms of workers that have been silent for one lease may be lost (messages.md#self-repair).
  const since = now - durationMs(state.record.config.timeouts.lease);
  for (const worker of state.memo.workersLastHeard.silentSince(since)) {
    // A worker that has never been heard from gets `create` instead. A poke that overtook `create` would be
    // answered with "no such worker", and this answer could arrive after the news that the worker boots.
    const row = state.workers.get(worker);
    if (row === undefined || row.phase === "asked" || isUnheard(row)) continue;
    owed.push({ object, to: worker, kind: "poke_worker", repeatedBy: "peer", body: { worker } });
  }
  return owed;
}

/**
 * The worker that must leave to make room for the first run in the queue. Undefined as long as runs are on
 * this worker.
 */
function workerToEvict({ memo, workers }: ReadonlyConfigured, now: Instant): string | undefined {
  const { worker, evict } = memo.latest.pass?.reserved ?? {};
  const row = worker == null || evict === undefined ? undefined : workers.get(worker);
  const stays = row === undefined || memo.index.placed.has(row.worker) || now < row.stopUntil;
  return stays ? undefined : row.worker;
}

/** Workers to which the pool must still send their intent. A self-hosted worker needs no turn before that. */
function intentsDue(workers: readonly WorkerRow[]): WorkerRow[] {
  return workers.filter((row) => {
    return row.phase === "asked" ? row.kind === "self-hosted" || row.turn !== undefined : isUnheard(row);
  });
}

/** Workers that have been given a turn for a provider call and have not used it. */
function turnsDue(workers: readonly WorkerRow[]): WorkerRow[] {
  return workers.filter((row) => row.waits !== null && hasTurn(row));
}

/** Workers that are not ending, by instance type. The type may no longer be configured. */
function activeByType(workers: readonly WorkerRow[]): Map<string, string[]> {
  return activeBy(workers, (row) => (row.kind === "cloud" ? row.instanceType : SELF_HOSTED));
}

/** Workers that are not ending, by the project in their rows. */
function activeByProject(workers: readonly WorkerRow[]): Map<string | null, string[]> {
  return activeBy(workers, ({ project }) => project);
}

function activeBy<Key>(workers: readonly WorkerRow[], keyOf: (row: WorkerRow) => Key): Map<Key, string[]> {
  const active = new Map<Key, string[]>();
  for (const row of workers) {
    const goesOn = row.phase === "booting" || row.phase === "ready" || row.phase === "unknown";
    if (!goesOn || row.idleBehavior !== "run" || isUnheard(row)) continue;
    const same = active.get(keyOf(row));
    if (same === undefined) active.set(keyOf(row), [row.worker]);
    else same.push(row.worker);
  }
  return active;
}

function sweepDue(state: ReadonlyConfigured, now: Instant): PoolMessage[] {
  if (!isSweepDue(state, now) || now < freeAt(state)) return [];
  const tag = tagOfPool(state.record.name);
  const priced = pricedTypes(state.record.config);
  const known = state.workers.derive(knownRows);
  return [{ to: "provider", kind: "list", repeatedBy: "peer", tag, known, priced }];
}

/** A machine that a listing should show. */
type KnownRow = Pick<WorkerRow, "worker" | "zone"> & { id: string | null };

function knownRows(workers: readonly WorkerRow[]): KnownRow[] {
  return workers.flatMap(({ worker, kind, instance: id, zone }) =>
    kind === "cloud" && id !== null ? [{ worker, id, zone }] : [],
  );
}
