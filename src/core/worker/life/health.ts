import type { Report } from "../../../schema/host.ts";
import type { Instant } from "../../../shared/machine.ts";
import { brokenByStale } from "../host/stale.ts";
import { isUnkillable } from "../placements.ts";
import { note, type WorkerRecord } from "../state.ts";
import { withBootOutcome } from "./boot-outcome.ts";

/**
 * A host that says that it is broken, that something of an ended run still holds on there, or that it could
 * not kill what it should, gets no further run: what lives there still holds memory, locks and files
 * (workers.md#stale-runs, workers.md#broken-hosts, workers.md#unkillable-runs, tasks.md#kill-6). Before it
 * was ready that is a failed boot. An operator who says `run` again is contradicted for as long as it is so.
 */
export function foldTrouble(record: WorkerRecord, report: Report, now: Instant): WorkerRecord {
  if (record.idleBehavior !== "run") return record;
  const broken = typeof report.broken === "string" ? report.broken : brokenByStale(record, now);
  if (broken !== undefined) {
    const failed = withBootOutcome(record, "failure");
    return note({ ...failed, idleBehavior: "drain", reason: `broken: ${broken}` }, "Broken", broken, now);
  }
  const stuck = report.attempts.find(isUnkillable);
  if (stuck === undefined) return record;
  const reason = `unkillable: ${stuck.id}: ${stuck.kill?.error}`;
  return note({ ...record, idleBehavior: "drain", reason }, "Unkillable", reason, now);
}
