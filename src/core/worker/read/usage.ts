import type { Report, Sample } from "../../../schema/host.ts";
import { SAMPLE_FRESH_MS } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";
import { livePlacements, type ReadonlyLiving, type WorkerMemo } from "../state.ts";

/** What the placements of one run use. `at`: when that was measured. */
export interface RunUsage {
  at: Instant;
  attempts: Record<string, Sample>;
}

/**
 * The usage that is remembered after a report: of what this worker was given. It is never stored: a sample is
 * worth no row.
 */
export function usageReported(state: ReadonlyLiving, { usage }: Report, now: Instant): WorkerMemo["usage"] {
  if (usage === undefined) return state.memo.usage;
  const ids = livePlacements(state).flatMap(({ order }) => order?.attempts.map(({ id }) => id) ?? []);
  const attempts: Record<string, Sample> = {};
  for (const id of ids) {
    const sample = usage.attempts[id];
    if (sample !== undefined) attempts[id] = sample;
  }
  return { at: now - usage.agoMs, attempts };
}

/** Whether what is remembered is news enough for somebody who asks. If not, the host is asked. */
export function isUsageFresh({ memo }: ReadonlyLiving, now: Instant): boolean {
  return memo.usage !== null && now - memo.usage.at <= SAMPLE_FRESH_MS;
}

/** What the attempts of a run use, as far as that is known; null: nothing has been said of them. */
export function usageOfRun({ memo }: ReadonlyLiving, run: string): RunUsage | null {
  const { usage } = memo;
  if (usage === null) return null;
  const own = Object.entries(usage.attempts).filter(([id]) => id.startsWith(`${run}/`));
  return own.length === 0 ? null : { at: usage.at, attempts: Object.fromEntries(own) };
}
