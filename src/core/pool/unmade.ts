import type { WorkerSummary } from "../../schema/pool.ts";
import type { Instant } from "../machine.ts";
import { holdsOn, isClosed } from "./hold-offs.ts";
import type { Wait } from "./plan.ts";
import { type Configured, isWaiting, type WorkerRow } from "./state.ts";

/** What came of asking the provider for a worker's machine; null: it is one's own. */
export function machineOf({
  own,
  instance,
  failure,
}: WorkerRow): NonNullable<WorkerSummary["machine"]> | null {
  if (own !== undefined) return null;
  if (instance !== null) return "made";
  return failure === undefined ? "asked" : "refused";
}

/** Whether a worker is booting by its state, and yet has no machine that could boot. */
export function isUnmade(row: WorkerRow): boolean {
  return (
    (row.phase === "booting" || row.phase === "asked") && machineOf(row) !== "made" && row.own === undefined
  );
}

/** What a run waits for that counts on a machine, as far as there is one. */
export type MachineWait = Omit<Wait, "code"> & { code: Wait["code"] | "create_deferred" };

/**
 * A run that counts on a booting machine waits for its boot only once it was made: until then for the
 * provider's answer, or for the next try, if that was no.
 */
export function waitForMachine(state: Configured, wait: Wait, now: Instant): MachineWait {
  const row = wait.worker === undefined ? undefined : state.workers.get(wait.worker);
  if (wait.code !== "machine_booting" || row === undefined || !isUnmade(row)) return wait;
  const ends = holdsOn(state.record.holds, row).flatMap((hold) =>
    hold.until !== null && isClosed(hold, now) ? [hold.until] : [],
  );
  const until = ends.length === 0 || !isWaiting(row) ? {} : { until: Math.max(...ends) };
  if (row.failure === undefined) return { ...wait, code: "machine_asked", ...until };
  return { ...wait, code: "create_deferred", reason: row.reason, ...until };
}
