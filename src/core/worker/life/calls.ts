// Which call does a worker want to make to its provider, and may that call be made now?
import type { CloudCall, Turn } from "../../messages.ts";
import type { ExistingWorker, WorkerRecord, WorkerState } from "../state.ts";

/** The provider call that a worker wants to make: create or destroy its machine. */
export function callWanted({ intent, phase, instance, destroyAskedAt }: WorkerRecord): CloudCall | undefined {
  if (intent.kind === "self-hosted") return undefined;
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
