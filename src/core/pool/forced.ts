// How does a forced deletion end the runs and workers of a pool?

import { accountName } from "../../shared/cloud/account.ts";
import type { Instant } from "../../shared/machine.ts";
import { isTerminal } from "../../shared/run-state.ts";
import type { Configure, EndRun, KillWorker, LeftBehind } from "../messages.ts";
import { isUnheard, providedWorkers, type WorkerRow } from "./record.ts";
import type { PoolState, ReadonlyConfigured, ReadonlyPool } from "./state.ts";

/** The reason given to runs and workers whose pool is deleted by force. */
const FORCED_REASON = "its pool is deleted by force";

/** Who forces the deletion, and which machines it may leave behind. */
export function forcedDeletion(state: ReadonlyConfigured | ReadonlyPool, { config, by = "" }: Configure) {
  const left: LeftBehind[] = [];
  const provider = accountName(config.provider);
  for (const { worker, instance, doubles, unmade, phase, turn } of providedWorkers(state)) {
    if (phase === "asked" && turn === undefined) continue;
    if (instance === null && unmade) continue;
    left.push({ worker, instance, provider, ...(doubles.length === 0 ? {} : { others: doubles }) });
  }
  return { by, left };
}

/**
 * Marks the workers whose machines were created at the provider's former address. These machines are no
 * longer needed.
 */
export function markElsewhere(state: PoolState, now: Instant): void {
  for (const row of [...providedWorkers(state)]) {
    if (row.phase === "asked") continue;
    state.workers.set(row.worker, { ...row, elsewhere: true }, now);
  }
}

/** The workers that have not yet confirmed that their pool is deleted by force. */
export function workersToKill({ record, workers }: ReadonlyConfigured): KillWorker[] {
  if (record.forced === undefined) return [];
  const { by } = record.forced;
  const existing = [...workers.live()].filter((row) => row.phase !== "asked" && !isUnheard(row));
  return existing.filter((row) => !row.forced).map(({ worker }) => ({ worker, reason: FORCED_REASON, by }));
}

/**
 * The workers that must still be drained: they are booting, and their machines are at a former address of the
 * provider.
 */
export function workersToDrain({ workers }: ReadonlyConfigured): string[] {
  return workers.derive(bootingElsewhere).map(({ worker }) => worker);
}

function bootingElsewhere(workers: readonly WorkerRow[]): WorkerRow[] {
  return workers.filter(
    (row) => row.elsewhere === true && row.phase === "booting" && row.idleBehavior === "run",
  );
}

/** The runs that must end at once, but whose allocations have not acknowledged this yet. */
export function runsToEnd({ record, runs }: ReadonlyConfigured): EndRun[] {
  if (record.forced === undefined) return [];
  const { by } = record.forced;
  return [...runs.live()]
    .filter((row) => !isTerminal(row.state) && row.endAcknowledged !== true)
    .map(({ run, submittedAt }) => ({ run, submittedAt, reason: FORCED_REASON, by }));
}
