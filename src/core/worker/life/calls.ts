// Which call does a worker want to make to its provider, and may that call be made now?
import { CREATE_STRAGGLER_MS } from "../../../shared/limits.ts";
import type { Instant, Millis } from "../../../shared/machine.ts";
import { callCounts, sumOf } from "../../histogram.ts";
import type { CloudCall, Turn } from "../../messages.ts";
import type { ExistingWorker, WorkerRecord, WorkerState } from "../state.ts";

/** The provider call that a worker wants to make: create its machine, destroy it, or look for it. */
export function callWanted(record: WorkerRecord): CloudCall | undefined {
  const { intent, phase, instance, destroyAskedAt, looks } = record;
  if (intent.kind === "self-hosted") return undefined;
  if (looks) return "find";
  if (phase === "booting" && instance === null) return "create";
  return phase === "shutdown" && instance !== null && destroyAskedAt === null ? "destroy" : undefined;
}

/** The provider call that waits for its turn, since the pool paces the calls of all its workers. */
export function callWaiting(record: WorkerRecord): CloudCall | undefined {
  return record.waits ? callWanted(record) : undefined;
}

/**
 * Accepts a turn for one provider call. `version`: the worker's version that the pool knew when it gave the
 * turn. A late or duplicate turn has another version, and is ignored.
 */
export function foldTurn(state: ExistingWorker, { version }: Turn): WorkerState {
  return state.record.version === version ? { ...state, record: withTurn(state.record) } : state;
}

/** Lets the worker call the provider at once. */
export function withTurn(record: WorkerRecord): WorkerRecord {
  return record.waits ? { ...record, waits: false, createNotBefore: null } : record;
}

/** Counts a call that was answered (pool.md#histograms). */
export function withCall(
  state: ExistingWorker,
  call: CloudCall,
  { answer, tookMs }: { answer: { kind: string }; tookMs?: Millis },
): ExistingWorker {
  if (tookMs === undefined) return state;
  const calls = sumOf(state.record.calls, callCounts(call, answer, tookMs));
  return { ...state, record: { ...state.record, calls } };
}

/**
 * A turn is for one call, and the process before this one may have made that call and lost the answer. So
 * after a restart the worker waits for another turn: otherwise all workers of a pool would call at once, at
 * whatever rate. A create call whose answer is lost may have made a machine, and may still make it.
 */
export function afterRestart(state: WorkerState, now: Instant): WorkerState {
  const { record } = state;
  if (record === null || !state.memo.isJustLoaded) return state;
  const loaded = { ...state, memo: { ...state.memo, isJustLoaded: false } };
  const lost = record.waits ? undefined : callWanted(record);
  if (lost === undefined) return loaded;
  if (lost !== "create") return { ...loaded, record: { ...record, waits: true } };
  const calledAt = Math.max(record.calledAt ?? 0, now + CREATE_STRAGGLER_MS);
  const failure = record.failure && { ...record.failure, inDoubt: true as const };
  return { ...loaded, record: { ...record, waits: true, mayBeMade: true, calledAt, failure } };
}
