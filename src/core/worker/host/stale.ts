import type { Report } from "../../../schema/host.ts";
import { MAX_HOLDER_CHARS, MAX_STALE_RUNS, STALE_RUN_MS } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";
import { ownValue } from "../../own-value.ts";
import { note, type WorkerRecord } from "../state.ts";

/** By run: since when something of it is left that nobody supervises, and what that is, if it is known. */
export type StaleRuns = Record<string, { since: Instant; holder: string | null }>;

/**
 * Folds in what a report says of stale runs (workers.md#stale-runs), per run. Of those that a full report
 * does not name, the clock is cleared; a delta without the word says nothing new. One is enough to count: of
 * many the first are kept.
 */
export function foldStale(record: WorkerRecord, report: Report, now: Instant): WorkerRecord {
  const { stale: known = {}, ...rest } = record;
  if (report.stale === undefined && !report.full) return record;
  const runs = runsIn(report.stale ?? []);
  const same =
    runs.size === Object.keys(known).length && [...runs.keys()].every((run) => Object.hasOwn(known, run));
  if (same) return record;
  let next: WorkerRecord = rest;
  const entries = [...runs].map(([run, holder]): [string, StaleRuns[string]] => {
    const before = ownValue(known, run);
    if (before === undefined) next = note(next, "Stale Run", textOf(run, holder), now);
    return [run, before ?? { since: now, holder }];
  });
  return entries.length === 0 ? rest : { ...next, stale: Object.fromEntries(entries) };
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
 * The run that makes its host count as broken: stale for longer than the time-out at the arrival of a report.
 * Time alone breaks nothing: the next report may say that it is over.
 */
export function brokenByStale({ stale = {}, intent }: WorkerRecord, now: Instant): string | undefined {
  const { staleRunMs = STALE_RUN_MS } = intent.settings;
  const late = Object.entries(stale).find(([, { since }]) => now - since > staleRunMs);
  return late === undefined ? undefined : textOf(late[0], late[1].holder);
}

function textOf(run: string, holder: string | null): string {
  return `run ${run} has ended there, and ${holder ?? "something"} still holds on to it`;
}
