// What does a worker do when its host reports trouble?
import { troubleIn } from "../../../probes/broken.ts";
import { staleAfter, staleText } from "../../../probes/stale.ts";
import type { Report } from "../../../schema/host.ts";
import type { Instant } from "../../../shared/machine.ts";
import { note, type WorkerRecord } from "../state.ts";
import { withBootOutcome } from "./boot.ts";

/** Notes new stale runs of a report, and drops those that are over (workers.md#stale-runs). */
export function foldStale(record: WorkerRecord, report: Report, now: Instant): WorkerRecord {
  const stale = staleAfter(record.stale, report, now);
  if (stale === record.stale) return record;
  let next: WorkerRecord = { ...record, stale };
  for (const [run, { holder }] of Object.entries(stale)) {
    if (!Object.hasOwn(record.stale, run)) next = note(next, "Stale Run", staleText(run, holder), now);
  }
  return next;
}

/**
 * Drains the worker of a host in trouble (tasks.md#kill-6). A broken host that was never ready is a failed
 * boot. If an operator sets `run` again, the next report undoes that as long as the trouble lasts.
 */
export function foldTrouble(record: WorkerRecord, report: Report, now: Instant): WorkerRecord {
  if (record.idleBehavior !== "run") return record;
  const { staleRunMs } = record.intent.settings;
  const trouble = troubleIn(report, record.stale, staleRunMs, now);
  if (trouble === undefined) return record;
  const reason = `${trouble.kind}: ${trouble.text}`;
  if (trouble.kind === "unkillable")
    return note({ ...record, idleBehavior: "drain", reason }, "Unkillable", reason, now);
  const failed = withBootOutcome(record, "failure");
  return note({ ...failed, idleBehavior: "drain", reason }, "Broken", trouble.text, now);
}
