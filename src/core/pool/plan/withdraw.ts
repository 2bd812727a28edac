import type { Instant } from "../../../shared/machine.ts";
import { holdsOn, isClosed } from "../provider/hold-offs.ts";
import { isWaiting, type WorkerRow } from "../record.ts";
import { type Configured, hasLiveRuns, type ReadonlyConfigured } from "../state.ts";

/**
 * Withdraws the permits of machines that nobody was told of, and that have no use now: their type is held
 * off or configured no more, or nothing in the pool needs a machine, since it is being deleted. Otherwise
 * runs would count on them, although no turn comes for as long as that lasts. What is needed all the same is
 * planned again from what may be asked for now. The row stays as one that is over, so that readers of the
 * changes learn of its end.
 */
export function withdrawUntold(state: Configured, now: Instant): void {
  for (const row of state.workers.derive(untold)) {
    const reason = whyWithdrawn(state, row, now);
    if (reason !== undefined)
      state.workers.set(row.worker, { ...row, phase: "gone", reason, heardAt: now }, now);
  }
}

/** Those that have a permit, and have had no turn: their workers do not know of themselves. */
function untold(workers: readonly WorkerRow[]): WorkerRow[] {
  return workers.filter((row) => row.phase === "asked" && isWaiting(row));
}

function whyWithdrawn(state: ReadonlyConfigured, row: WorkerRow, now: Instant): string | undefined {
  const { config, holds, leaving, forced } = state.record;
  if (leaving === true && (forced !== undefined || !hasLiveRuns(state)))
    return "never asked for: its pool is deleted";
  if (!Object.hasOwn(config.instanceTypes, row.instanceType))
    return `never asked for: instance type ${row.instanceType} is configured no more`;
  const closed = holdsOn(holds, row).find((hold) => isClosed(hold, now));
  return closed === undefined ? undefined : `never asked for, because of a hold-off: ${closed.reason}`;
}
