// What does a pool do with the news of a worker, and when does it consent to its stop?
import type { Instance } from "../../../schema/provider.ts";
import { CREATE_NOT_AFTER_MS } from "../../../shared/limits.ts";
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
  isUnheard,
  NOTHING_SAID,
  type PoolRecord,
  providedWorkers,
  settingsOf,
  type WorkerRow,
} from "../record.ts";
import type { Configured, ReadonlyConfigured, ReadonlyPool } from "../state.ts";

/** How long the pool's consent to stop a worker binds the pool. */
export const CONSENT_MS = 60_000;
/** How long an empty pool goes on looking for a machine that it gave up because no listing showed it. */
export const LATE_MACHINE_MS = 15 * 60_000;

/** The tag with which an instance names its worker. */
export const WORKER_TAG = "drover-worker";
/** The tag with which an instance names its pool. */
export const POOL_TAG = "drover-pool";

/** The reason of a worker that was created for a machine in a listing. */
export const ADOPTED = "a listing shows this machine, which no worker owned";

/** Gives a permit: the row is written before the worker's record, and that before the call (invariant 3). */
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

/** The name of the next worker. The seed makes it unique among all pools that ever had this name. */
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

/** The row of a worker that has not received its intent yet. */
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
    ...NOTHING_SAID,
    reason: "asked for",
    askedAt: now,
    stopUntil: 0,
    missingSince: null,
    refusals: 0,
    pausedUntil: 0,
    settings: settingsOf(config),
    heardAt: now,
    endingAt: null,
  };
}

/** The intent of a worker. */
export function intentOf(state: ReadonlyConfigured, row: WorkerRow): Intent {
  const { config, name } = state.record;
  const { worker, instanceType, type, notAfter, settings } = row;
  // In a pool that is deleted by force a new intent comes too late.
  const until = row.phase === "asked" && state.record.forced !== undefined ? 0 : notAfter;
  const any = { worker, pool: name, notAfter: until, settings };
  if (row.kind === "self-hosted") return { ...any, kind: "self-hosted" };
  const { provider, image, tags } = config;
  return { ...any, kind: "cloud", instanceType, type, provider, image, tags, adopt: row.adopt };
}

/** Folds in a worker's upsert; a version older than the known one is ignored. */
export function foldWorker(state: Configured, upsert: WorkerUpsert, now: Instant): Configured {
  const row = state.workers.get(upsert.worker);
  if (row === undefined || upsert.version < row.version) return state;
  // A worker that counted as gone can only come back to be destroyed.
  if (row.phase === "gone" && upsert.phase !== "shutdown") return state;
  const { wantsStop, ...view } = upsert;
  const stopUntil = wantsStop && mayStop(state, row, now) ? now + CONSENT_MS : 0;
  // A worker that reports anything can be trusted with runs again.
  const endingAt = endingOf(row, upsert, now);
  const heard = {
    ...row,
    ...view,
    stopUntil,
    endingAt,
    refusals: 0,
    pausedUntil: 0,
  };
  const isKnown = upsert.failure === null || upsert.failure.at === row.failure?.at;
  const next: WorkerRow = isKnown ? { ...heard, failure: row.failure } : heard;
  const keys = Object.keys(next) as (keyof WorkerRow)[]; // of an object literal
  const changed = keys.some((key) => JSON.stringify(next[key]) !== JSON.stringify(row[key]));
  if (changed) state.workers.set(row.worker, { ...next, heardAt: now }, now);
  return { ...state, record: learn(withHolds(state.record, row, next, now), row, next) };
}

/** Since when the worker has been ending, unchanged by later news; null: it is not ending. */
function endingOf({ endingAt }: WorkerRow, { phase }: WorkerUpsert, now: Instant): Instant | null {
  return phase === "shutdown" ? (endingAt ?? now) : null;
}

/**
 * The pool consents to a stop if the worker has no run and none counts on it, and enough others remain, or if
 * it makes room for a run. Among workers with equal idle times, the one that proposes first stops first.
 */
function mayStop(state: Configured, row: WorkerRow, now: Instant): boolean {
  const { placed, queue } = state.memo.index;
  if (placed.has(row.worker)) return false;
  // Nothing was placed there since: the consent still holds.
  if (now < row.stopUntil) return true;
  if (queue.length > 0) {
    const { pass } = plan(state, now);
    if (pass.awaited.has(row.worker)) return false;
    if (pass.reserved?.evict && pass.reserved.worker === row.worker) return true;
  }
  let others = 0;
  for (const other of providedWorkers(state)) {
    const up = other.phase === "ready" || other.phase === "booting";
    const stays = up && other.idleBehavior === "run" && now >= other.stopUntil;
    if (other.worker !== row.worker && stays) others += 1;
  }
  return others >= state.record.config.minInstances;
}

/** The hold-offs after a change of a worker. A self-hosted machine does not affect them. */
function withHolds(record: PoolRecord, before: WorkerRow, after: WorkerRow, now: Instant): PoolRecord {
  if (before.kind === "self-hosted") return record;
  let next = record;
  const { failure } = after;
  if (failure !== null && failure !== before.failure) next = holdAfterFailure(next, before, failure, now);
  if (before.instance === null && after.instance !== null) next = holdsAfterCreate(next, before, now);
  if (before.bootOutcome !== "success" && after.bootOutcome === "success")
    next = holdsAfterBoot(next, before);
  if (before.phase === "gone" || after.phase !== "gone") return next;
  if (mayComeLate(after)) next = { ...next, lateUntil: now + LATE_MACHINE_MS };
  return after.instance === null ? next : holdsAfterLeaving(next, before, now);
}

/**
 * Whether a given-up machine may still appear: listings omit it, a call may have made it, and its host was
 * never ready.
 */
function mayComeLate({ bootOutcome, missingSince, unmade }: WorkerRow): boolean {
  return missingSince !== null && bootOutcome !== "success" && !unmade;
}

/** The answer to a worker's upsert: whether the pool consents to its stop. */
export function answerWorker(state: ReadonlyPool, upsert: WorkerUpsert, now: Instant): WorkerUpsertAnswer {
  const row = state.workers.get(upsert.worker);
  if (row === undefined) return { kind: "no_such" };
  return { kind: "ok", consent: upsert.wantsStop && now < row.stopUntil };
}

/** Folds in a worker's answer. A worker without state never came to exist, so its permit is free. */
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
 * A worker that counted as gone and has no state, but whose machine a listing shows: the machine is adopted
 * (invariant 3).
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
