// What does a run wait for if it counts on a machine that is not ready?
import type { Instant } from "../../../shared/machine.ts";
import type { Awaited } from "../../next.ts";
import type { Wait } from "../plan/pass.ts";
import { isUnmade, isWaiting, type WorkerRow } from "../record.ts";
import type { ReadonlyConfigured } from "../state.ts";
import { holdsOn, isClosed } from "./hold-offs.ts";
import { isFirstAfter } from "./turns.ts";

/** What a run that counts on a machine waits for. */
export interface MachineWait extends Omit<Wait, "code"> {
  code: Wait["code"] | "create_deferred";
  /** Who must act first, if `code` alone does not say who. */
  waitsFor?: Awaited;
}

/**
 * What a run that counts on a booting machine waits for: the boot, the provider's answer to the create call,
 * or the worker's turn to make or repeat that call.
 */
export function waitForMachine(state: ReadonlyConfigured, wait: Wait, now: Instant): MachineWait {
  const row = wait.worker === undefined ? undefined : state.workers.get(wait.worker);
  if (wait.code !== "machine_booting" || row === undefined || !isUnmade(row)) return wait;
  const turn = isWaiting(row) ? turnOf(state, row, now) : {};
  if (row.failure === null) return { ...wait, code: "machine_asked", ...turn };
  return { ...wait, code: "create_deferred", reason: row.reason, ...turn };
}

/** When a waiting worker gets its turn, or who must act first. */
function turnOf(
  state: ReadonlyConfigured,
  row: WorkerRow,
  now: Instant,
): Pick<MachineWait, "until" | "waitsFor"> {
  const closed = holdsOn(state.record.holds, row).filter((hold) => isClosed(hold, now));
  const ends = closed.map(({ until }) => until ?? Number.POSITIVE_INFINITY);
  const until = Math.max(...ends);
  if (until === Number.POSITIVE_INFINITY) return { waitsFor: "operator" };
  // After a hold-off, one machine is tried, and the other workers wait for the outcome of this trial.
  return closed.length > 0 && isFirstAfter(state, row, closed) ? { until } : { waitsFor: "pool" };
}
