// Which requested machines does a pool give up, because they are not needed or their permits cannot be used?
import type { Instant } from "../../../shared/machine.ts";
import { holdsOn, isClosed } from "../provider/hold-offs.ts";
import { isWaiting, type WorkerRow } from "../record.ts";
import { type Configured, hasLiveRuns, type ReadonlyConfigured } from "../state.ts";
import { byAge } from "./packing.ts";
import { keptInstances } from "./plan.ts";
import { typeNamed } from "./types.ts";

/**
 * Workers that wait for their turn to create a machine that neither a queued run nor `minInstances` needs.
 */
export function unwantedCreates(state: ReadonlyConfigured): WorkerRow[] {
  const { pass } = state.memo.latest;
  const waiting = state.workers.derive(waitingCreates);
  if (pass === null || waiting.length === 0) return [];
  const unawaited = waiting.filter(({ worker }) => !pass.awaited.has(worker));
  if (unawaited.length === 0) return [];
  const spare = keptInstances(state, state.memo.decidedAt) - state.record.config.minInstances;
  return unawaited.slice(0, Math.max(0, spare));
}

/**
 * Workers that wait for their turn to create a machine, youngest first. Workers whose idle behavior is not
 * `run` are left out.
 */
function waitingCreates(workers: readonly WorkerRow[]): WorkerRow[] {
  const waiting = workers.filter((row) => {
    const isCreate = row.phase === "asked" || (row.phase === "booting" && row.waits === "create");
    return isCreate && row.instance === null && row.idleBehavior === "run" && isWaiting(row);
  });
  return byAge(waiting).reverse();
}

/**
 * Withdraws the unneeded permits that their workers have not received yet. Returns whether there were such
 * permits.
 */
export function withdrawUnwanted(state: Configured, now: Instant): boolean {
  const permits = unwantedCreates(state).filter(({ phase }) => phase === "asked");
  const reason = "never created: it is no longer needed";
  for (const row of permits)
    state.workers.set(row.worker, { ...row, phase: "gone", reason, heardAt: now }, now);
  return permits.length > 0;
}

/** Workers to be told that their machines are not needed. The provider has not made these machines yet. */
export function workersToGiveUp(state: ReadonlyConfigured): string[] {
  return unwantedCreates(state)
    .filter(({ phase }) => phase === "booting")
    .map(({ worker }) => worker);
}

/**
 * Withdraws permits that workers have not received yet and cannot use now: a hold-off applies, the type is no
 * longer configured, or the pool is being deleted. Otherwise runs would count on machines that do not come.
 * If machines are still needed, the next plan requests new ones. The row stays in phase `gone`, so that
 * readers of changes see the worker's end.
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
  if (typeNamed(config, row.instanceType) === undefined)
    return `never created: instance type ${row.instanceType} is no longer configured`;
  const closed = holdsOn(holds, row).find((hold) => isClosed(hold, now));
  return closed === undefined ? undefined : `never created, because of a hold-off: ${closed.reason}`;
}
