// Can this host take another run, judging by its report?
import type { AttemptReport, Report } from "../schema/host.ts";
import type { Instant, Millis } from "../shared/machine.ts";
import { brokenByStale, type StaleRuns } from "./stale.ts";

/** Why a host gets no more runs. */
export interface Trouble {
  kind: "broken" | "unkillable";
  text: string;
}

/**
 * Why the host of this report gets no more runs: it says that it is broken, or something of an ended or
 * killed run still lives there and holds memory, locks and files (workers.md#stale-runs,
 * workers.md#broken-hosts, workers.md#unkillable-runs). Undefined: it can take more.
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
