import type { WorkerSummary } from "../../../schema/pool.ts";
import type { Instant } from "../../../shared/machine.ts";
import type { Awaited } from "../../next.ts";
import { saidNo } from "../../refusal.ts";
import type { Wait } from "../plan/pass.ts";
import { isWaiting, type WorkerRow } from "../record.ts";
import type { ReadonlyConfigured } from "../state.ts";
import { holdsOn, isClosed } from "./hold-offs.ts";
import { isFirstAfter } from "./turns.ts";

/** What came of asking the provider for a worker's machine; null: it is self-hosted. */
export function machineOf({
  kind,
  instance,
  failure,
}: WorkerRow): NonNullable<WorkerSummary["machine"]> | null {
  if (kind === "self-hosted") return null;
  if (instance !== null) return "made";
  if (failure === undefined) return "asked";
  return saidNo(failure) ? "refused" : "unconfirmed";
}

/** Whether a worker is booting by its state, and yet has no machine that could boot. */
export function isUnmade(row: WorkerRow): boolean {
  return (
    (row.phase === "booting" || row.phase === "asked") && machineOf(row) !== "made" && row.kind === "cloud"
  );
}

/** What a run waits for that counts on a machine, as far as there is one. */
export interface MachineWait extends Omit<Wait, "code"> {
  code: Wait["code"] | "create_deferred";
  /** Whose word it waits for, where the code alone does not say that. */
  waitsFor?: Awaited;
}

/**
 * A run that counts on a booting machine waits for its boot only once that was made. Before, it waits for the
 * answer of the provider, or for the turn in which the provider is asked, again if it has refused.
 */
export function waitForMachine(state: ReadonlyConfigured, wait: Wait, now: Instant): MachineWait {
  const row = wait.worker === undefined ? undefined : state.workers.get(wait.worker);
  if (wait.code !== "machine_booting" || row === undefined || !isUnmade(row)) return wait;
  const turn = isWaiting(row) ? turnOf(state, row, now) : {};
  if (row.failure === undefined) return { ...wait, code: "machine_asked", ...turn };
  return { ...wait, code: "create_deferred", reason: row.reason, ...turn };
}

/** When the provider is asked for a machine that waits for its turn, or whose word brings that about. */
function turnOf(
  state: ReadonlyConfigured,
  row: WorkerRow,
  now: Instant,
): Pick<MachineWait, "until" | "waitsFor"> {
  const closed = holdsOn(state.record.holds, row).filter((hold) => isClosed(hold, now));
  const ends = closed.map(({ until }) => until ?? Number.POSITIVE_INFINITY);
  const until = Math.max(...ends);
  if (until === Number.POSITIVE_INFINITY) return { waitsFor: "operator" };
  // One machine is tried after a hold-off: the others wait for what becomes of that one.
  return closed.length > 0 && isFirstAfter(state, row, closed) ? { until } : { waitsFor: "pool" };
}
