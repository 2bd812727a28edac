// Why does a host get no more runs (workers.md#broken-hosts), and which ended runs have left something on it
// (workers.md#stale-runs)?
import type { AttemptReport, Report } from "../schema/host.ts";
import type { Instant, Millis } from "../shared/machine.ts";

/** How many stale runs of one host are listed at most. */
export const MAX_STALE_RUNS = 64;
/** The longest description of what still holds files or locks of a stale run, in characters. */
export const MAX_HOLDER_CHARS = 256;

/**
 * The stale runs by id: ended runs whose files or locks something on the host still holds. `since`: when the
 * run became stale. `holder`: what holds them; null: unknown.
 */
export type StaleRuns = Record<string, { since: Instant; holder: string | null }>;

/**
 * The stale runs after a report; `known` itself if nothing has changed. A report with the field `stale`
 * replaces the list. Without the field, a full report clears the list, and a delta changes nothing. Only the
 * first `MAX_STALE_RUNS` runs count.
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
 * Why a stale run makes its host count as broken: when a report arrives, the run has been stale for longer
 * than the timeout. The passing of time alone never makes a host broken, since the next report may clear the
 * run.
 */
function brokenByStale(stale: StaleRuns, timeoutMs: Millis, now: Instant): string | undefined {
  const late = Object.entries(stale).find(([, { since }]) => now - since > timeoutMs);
  return late === undefined ? undefined : staleText(late[0], late[1].holder);
}

/** Says that something holds on to a run. */
export function staleText(run: string, holder: string | null): string {
  return `run ${run} has ended there, and ${holder ?? "something"} still holds on to it`;
}

/** Why a host gets no more runs. */
export interface Trouble {
  kind: "broken" | "unkillable";
  text: string;
}

/**
 * Why the host of this report gets no more runs. Either the host says that it is broken, or something of an
 * ended or killed run still lives on the host and holds memory, locks or files (workers.md#stale-runs,
 * workers.md#broken-hosts, workers.md#unkillable-runs). Undefined: the host can take more runs.
 */
export function troubleIn(
  report: Report,
  stale: StaleRuns,
  staleRunMs: Millis,
  now: Instant,
): Trouble | undefined {
  const broken = typeof report.broken === "string" ? report.broken : brokenByStale(stale, staleRunMs, now);
  if (broken !== undefined) return { kind: "broken", text: broken };
  const stuck = report.attempts.find(isUnkillable);
  return stuck === undefined ? undefined : { kind: "unkillable", text: `${stuck.id}: ${stuck.kill?.error}` };
}

/** The host tried five times to kill the attempt, and some of its processes still live (tasks.md#kill-6). */
export function isUnkillable({ kill }: AttemptReport): boolean {
  return kill !== undefined && kill.error !== null && !kill.treeGone;
}
