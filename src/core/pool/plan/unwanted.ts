import type { Instant } from "../../../shared/machine.ts";
import { isWaiting, type WorkerRow } from "../record.ts";
import type { Configured, ReadonlyConfigured } from "../state.ts";
import { byAge } from "./packing.ts";
import { keptInstances } from "./plan.ts";

/**
 * The workers without a machine whose creates wait for a turn, and on which nothing counts: neither a run of
 * the queue nor the minimum. To ask for such a machine, again or at all, would be to pay for nothing.
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

/** Those that take runs, since an operator may hold one that is to stay. The youngest first. */
function waitingCreates(workers: readonly WorkerRow[]): WorkerRow[] {
  const waiting = workers.filter((row) => {
    const isCreate = row.phase === "asked" || (row.phase === "booting" && row.waits === "create");
    return isCreate && row.instance === null && row.idleBehavior === "run" && isWaiting(row);
  });
  return byAge(waiting).reverse();
}

/** Withdraws the permits of machines that nobody was told of and nothing counts on. True: there were some. */
export function withdrawUnwanted(state: Configured, now: Instant): boolean {
  const untold = unwantedCreates(state).filter(({ phase }) => phase === "asked");
  const reason = "never asked for: nothing needs it any more";
  for (const row of untold)
    state.workers.set(row.worker, { ...row, phase: "gone", reason, heardAt: now }, now);
  return untold.length > 0;
}

/** The workers that are to be told that their machines, which the provider has not made, are not needed. */
export function workersToGiveUp(state: ReadonlyConfigured): string[] {
  return unwantedCreates(state)
    .filter(({ phase }) => phase === "booting")
    .map(({ worker }) => worker);
}
