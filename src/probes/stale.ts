// Which runs have ended on a host while something there still holds on to them, and since when
// (workers.md#stale-runs).
import type { Report } from "../schema/host.ts";
import { MAX_HOLDER_CHARS, MAX_STALE_RUNS } from "../shared/limits.ts";
import type { Instant, Millis } from "../shared/machine.ts";

/** By run: since when something of it is left that nobody supervises, and what that is, if it is known. */
export type StaleRuns = Record<string, { since: Instant; holder: string | null }>;

/**
 * The stale runs after a report; `known` itself, if they are the same. A full report clears the clock of
 * those that it does not name; a delta without the word says nothing new. Of many the first count.
 */
export function staleAfter(known: StaleRuns, report: Report, now: Instant): StaleRuns {
  if (report.stale === undefined && !report.full) return known;
  const runs = runsIn(report.stale ?? []);
  const before = new Map(Object.entries(known));
  if (runs.size === before.size && [...runs.keys()].every((run) => before.has(run))) return known;
  return Object.fromEntries(
    [...runs].map(([run, holder]) => [run, before.get(run) ?? { since: now, holder }]),
  );
}

function runsIn(stale: NonNullable<Report["stale"]>): Map<string, string | null> {
  const runs = new Map<string, string | null>();
  for (const one of stale) {
    if (runs.size >= MAX_STALE_RUNS) break;
    const { run, holder } = typeof one === "string" ? { run: one } : { holder: undefined, ...one };
    runs.set(run, holder?.slice(0, MAX_HOLDER_CHARS) ?? null);
  }
  return runs;
}

/**
 * The run that makes its host count as broken, in words: stale for longer than the time-out at the arrival of
 * a report. Time alone breaks nothing: the next report may say that it is over.
 */
export function brokenByStale(stale: StaleRuns, timeoutMs: Millis, now: Instant): string | undefined {
  const late = Object.entries(stale).find(([, { since }]) => now - since > timeoutMs);
  return late === undefined ? undefined : staleText(late[0], late[1].holder);
}

/** That something holds on to a run, in words. */
export function staleText(run: string, holder: string | null): string {
  return `run ${run} has ended there, and ${holder ?? "something"} still holds on to it`;
}
