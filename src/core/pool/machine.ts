import { durationMs } from "../duration.ts";

import { type Envelope, earliest, type Instant, type Machine } from "../machine.ts";
import type {
  Configure,
  Forget,
  ForgetAnswer,
  Intent,
  ListAnswer,
  Place,
  PlaceAnswer,
  RunUpsert,
  Sighting,
  WorkerAnswer,
  WorkerUpsert,
} from "../messages.ts";
import { dueForgets, foldForgotten, foldUnwanted, lookForExpired } from "./forget.ts";
import { foldInvite } from "./invite.ts";
import { plan, queueOf } from "./plan.ts";
import { foldPlaceAnswer, foldRun, isTold, openEpoch, tell } from "./runs.ts";
import { type Configured, isOpen, type PoolState, providedWorkers, runKey } from "./state.ts";
import { askForWorker, foldListing, foldWorker, foldWorkerAnswer, intentOf, POOL_TAG } from "./workers.ts";

export type PoolEvent =
  | { type: "tick" }
  | { type: "configure"; configure: Configure }
  | { type: "run"; upsert: RunUpsert }
  | { type: "worker"; upsert: WorkerUpsert }
  /** A machine of one's own may join as this worker, until then. */
  | { type: "invite"; worker: string; notAfter: Instant }
  /** Somebody wants an ended run deleted. */
  | { type: "unwanted"; forget: Forget }
  | { type: "forget_answered"; key: string; answer: ForgetAnswer }
  | { type: "place_answered"; key: string; poked: boolean; answer: PlaceAnswer }
  | { type: "worker_answered"; worker: string; poked: boolean; answer: WorkerAnswer }
  | { type: "listed"; answer: ListAnswer };

export type PoolMessage = Envelope &
  (
    | { kind: "place"; key: string; body: Place }
    | { kind: "poke_run"; key: string }
    | { kind: "forget"; key: string; body: Forget }
    | { kind: "poke_worker" }
    | { kind: "create"; body: Intent }
    | { kind: "sighting"; body: Sighting }
    | { kind: "list"; tag: string }
  );

/** What a pool decides: who is placed where, and which machines are wanted (`architecture.md` §2 to §5). */
export const poolMachine: Machine<PoolState, PoolEvent, PoolMessage> = {
  apply(before, event, now) {
    const state = fold(before, event, now);
    if (state.record === null) return state;
    const looked = lookForExpired({ ...state, record: state.record }, now);
    return decide(looked, event, now);
  },

  due(state, now) {
    if (state.record === null) return [];
    const configured: Configured = { ...state, record: state.record };
    return [
      ...runMessages(configured, now),
      ...forgetMessages(configured),
      ...workerMessages(configured, now),
      ...sweepDue(configured, now),
    ];
  },

  wakeAt(state) {
    if (state.record === null) return undefined;
    const configured: Configured = { ...state, record: state.record };
    return earliest(state.memo.lookAt, sweepAt(configured), holdEndsAt(configured), pauseEndsAt(configured));
  },
};

/** When machines may be asked for again, if any are wanted, and if that is still to come. */
function holdEndsAt(state: Configured): Instant | undefined {
  const { hold, config } = state.record;
  if (hold === null || hold.until <= state.memo.decidedAt) return undefined;
  const missing = [...providedWorkers(state)].length < config.minInstances;
  return missing || queueOf(state).length > 0 ? hold.until : undefined;
}

/** When a worker that had refused a run gets the next one, if any waits. */
function pauseEndsAt(state: Configured): Instant | undefined {
  if (queueOf(state).length === 0) return undefined;
  const ends = [...state.workers.live()].map((row) => row.pausedUntil);
  return earliest(...ends.filter((at) => at > state.memo.decidedAt));
}

function fold(state: PoolState, event: PoolEvent, now: Instant): PoolState {
  if (event.type === "configure") return foldConfigure(state, event.configure);
  if (state.record === null) return state;
  const configured: Configured = { ...state, record: state.record };
  switch (event.type) {
    case "tick":
      return state;
    case "run":
      return foldRun(state, event.upsert, now);
    case "worker":
      return foldWorker(configured, event.upsert, now);
    case "invite":
      return foldInvite(configured, event.worker, event.notAfter, now);
    case "unwanted":
      return foldUnwanted(state, event.forget, now);
    case "forget_answered":
      return foldForgotten(state, event.key, event.answer);
    case "place_answered":
      if (event.poked) state.memo.pokedAt.set(event.key, now);
      return foldPlaceAnswer(state, event.key, event.answer, now);
    case "worker_answered":
      if (event.poked) state.memo.pokedAt.set(event.worker, now);
      return foldWorkerAnswer(configured, event.worker, event.answer, now);
    case "listed":
      return foldListing(configured, event.answer, now);
  }
}

/** Takes a configuration, unless it would lose sight of machines that the present provider has. */
function foldConfigure(state: PoolState, configure: Configure): PoolState {
  const { record } = state;
  const { pool, revision, config, seed } = configure;
  if (record === null) {
    return { ...state, record: { name: pool, revision, config, seed, nextWorker: 1, hold: null } };
  }
  if (revision <= record.revision) return state;
  const moved =
    record.config.provider.kind !== config.provider.kind ||
    record.config.provider.url !== config.provider.url;
  const hasWorkers = !providedWorkers(state).next().done;
  if (moved && hasWorkers) return { ...state, memo: { ...state.memo, refusedRevision: revision } };
  const memo = { ...state.memo, lookAt: undefined };
  return { ...state, memo, record: { ...record, revision, config, hold: null } };
}

