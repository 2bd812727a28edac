import { isSameNotice, type Notice, noticeIn } from "../../../probes/notice.ts";
import type { Report } from "../../../schema/host.ts";
import type { Instant } from "../../../shared/machine.ts";
import { iso } from "../../../shared/time/instant.ts";
import type { IdleBehavior, LossCause } from "../../messages.ts";
import { note, type WorkerRecord } from "../state.ts";

/**
 * What the worker does when it has nothing to do. While its host gives notice it drains, whatever the
 * operator has said before or says meanwhile; held ones stay held (workers.md#idle-behaviors). What the
 * operator has said counts again when the notice is taken back.
 */
export function behaviorOf({ idleBehavior, notice }: WorkerRecord): IdleBehavior {
  return idleBehavior === "run" && notice !== undefined ? "drain" : idleBehavior;
}

/**
 * Folds in what a report says of it. "None" takes the notice back, unless the worker ends already. Silence
 * does not: an agent that was just started may not know yet.
 */
export function foldNotice(record: WorkerRecord, report: Report, now: Instant): WorkerRecord {
  const said = noticeIn(report, now);
  if (said === undefined) return record;
  const { notice: known, ...rest } = record;
  if (said === null) return known === undefined || isEnding(record) ? record : takenBack(rest, known, now);
  if (known !== undefined && isSameNotice(known, said)) return record;
  const by = said.goneAt === null ? "" : `, and it will be gone at ${iso(said.goneAt)}`;
  const next = { ...record, notice: said, reason: reasonFor(record, said) };
  return note(next, "Notice", `its host drains: ${said.text}${by}`, now);
}

/** Why what was on the machine is lost, if it is. */
export function lossCause({ notice }: WorkerRecord): LossCause | undefined {
  return notice === undefined ? undefined : "interruption";
}

function takenBack(record: WorkerRecord, known: Notice, now: Instant): WorkerRecord {
  const reason = record.reason === textOf(known) ? record.phase : record.reason;
  return note({ ...record, reason }, "Notice Withdrawn", "its host drains no more", now);
}

/** An end that is decided already, and a behavior that somebody has set, keep their reasons. */
function reasonFor(record: WorkerRecord, notice: Notice): string {
  return !isEnding(record) && record.idleBehavior === "run" ? textOf(notice) : record.reason;
}

function isEnding({ phase }: WorkerRecord): boolean {
  return phase === "shutdown" || phase === "gone";
}

function textOf({ text }: Notice): string {
  return `its host drains: ${text}`;
}
