// Which requested machines are no longer needed?
import type { Instant } from "../../../shared/machine.ts";
import { isWaiting, type WorkerRow } from "../record.ts";
import type { Configured, ReadonlyConfigured } from "../state.ts";
import { byAge } from "./packing.ts";
import { keptInstances } from "./plan.ts";

/**
 * Workers without a machine that wait for their turn to create one, although no queued run and no minimum
 * needs it.
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
 * Workers that wait to create a machine and would take runs; an operator may hold one on purpose. Youngest
 * first.
 */
function waitingCreates(workers: readonly WorkerRow[]): WorkerRow[] {
  const waiting = workers.filter((row) => {
    const isCreate = row.phase === "asked" || (row.phase === "booting" && row.waits === "create");
    return isCreate && row.instance === null && row.idleBehavior === "run" && isWaiting(row);
  });
  return byAge(waiting).reverse();
}

/** Withdraws unneeded permits that their workers do not know yet. Returns whether there were any. */
export function withdrawUnwanted(state: Configured, now: Instant): boolean {
  const permits = unwantedCreates(state).filter(({ phase }) => phase === "asked");
  const reason = "never created: it is no longer needed";
  for (const row of permits)
    state.workers.set(row.worker, { ...row, phase: "gone", reason, heardAt: now }, now);
  return permits.length > 0;
}

/** Workers that must learn that their machines, which the provider has not made yet, are not needed. */
export function workersToGiveUp(state: ReadonlyConfigured): string[] {
  return unwantedCreates(state)
    .filter(({ phase }) => phase === "booting")
    .map(({ worker }) => worker);
}
