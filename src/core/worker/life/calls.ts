import type { CloudCall, Turn } from "../../messages.ts";
import type { Living, WorkerRecord, WorkerState } from "../state.ts";

/** The call to its provider that a worker wants to make: for its machine, or for the end of that. */
export function callWanted({ intent, phase, instance, destroyAskedAt }: WorkerRecord): CloudCall | undefined {
  if (intent.kind === "self-hosted") return undefined;
  if (phase === "booting" && instance === null) return "create";
  return phase === "shutdown" && instance !== null && destroyAskedAt === null ? "destroy" : undefined;
}

/** The call that waits for the pool's turn. The pool paces the calls of all its workers. */
export function callWaiting(record: WorkerRecord): CloudCall | undefined {
  return record.waits === true ? callWanted(record) : undefined;
}

/**
 * It is this worker's turn to call the provider: one call, as its pool knew it to be wanted by that version
 * of the worker. A turn that comes late or twice lets nobody call again.
 */
export function foldTurn(state: Living, { version }: Turn): WorkerState {
  return state.record.version === version ? { ...state, record: withTurn(state.record) } : state;
}

/** The worker as it is when it may call the provider at once. */
export function withTurn(record: WorkerRecord): WorkerRecord {
  if (record.waits === undefined) return record;
  const { waits: _waits, ...called } = record;
  return { ...called, createNotBefore: null };
}
