// How much CPU and memory do the runs of a worker use?
import type { Report, Sample } from "../../../schema/host.ts";
import type { Instant } from "../../../shared/machine.ts";
import { livePlacements, type ReadonlyExistingWorker, type WorkerMemo } from "../state.ts";

/** If the latest sample is older than this, a request for a host's usage causes a new sample. */
export const SAMPLE_FRESH_MS = 15_000;

/** Usage of the attempts of one run, measured at `at`. */
export interface RunUsage {
  at: Instant;
  attempts: Record<string, Sample>;
}

/**
 * The usage in a report, for ordered attempts only. The usage is never stored: a sample is not worth a row.
 */
export function usageReported(
  state: ReadonlyExistingWorker,
  { usage }: Report,
  now: Instant,
): WorkerMemo["usage"] {
  if (usage === undefined) return state.memo.usage;
  const ids = livePlacements(state).flatMap(({ order }) => order?.attempts.map(({ id }) => id) ?? []);
  const attempts: Record<string, Sample> = {};
  for (const id of ids) {
    const sample = usage.attempts[id];
    if (sample !== undefined) attempts[id] = sample;
  }
  return { at: now - usage.agoMs, attempts };
}

/** Whether the latest usage is recent enough to show. If not, the host is asked for a new sample. */
export function isUsageFresh({ memo }: ReadonlyExistingWorker, now: Instant): boolean {
  return memo.usage !== null && now - memo.usage.at <= SAMPLE_FRESH_MS;
}

/** Usage of a run's attempts, as far as known; null: unknown. */
export function usageOfRun({ memo }: ReadonlyExistingWorker, run: string): RunUsage | null {
  const { usage } = memo;
  if (usage === null) return null;
  const own = Object.entries(usage.attempts).filter(([id]) => id.startsWith(`${run}/`));
  return own.length === 0 ? null : { at: usage.at, attempts: Object.fromEntries(own) };
}
