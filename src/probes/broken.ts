// Whether a host can be given another run, by its own word.
import type { AttemptReport, Report } from "../schema/host.ts";
import type { Instant, Millis } from "../shared/machine.ts";
import { brokenByStale, type StaleRuns } from "./stale.ts";

/** Why a host gets no further run. */
export interface Trouble {
  kind: "broken" | "unkillable";
  text: string;
}

/**
 * What speaks against another run on the host of this report: it says that it is broken, something of an
 * ended run still holds on there, or it could not kill what it should. What lives there still holds memory,
 * locks and files (workers.md#stale-runs, workers.md#broken-hosts, workers.md#unkillable-runs).
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

/** The host has tried five times to kill it and says that something of it lives (tasks.md#kill-6). */
export function isUnkillable({ kill }: AttemptReport): boolean {
  return kill !== undefined && kill.error !== null && !kill.treeGone;
}
