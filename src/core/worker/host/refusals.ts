import type { ErrorCode } from "../../../shared/errors.ts";
import { NOTE_REFUSAL_MS } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";
import { iso } from "../../../shared/time/instant.ts";
import { note, type WorkerRecord } from "../state.ts";

/**
 * What was not taken from somebody who spoke for a host: an error's code, or a report that is none any more.
 */
export type RefusalKind = ErrorCode | "repeated_report";

/**
 * Notes with the worker that something was refused: a clone, or a thief, shall be seen. Each note is a row
 * and anybody can knock, so each kind is noted at most once a minute, by what is stored, since memory does
 * not last. One kind does not hide another.
 */
export function noteRefusal(
  record: WorkerRecord,
  kind: RefusalKind,
  reason: string,
  now: Instant,
): WorkerRecord {
  const since = iso(now - NOTE_REFUSAL_MS);
  if (record.events.some(({ code, at }) => code === kind && at > since)) return record;
  const type = kind === "repeated_report" ? "Repeated Report" : "Refused";
  return note(record, type, reason, now, { code: kind });
}
