// Which permits cannot be used, so that runs must not count on them?
import type { Instant } from "../../../shared/machine.ts";
import { holdsOn, isClosed } from "../provider/hold-offs.ts";
import { isWaiting, type WorkerRow } from "../record.ts";
import { type Configured, hasLiveRuns, type ReadonlyConfigured } from "../state.ts";

/**
 * Withdraws permits that their workers do not know yet and that cannot be used now: a hold-off applies, the
 * type is no longer configured, or the pool is being deleted. Otherwise runs would count on them for as long
 * as that lasts; the next plan creates what is still needed. The row stays as gone, so that readers of
 * changes see its end.
 */
export function withdrawUnusable(state: Configured, now: Instant): void {
  for (const row of state.workers.derive(withoutTurn)) {
    const reason = whyWithdrawn(state, row, now);
    if (reason !== undefined)
      state.workers.set(row.worker, { ...row, phase: "gone", reason, heardAt: now }, now);
  }
}

/** Workers with a permit and no turn yet: they have not received their intent. */
function withoutTurn(workers: readonly WorkerRow[]): WorkerRow[] {
  return workers.filter((row) => row.phase === "asked" && isWaiting(row));
}

function whyWithdrawn(state: ReadonlyConfigured, row: WorkerRow, now: Instant): string | undefined {
  const { config, holds, leaving, forced } = state.record;
  if (leaving === true && (forced !== undefined || !hasLiveRuns(state)))
    return "never created: its pool is deleted";
  if (!Object.hasOwn(config.instanceTypes, row.instanceType))
    return `never created: instance type ${row.instanceType} is no longer configured`;
  const closed = holdsOn(holds, row).find((hold) => isClosed(hold, now));
  return closed === undefined ? undefined : `never created, because of a hold-off: ${closed.reason}`;
}
