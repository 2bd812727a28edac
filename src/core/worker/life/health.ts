// What the worker does about a host that is in trouble by its own word.
import { troubleIn } from "../../../probes/broken.ts";
import { staleAfter, staleText } from "../../../probes/stale.ts";
import type { Report } from "../../../schema/host.ts";
import { STALE_RUN_MS } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";
import { note, type WorkerRecord } from "../state.ts";
import { withBootOutcome } from "./boot.ts";

/** Folds in what a report says of stale runs (workers.md#stale-runs, per run). */
export function foldStale(record: WorkerRecord, report: Report, now: Instant): WorkerRecord {
  const { stale: known = {}, ...rest } = record;
  const stale = staleAfter(known, report, now);
  if (stale === known) return record;
  let next: WorkerRecord = rest;
  for (const [run, { holder }] of Object.entries(stale)) {
    if (!Object.hasOwn(known, run)) next = note(next, "Stale Run", staleText(run, holder), now);
  }
  return Object.keys(stale).length === 0 ? rest : { ...next, stale };
}

/**
 * A host in trouble gets no further run: it drains (tasks.md#kill-6). Before it was ready a broken one is a
 * failed boot. An operator who says `run` again is contradicted for as long as it is so.
 */
export function foldTrouble(record: WorkerRecord, report: Report, now: Instant): WorkerRecord {
  if (record.idleBehavior !== "run") return record;
  const { staleRunMs = STALE_RUN_MS } = record.intent.settings;
  const trouble = troubleIn(report, record.stale ?? {}, staleRunMs, now);
  if (trouble === undefined) return record;
  const reason = `${trouble.kind}: ${trouble.text}`;
  if (trouble.kind === "unkillable")
    return note({ ...record, idleBehavior: "drain", reason }, "Unkillable", reason, now);
  const failed = withBootOutcome(record, "failure");
  return note({ ...failed, idleBehavior: "drain", reason }, "Broken", trouble.text, now);
}
