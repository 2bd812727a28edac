import type { Instance } from "../../../schema/provider.ts";
import { CONSENT_MS, CREATE_NOT_AFTER_MS, LATE_MACHINE_MS } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";
import type { Intent, WorkerAnswer, WorkerUpsert, WorkerUpsertAnswer } from "../../messages.ts";
import { ownValue } from "../../own-value.ts";
import { learn } from "../plan/learned.ts";
import { plan } from "../plan/plan.ts";
import {
  holdAfterFailure,
  holdsAfterBoot,
  holdsAfterCreate,
  holdsAfterLeaving,
} from "../provider/hold-offs.ts";
import {
  type AnyWorkerRow,
  type CloudRow,
  endingSince,
  isUnheard,
  type PoolRecord,
  providedWorkers,
  settingsOf,
  type WorkerRow,
} from "../record.ts";
import type { Configured, ReadonlyConfigured, ReadonlyPool } from "../state.ts";

/** The tag by which an instance names its worker. */
export const WORKER_TAG = "drover-worker";
/** The tag by which an instance names its pool. */
export const POOL_TAG = "drover-pool";

/** Why a worker is there that nobody has asked for. */
export const ADOPTED = "a listing shows its machine, and nobody knew of it";

/** Gives a permit: the row is written before the worker's own, and that before the call (invariant 3). */
export function askForWorker(state: Configured, instanceType: string, now: Instant): Configured {
  const { record } = state;
  const type = ownValue(record.config.instanceTypes, instanceType);
  if (type === undefined) return state;
  const worker = nextWorkerName(record);
  const notAfter = now + CREATE_NOT_AFTER_MS;
  state.workers.set(
    worker,
    { ...newWorkerRow(record, { worker, instanceType, type, notAfter }, now), kind: "cloud" },
    now,
  );
  return { ...state, record: { ...record, nextWorker: record.nextWorker + 1 } };
}

/** What the next worker will be called. The seed makes it unlike those of any earlier pool of the name. */
export function nextWorkerName({
  name,
  seed,
  nextWorker,
}: {
  name: string;
  seed: string;
  nextWorker: number | string;
}): string {
  return `${name.slice(0, 40)}-${seed}-${nextWorker}`;
}

/** The row of a worker that does not know of itself yet, whoever brings its machine. */
export function newWorkerRow(
  { config }: PoolRecord,
  wanted: Pick<AnyWorkerRow, "worker" | "instanceType" | "type" | "notAfter">,
  now: Instant,
): AnyWorkerRow {
  return {
    ...wanted,
    version: 0,
    phase: "asked",
    idleBehavior: "run",
    instance: null,
    address: null,
    readyAt: null,
    booted: false,
    reason: "asked for",
    askedAt: now,
    stopUntil: 0,
    missingSince: null,
    refusals: 0,
    pausedUntil: 0,
    settings: settingsOf(config),
    heardAt: now,
  };
}

/** What a worker is told to become. */
export function intentOf(state: ReadonlyConfigured, row: WorkerRow): Intent {
  const { config, name } = state.record;
  const { worker, instanceType, type, notAfter, settings } = row;
  // One that is told now, in a pool that is deleted by force, comes too late.
  const until = row.phase === "asked" && state.record.forced !== undefined ? 0 : notAfter;
  const any = { worker, pool: name, notAfter: until, settings };
  if (row.kind === "self-hosted") return { ...any, kind: "self-hosted" };
  const { provider, image, tags } = config;
  return { ...any, kind: "cloud", instanceType, type, provider, image, tags, adopt: row.adopt };
}

/** Folds in what a worker says of itself. An older version than the pool has says nothing. */
export function foldWorker(state: Configured, upsert: WorkerUpsert, now: Instant): Configured {
  const row = state.workers.get(upsert.worker);
  if (row === undefined || upsert.version < row.version) return state;
  // One that was taken for gone can only come back to be destroyed.
  if (row.phase === "gone" && upsert.phase !== "shutdown") return state;
  const { wantsStop, ...view } = upsert;
  const stopUntil = wantsStop && mayStop(state, row, now) ? now + CONSENT_MS : 0;
  // Whatever it says, it has been heard: it is trusted with runs again.
  const endingAt = endingOf(row, upsert, now);
  const heard = {
    ...row,
    ...view,
    waits: upsert.waits,
    unmade: upsert.unmade,
    doubles: upsert.doubles,
    stopUntil,
    endingAt,
    refusals: 0,
    pausedUntil: 0,
  };
  const isKnown = upsert.failure === undefined || upsert.failure.at === row.failure?.at;
  const next: WorkerRow = isKnown ? { ...heard, failure: row.failure } : heard;
  const keys = Object.keys(next) as (keyof WorkerRow)[]; // all of them are: it has just been made
  const changed = keys.some((key) => JSON.stringify(next[key]) !== JSON.stringify(row[key]));
  if (changed) state.workers.set(row.worker, { ...next, heardAt: now }, now);
  return { ...state, record: learn(withHolds(state.record, row, next, now), row, next) };
}