/**
 * Applies the plan. The answer to the run whose upsert brought it about tells it its place: that needs no
 * message.
 */
function decide(state: Configured, event: PoolEvent, now: Instant): PoolState {
  if (nothingNew(state, now)) return state;
  const { places, creates } = plan(state, now);
  let next: Configured = state;
  for (const { run, worker } of places) openEpoch(next, run, worker, now);
  for (const type of creates) next = askForWorker(next, type, now);
  next = { ...next, memo: { ...next.memo, decidedAt: now, decidedFrom: basisOf(next) } };
  if (event.type !== "run") return next;
  const row = next.runs.get(runKey(event.upsert.submittedAt, event.upsert.run));
  if (row !== undefined) tell(next, row);
  return next;
}

/**
 * Whether the plan would be the same as before: no row and no setting has changed, and no hold-off has ended.
 */
function nothingNew(state: Configured, now: Instant): boolean {
  if (state.memo.decidedFrom !== basisOf(state)) return false;
  const { decidedAt } = state.memo;
  const ended = (at: Instant) => at > decidedAt && at <= now;
  if (state.record.hold !== null && ended(state.record.hold.until)) return false;
  for (const row of state.workers.live()) if (ended(row.stopUntil) || ended(row.pausedUntil)) return false;
  return true;
}

/** What a plan is made from. */
function basisOf({ record, runs, workers }: Configured): string {
  return `${record.revision} ${runs.version} ${workers.version} ${record.hold?.until ?? 0}`;
}

function runMessages(state: Configured, now: Instant): PoolMessage[] {
  const owed: PoolMessage[] = [];
  for (const row of state.runs.live()) {
    const key = runKey(row.submittedAt, row.run);
    if (isOpen(row) && row.worker !== null && !isTold(state, row)) {
      const { run, worker, opened: epoch, version, submittedAt } = row;
      const body: Place = { run, worker, epoch, version, submittedAt };
      owed.push({ to: row.run, kind: "place", repeatedBy: "self", key, body });
    } else if (row.forget !== true && isOverdue(state, key, row.heardAt, now)) {
      owed.push({ to: row.run, kind: "poke_run", repeatedBy: "peer", key });
    }
  }
  return owed;
}

/** If this process dies, what is to be forgotten is found again: no alarm is needed for that. */
function forgetMessages(state: Configured): PoolMessage[] {
  return dueForgets(state).map(({ key, body }) => {
    return {
      to: body.run,
      kind: "forget",
      repeatedBy: state.memo.expired.has(key) ? "peer" : "self",
      key,
      body,
    };
  });
}

function workerMessages(state: Configured, now: Instant): PoolMessage[] {
  const owed: PoolMessage[] = [];
  // Of those that were taken for gone, too: a listing may show that they are not.
  for (const body of Object.values(state.memo.sightings)) {
    owed.push({ to: body.worker, kind: "sighting", repeatedBy: "peer", body });
  }
  for (const row of state.workers.live()) {
    if (row.phase === "asked") {
      owed.push({ to: row.worker, kind: "create", repeatedBy: "self", body: intentOf(state, row) });
    }
    if (isOverdue(state, row.worker, row.heardAt, now)) {
      owed.push({ to: row.worker, kind: "poke_worker", repeatedBy: "peer" });
    }
  }
  return owed;
}

/**
 * Whether nothing has been heard of a row's owner for one lease: its alarm may be lost (`architecture.md`
 * §3).
 */
function isOverdue(state: Configured, key: string, heardAt: Instant, now: Instant): boolean {
  const latest = Math.max(heardAt, state.memo.pokedAt.get(key) ?? 0);
  return now >= latest + durationMs(state.record.config.timeouts.lease);
}

/** How often the provider is asked what exists while nothing should (`architecture.md` §3). */
const SWEEP_EMPTY_MS = 3_600_000;

/** When the provider is to be asked next what exists. Sooner while a machine is to disappear. */
function sweepAt(state: Configured): Instant | undefined {
  const { config } = state.record;
  let interval: number | undefined;
  for (const row of providedWorkers(state)) {
    if (row.phase === "asked") continue;
    const ending = row.phase === "shutdown";
    const wanted = durationMs(ending ? config.timeouts.shutdown : config.sync.interval);
    interval = Math.min(interval ?? wanted, wanted);
  }
  return interval === undefined ? undefined : (state.memo.sweptAt ?? 0) + interval;
}

function sweepDue(state: Configured, now: Instant): PoolMessage[] {
  // While nothing lives no alarm is armed for it: the cron trigger's poke, or whoever else comes, brings it
  // about.
  const nothing = (state.memo.sweptAt ?? now) + SWEEP_EMPTY_MS;
  if (now < (sweepAt(state) ?? nothing)) return [];
  return [{ to: "provider", kind: "list", repeatedBy: "peer", tag: `${POOL_TAG}:${state.record.name}` }];
}
