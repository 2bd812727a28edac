// What became of the request for a machine, and what does a run that counts on it wait for?
import type { WorkerSummary } from "../../../schema/pool.ts";
import type { Instant } from "../../../shared/machine.ts";
import type { Awaited } from "../../next.ts";
import { isRefusal } from "../../refusal.ts";
import type { Wait } from "../plan/pass.ts";
import { isWaiting, type WorkerRow } from "../record.ts";
import type { ReadonlyConfigured } from "../state.ts";
import { holdsOn, isClosed } from "./hold-offs.ts";
import { isFirstAfter } from "./turns.ts";

/** What the provider answered to the request for a worker's machine; null: it is self-hosted. */
export function machineOf({
  kind,
  instance,
  failure,
}: WorkerRow): NonNullable<WorkerSummary["machine"]> | null {
  if (kind === "self-hosted") return null;
  if (instance !== null) return "made";
  if (failure === null) return "asked";
  return isRefusal(failure) ? "refused" : "unconfirmed";
}

/** Whether a worker is shown as booting but has no machine yet. */
export function isUnmade(row: WorkerRow): boolean {
  return (
    (row.phase === "booting" || row.phase === "asked") && machineOf(row) !== "made" && row.kind === "cloud"
  );
}

/** What a run that counts on a machine waits for. */
export interface MachineWait extends Omit<Wait, "code"> {
  code: Wait["code"] | "create_deferred";
  /** Who must act, if the code alone does not say it. */
  waitsFor?: Awaited;
}

/**
 * What a run that counts on a booting machine waits for: the boot, or before that the provider's answer, or
 * the turn to ask the provider (again).
 */
export function waitForMachine(state: ReadonlyConfigured, wait: Wait, now: Instant): MachineWait {
  const row = wait.worker === undefined ? undefined : state.workers.get(wait.worker);
  if (wait.code !== "machine_booting" || row === undefined || !isUnmade(row)) return wait;
  const turn = isWaiting(row) ? turnOf(state, row, now) : {};
  if (row.failure === null) return { ...wait, code: "machine_asked", ...turn };
  return { ...wait, code: "create_deferred", reason: row.reason, ...turn };
}

/** When a waiting machine gets its turn, or who must act first. */
function turnOf(
  state: ReadonlyConfigured,
  row: WorkerRow,
  now: Instant,
): Pick<MachineWait, "until" | "waitsFor"> {
  const closed = holdsOn(state.record.holds, row).filter((hold) => isClosed(hold, now));
  const ends = closed.map(({ until }) => until ?? Number.POSITIVE_INFINITY);
  const until = Math.max(...ends);
  if (until === Number.POSITIVE_INFINITY) return { waitsFor: "operator" };
  // After a hold-off one machine is tried; the others wait for its outcome.
  return closed.length > 0 && isFirstAfter(state, row, closed) ? { until } : { waitsFor: "pool" };
}
