// When is the refusal of a host's call recorded in the events of its worker?
import type { ErrorCode } from "../../../shared/errors.ts";
import { NOTE_REFUSAL_MS } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";
import { iso } from "../../../shared/time/instant.ts";
import { note, type WorkerRecord } from "../state.ts";

/** The kind of a refusal: an error code, or a report that was repeated or late. */
export type RefusalKind = ErrorCode | "repeated_report";

/**
 * Notes a refusal, so that a cloned disk or a stolen host secret becomes visible. Each note costs a written
 * row, and anybody can cause a refusal. So each kind of refusal is noted at most once a minute; the stored
 * events show when it was last noted.
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
