// How does an operator destroy a machine by name?
import type { Instant } from "../../../shared/machine.ts";
import { because } from "../../../shared/words.ts";
import { type ExistingWorker, note, type WorkerRecord, type WorkerState } from "../state.ts";
import { withTurn } from "./calls.ts";
import { shutDown } from "./shutdown.ts";

/** Who destroys the machine, and why. `force`: without waiting for a listing. */
export interface Kill {
  reason: string;
  by: string;
  force?: boolean;
}

/** Destroys the machine now, even with runs on it, and without waiting for its turn (invariant 4). */
export function foldKill(
  state: ExistingWorker,
  { reason, by, force = false }: Kill,
  now: Instant,
): WorkerState {
  const { record } = state;
  const isForced = record.forced !== null || !force;
  if (record.phase === "gone" || (record.killedBy !== null && isForced)) return state;
  const named = { ...record, killedBy: record.killedBy ?? by };
  const killed = { ...state, record: isForced ? named : withForce(named, by, now) };
  const ended = shutDown(killed, because(`killed by ${by}`, reason), now);
  return ended.record === null ? ended : { ...ended, record: withTurn(ended.record) };
}

function withForce(record: WorkerRecord, by: string, now: Instant): WorkerRecord {
  const text = `forced by ${by}: its end waits for no listing, and a machine may be left at its provider`;
  return note({ ...record, forced: by }, "Forced", text, now);
}
