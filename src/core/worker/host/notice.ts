// What follows when a host gives notice that its machine will end soon?
import { isSameNotice, type Notice, noticeIn } from "../../../probes/notice.ts";
import type { Report } from "../../../schema/host.ts";
import type { Instant } from "../../../shared/machine.ts";
import { iso } from "../../../shared/time/instant.ts";
import type { IdleBehavior, LossCause } from "../../messages.ts";
import { note, type WorkerRecord } from "../state.ts";

/**
 * The effective idle behavior. A worker whose host gave notice drains even if an operator set `run`, until
 * the notice is withdrawn; a held worker stays held (workers.md#idle-behaviors).
 */
export function behaviorOf({ idleBehavior, notice }: WorkerRecord): IdleBehavior {
  return idleBehavior === "run" && notice !== null ? "drain" : idleBehavior;
}

/**
 * Folds in the notice of a report. `null` withdraws an earlier one, unless the worker is ending. A
 * report without the field does not: a restarted agent may not know the notice yet.
 */
export function foldNotice(record: WorkerRecord, report: Report, now: Instant): WorkerRecord {
  const said = noticeIn(report, now);
  if (said === undefined) return record;
  const { notice: known } = record;
  if (said === null) return known === null || isEnding(record) ? record : withdrawNotice(record, known, now);
  if (known !== null && isSameNotice(known, said)) return record;
  const by = said.goneAt === null ? "" : `, and it will be gone at ${iso(said.goneAt)}`;
  const next = { ...record, notice: said, reason: reasonFor(record, said) };
  return note(next, "Notice", `its host drains: ${said.text}${by}`, now);
}

/** Why placements on the machine are lost, if the host gave notice. */
export function lossCause({ notice }: WorkerRecord): LossCause | undefined {
  return notice === null ? undefined : "interruption";
}

function withdrawNotice(record: WorkerRecord, known: Notice, now: Instant): WorkerRecord {
  const reason = record.reason === textOf(known) ? record.phase : record.reason;
  return note(
    { ...record, notice: null, reason },
    "Notice Withdrawn",
    "its host has withdrawn the notice",
    now,
  );
}

/** A worker that is ending, or has a behavior set by an operator, keeps its reason. */
function reasonFor(record: WorkerRecord, notice: Notice): string {
  return !isEnding(record) && record.idleBehavior === "run" ? textOf(notice) : record.reason;
}

function isEnding({ phase }: WorkerRecord): boolean {
  return phase === "shutdown" || phase === "gone";
}

function textOf({ text }: Notice): string {
  return `its host drains: ${text}`;
}
