import type { Instant } from "../../../shared/machine.ts";
import { because } from "../../../shared/words.ts";
import { type Living, note, type WorkerRecord, type WorkerState } from "../state.ts";
import { withTurn } from "./calls.ts";
import { shutDown } from "./shutdown.ts";

/** Who wants the machine destroyed, and why. `force`: no listing is waited for. */
export interface Kill {
  reason: string;
  by: string;
  force?: boolean;
}

/** Destroys the machine now, runs or not, in turn or not: its owner asked by name (invariant 4). */
export function foldKill(state: Living, { reason, by, force = false }: Kill, now: Instant): WorkerState {
  const { record } = state;
  const isForced = record.forced !== undefined || !force;
  if (record.phase === "gone" || (record.killedBy !== null && isForced)) return state;
  const named = { ...record, killedBy: record.killedBy ?? by };
  const killed = { ...state, record: isForced ? named : forcedBy(named, by, now) };
  const ended = shutDown(killed, because(`killed by ${by}`, reason), now);
  return ended.record === null ? ended : { ...ended, record: withTurn(ended.record) };
}

function forcedBy(record: WorkerRecord, by: string, now: Instant): WorkerRecord {
  const text = `forced by ${by}: no listing is waited for, and a machine may be left at its provider`;
  return note({ ...record, forced: by }, "Forced", text, now);
}
