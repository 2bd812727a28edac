import { CONSENT_MS, CREATE_NOT_AFTER_MS } from "../limits.ts";
import type { Instant, Millis } from "../machine.ts";
import type {
  Intent,
  ListAnswer,
  Sighting,
  WorkerAnswer,
  WorkerUpsert,
  WorkerUpsertAnswer,
} from "../messages.ts";
import {
  type Configured,
  isOpen,
  type PoolRecord,
  type PoolState,
  providedWorkers,
  settingsOf,
  type WorkerRow,
} from "./state.ts";

/** The tag by which an instance names its worker. */
export const WORKER_TAG = "drover-worker";
/** The tag by which an instance names its pool. */
export const POOL_TAG = "drover-pool";

/**
 * The hold-off after a machine that could not be had: first, and longest. It doubles with each failure in a
 * row.
 */
const HOLD_FIRST_MS: Millis = 5_000;
const HOLD_LONGEST_MS: Millis = 10 * 60_000;

/** Gives a permit: the row is written before the worker's own, and that before the call (invariant 3). */
export function askForWorker(state: Configured, instanceType: string, now: Instant): Configured {
  const { record } = state;
  const type = record.config.instanceTypes[instanceType];
  if (type === undefined) return state;
  const worker = nextWorkerName(record);
  const row = newWorkerRow(record, { worker, instanceType, type, notAfter: now + CREATE_NOT_AFTER_MS }, now);
  state.workers.set(worker, row, now);
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

/** The row of a worker that does not know of itself yet. */
export function newWorkerRow(
  { config }: PoolRecord,
  wanted: Pick<WorkerRow, "worker" | "instanceType" | "type" | "notAfter">,
  now: Instant,
): WorkerRow {
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
export function intentOf(state: Configured, row: WorkerRow): Intent {
  const { config, name } = state.record;
  const { worker, instanceType, type, notAfter, settings } = row;
  const any = { worker, pool: name, notAfter, settings };
  if (row.own !== undefined) return { ...any, provider: null };
  return { ...any, instanceType, type, provider: config.provider, image: config.image };
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
  const next = { ...row, ...view, stopUntil, refusals: 0, pausedUntil: 0 };
  const keys = Object.keys(next) as (keyof WorkerRow)[]; // all of them are: it has just been made
  const changed = keys.some((key) => next[key] !== row[key]);
  if (changed) state.workers.set(row.worker, { ...next, heardAt: now }, now);
  return { ...state, record: holdAfter(state.record, row, upsert, now) };
}

/** The pool consents to a stop if nothing is placed there, and enough others remain. */
function mayStop(state: Configured, row: WorkerRow, now: Instant): boolean {
  for (const run of state.runs.live()) if (isOpen(run) && run.worker === row.worker) return false;
  let others = 0;
  for (const other of providedWorkers(state)) {
    const up = other.phase === "ready" || other.phase === "booting";
    const stays = up && other.idleBehavior === "run" && now >= other.stopUntil;
    if (other.worker !== row.worker && stays) others += 1;
  }
  return others >= state.record.config.minInstances;
}

/**
 * Machines that end without ever having been ready hold the next ones off, so that a broken image costs
 * little. One that becomes ready ends that; one that has been ready for long proves nothing.
 */
function holdAfter(record: PoolRecord, row: WorkerRow, upsert: WorkerUpsert, now: Instant): PoolRecord {
  if (row.own !== undefined) return record;
  if (upsert.booted) return row.booted || record.hold === null ? record : { ...record, hold: null };
  const ending = upsert.phase === "gone" || upsert.phase === "shutdown";
  const already = row.phase === "gone" || row.phase === "shutdown";
  if (!ending || already) return record;
  const failures = (record.hold?.failures ?? 0) + 1;
  const until = now + Math.min(HOLD_LONGEST_MS, HOLD_FIRST_MS * 2 ** (failures - 1));
  return { ...record, hold: { failures, until, reason: upsert.reason } };
}

/** What a worker's upsert is answered: whether the pool consents to its stopping. */
export function answerWorker(state: PoolState, upsert: WorkerUpsert, now: Instant): WorkerUpsertAnswer {
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
  if (row === undefined || row.phase === "asked" || row.phase === "gone") return next;
  state.workers.set(worker, { ...row, phase: "gone", reason: "nothing is known of it", heardAt: now }, now);
  return next;
}

/** Folds in a listing: each worker must hear what it says of its instance, if that is any news to it. */
export function foldListing(state: Configured, answer: ListAnswer, now: Instant): Configured {
  const memo = { ...state.memo, sweptAt: now };
  if (answer.kind === "failed") return { ...state, memo: { ...memo, sweepError: answer.failure.text } };
  const byWorker = new Map(
    answer.items.map((instance) => [instance.tags[WORKER_TAG] ?? instance.name, instance]),
  );
  const sightings: Record<string, Sighting> = {};
  const { provider } = state.record.config;
  const see = (worker: string, seen: Partial<Sighting>) => {
    sightings[worker] = { worker, beganAt: answer.beganAt, provider, ...seen };
  };
  for (const row of providedWorkers(state)) {
    if (row.phase === "asked") continue;
    const { worker } = row;
    const instance = byWorker.get(worker);
    byWorker.delete(worker);
    const missingSince = instance === undefined ? (row.missingSince ?? answer.beganAt) : null;
    if (missingSince !== row.missingSince) state.workers.set(worker, { ...row, missingSince }, now);
    if (instance === undefined) see(worker, { missingSince: missingSince ?? answer.beganAt });
    else if (instance.id !== row.instance || instance.state === "terminated" || row.phase === "shutdown") {
      see(worker, { instance });
    }
  }
  for (const [worker, instance] of byWorker) {
    // It was taken for gone, and lives: its worker takes it into the ledger again.
    const known = state.workers.get(worker);
    if (known?.phase === "gone" && known.own === undefined && instance.state !== "terminated")
      see(worker, { instance });
  }
  return { ...state, memo: { ...memo, sweepError: null, sightings } };
}
