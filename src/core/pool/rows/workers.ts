// What does a pool do with the news of a worker, and when does it let the worker stop?
import type { Instance } from "../../../schema/provider.ts";
import type { Instant } from "../../../shared/machine.ts";
import { newEntries } from "../../audit/outbox.ts";
import type { Answered, Kind } from "../../inbox.ts";
import type { WorkerUpsert, WorkerUpsertAnswer } from "../../messages.ts";
import { plan } from "../plan/plan.ts";
import { learnEngine } from "../plan/seen/engineless.ts";
import { learn } from "../plan/seen/learned.ts";
import { projectOfMachine } from "../projects.ts";
import {
  holdAfterFailure,
  holdsAfterBoot,
  holdsAfterCreate,
  holdsAfterLeaving,
} from "../provider/hold-offs.ts";
import { isUnheard, type PoolRecord, providedWorkers, type WorkerRow } from "../record.ts";
import type { Configured, ReadonlyPool } from "../state.ts";

/** How long the pool's consent to stop a worker binds the pool. */
export const CONSENT_MS = 60_000;
/** How long an empty pool goes on looking for a machine that it gave up because no listing showed it. */
export const LATE_MACHINE_MS = 15 * 60_000;

/** The reason of a worker that was created for a machine in a listing. */
const ADOPTED = "a listing shows this machine, which no worker owned";

/** Applies a worker's upsert. An upsert with an older version than the row is ignored. */
export function foldWorker(state: Configured, upsert: WorkerUpsert, now: Instant): Configured {
  const row = withEntries(state, upsert, now);
  if (row === undefined || upsert.version < row.version) return state;
  // A worker that is marked gone can come back only to be destroyed.
  if (row.phase === "gone" && upsert.phase !== "shutdown") return state;
  const { wantsStop, audit: _stored, ...view } = upsert;
  const stopUntil = wantsStop && mayStop(state, row, now) ? now + CONSENT_MS : 0;
  const endingAt = endingOf(row, upsert, now);
  // What is absent in the upsert is over.
  const { noEngine: _was, ...known } = row;
  const heard = {
    ...known,
    ...view,
    stopUntil,
    endingAt,
    // Any report shows that the worker can be trusted with runs again.
    refusals: 0,
    pausedUntil: 0,
  };
  const isKnown = upsert.failure === null || upsert.failure.at === row.failure?.at;
  const next: WorkerRow = isKnown ? { ...heard, failure: row.failure } : heard;
  const keys = Object.keys({ ...row, ...next }) as (keyof WorkerRow)[]; // rows have only such keys
  const isChanged = (key: keyof WorkerRow) =>
    next[key] !== row[key] && JSON.stringify(next[key]) !== JSON.stringify(row[key]);
  const changed = keys.some(isChanged);
  if (changed) state.workers.set(row.worker, { ...next, heardAt: now }, now);
  const record = withHolds(state.record, row, next, now);
  const { workers } = state;
  return { ...state, record: learnEngine(learn(record, row, next, workers), row, next, workers) };
}

/** The row of a worker, after the entries of the audit log that come with its upsert are stored. */
function withEntries(state: Configured, { worker, audit }: WorkerUpsert, now: Instant) {
  const row = state.workers.get(worker);
  if (row === undefined || audit === undefined) return row;
  const { name, config } = state.record;
  const target = { kind: "worker", id: worker } as const;
  const about = { target, pool: name, run: null, project: projectOfMachine(config, row) };
  const { entries, upTo } = newEntries(audit, row.audited, about);
  if (entries.length === 0) return row;
  for (const entry of entries) state.audit.add(entry, now);
  state.workers.set(worker, { ...row, audited: upTo }, now);
  return state.workers.get(worker);
}

/** When the worker began to end; later news does not change this time. Null: the worker is not ending. */
function endingOf({ endingAt }: WorkerRow, { phase }: WorkerUpsert, now: Instant): Instant | null {
  return phase === "shutdown" ? (endingAt ?? now) : null;
}

/**
 * The pool consents to the stop of a worker without runs if no run counts on the worker and enough other
 * workers remain, or if the worker must make room for a run. Among workers with equal idle times, the first
 * worker that proposes its stop is the first that stops.
 */
function mayStop(state: Configured, row: WorkerRow, now: Instant): boolean {
  const { placed, queue } = state.memo.index;
  if (placed.has(row.worker)) return false;
  // No run has been placed there since the pool consented, so the consent still holds.
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

/**
 * The record with the hold-offs after a change of a worker. A self-hosted machine does not affect hold-offs.
 */
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
 * Whether a machine that was given up may still appear: listings omit it, a call may have made it, and its
 * host was never ready.
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

/** The answer of a worker to any message of its pool. */
export type WorkerAnswered = Answered<"worker", Exclude<Kind<"worker">, "order">>;

/** Applies a worker's answer. */
export function foldWorkerAnswer(
  state: Configured,
  { type, sent: { worker }, answer }: WorkerAnswered,
  now: Instant,
): Configured {
  if (type === "poke_worker_answered") state.memo.workersLastHeard.note(worker, now);
  const { [worker]: heard, ...sightings } = state.memo.sightings;
  if (answer.kind === "no_such") foldMissing(state, worker, heard?.instance, now);
  const next = { ...state, memo: { ...state.memo, sightings } };
  return answer.kind === "worker" ? foldWorker(next, answer.worker, now) : next;
}

/**
 * Marks a worker gone if its object has no state: the worker never existed, so its permit is free again. If
 * the worker is already marked gone, but a listing shows its machine (`seen`), the machine is adopted
 * (invariant 3).
 */
function foldMissing(state: Configured, worker: string, seen: Instance | undefined, now: Instant): void {
  const row = state.workers.get(worker);
  if (row === undefined || row.phase === "asked") return;
  if (row.phase !== "gone") {
    const gone = { phase: "gone" as const, reason: "nothing is known of it", heardAt: now };
    if (!isUnheard(row)) state.workers.set(worker, { ...row, ...gone }, now);
    return;
  }
  if (seen === undefined || seen.state === "terminated" || row.kind !== "cloud") return;
  const fresh = { version: 0, idleBehavior: "run" as const, stopUntil: 0, missingSince: null };
  state.workers.set(worker, { ...row, ...fresh, ...adoption(seen, now), heardAt: now }, now);
}

/** The fields of a row that let its worker adopt a machine that a listing shows. */
export function adoption({ id, address }: Instance, now: Instant) {
  const phase = "unknown" as const;
  return { phase, instance: id, address, adopt: { id, address }, notAfter: now, reason: ADOPTED };
}