/** Since when the worker has been ending, whatever else is heard of it meanwhile; undefined: it is not. */
function endingOf(before: WorkerRow, { phase }: WorkerUpsert, now: Instant): Instant | undefined {
  if (phase !== "shutdown") return undefined;
  return before.phase === "shutdown" ? endingSince(before) : now;
}

/**
 * The pool consents to a stop if nothing is placed there, nothing is promised room there, and enough others
 * remain, or it makes room for one that a run needs. All have been idle for the same time when they first
 * propose it: the longest idle is the first.
 */
function mayStop(state: Configured, row: WorkerRow, now: Instant): boolean {
  const { placed, queue } = state.memo.index;
  if (placed.has(row.worker)) return false;
  // Nothing has been placed there since: what was agreed once is agreed again.
  if (now < row.stopUntil) return true;
  if (queue.length > 0) {
    const { pass } = plan(state, now);
    if (pass.awaited.has(row.worker)) return false;
    if (pass.reserved?.leaves && pass.reserved.worker === row.worker) return true;
  }
  let others = 0;
  for (const other of providedWorkers(state)) {
    const up = other.phase === "ready" || other.phase === "booting";
    const stays = up && other.idleBehavior === "run" && now >= other.stopUntil;
    if (other.worker !== row.worker && stays) others += 1;
  }
  return others >= state.record.config.minInstances;
}

/** What the news of a worker's machine says of the next ones: of a self-hosted machine nothing. */
function withHolds(record: PoolRecord, before: WorkerRow, after: WorkerRow, now: Instant): PoolRecord {
  if (before.kind === "self-hosted") return record;
  let next = record;
  const { failure } = after;
  if (failure !== undefined && failure !== before.failure)
    next = holdAfterFailure(next, before, failure, now);
  if (before.instance === null && after.instance !== null) next = holdsAfterCreate(next, before, now);
  if (!before.booted && after.booted) next = holdsAfterBoot(next, before);
  if (before.phase === "gone" || after.phase !== "gone") return next;
  if (mayComeLate(after)) next = { ...next, lateUntil: now + LATE_MACHINE_MS };
  return after.instance === null ? next : holdsAfterLeaving(next, before, now);
}

/**
 * Whether a machine that was given up may appear all the same: listings omit it, a call may have made it, and
 * its host was never ready.
 */
function mayComeLate({ booted, missingSince, unmade }: WorkerRow): boolean {
  return missingSince !== null && !booted && unmade !== true;
}

/** What a worker's upsert is answered: whether the pool consents to its stopping. */
export function answerWorker(state: ReadonlyPool, upsert: WorkerUpsert, now: Instant): WorkerUpsertAnswer {
  const row = state.workers.get(upsert.worker);
  if (row === undefined) return { kind: "no_such" };
  return { kind: "ok", consent: upsert.wantsStop && now < row.stopUntil };
}

/**
 * Folds in a worker's answer to a call of the pool. A worker without state never came to be: its permit is
 * free.
 */
export function foldWorkerAnswer(
  state: Configured,
  worker: string,
  answer: WorkerAnswer,
  now: Instant,
): Configured {
  const row = state.workers.get(worker);
  const { [worker]: _heard, ...sightings } = state.memo.sightings;
  const next = { ...state, memo: { ...state.memo, sightings } };
  if (answer.kind === "worker") return foldWorker(next, answer.worker, now);
  if (row === undefined || row.phase === "asked") return next;
  if (row.phase === "gone") {
    const seen = state.memo.sightings[worker]?.instance;
    if (seen !== undefined && seen.state !== "terminated" && row.kind === "cloud")
      state.workers.set(worker, orphaned(row, seen, now), now);
    return next;
  }
  if (isUnheard(row)) return next;
  state.workers.set(worker, { ...row, phase: "gone", reason: "nothing is known of it", heardAt: now }, now);
  return next;
}

/**
 * One that was taken for gone, whose machine a listing shows, and of which not even its worker knows: its
 * machine is an orphan, and is adopted as any (invariant 3).
 */
function orphaned(row: CloudRow, { id, address }: Instance, now: Instant): WorkerRow {
  return {
    ...row,
    version: 0,
    phase: "unknown",
    idleBehavior: "run",
    instance: id,
    address,
    adopt: { id, address },
    notAfter: now,
    stopUntil: 0,
    missingSince: null,
    reason: ADOPTED,
    heardAt: now,
  };
}
