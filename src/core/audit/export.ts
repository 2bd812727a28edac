// Which entries does an owner still have to export, and to which file (audit.md#export)?
import type { Envelope, Instant } from "../../shared/machine.ts";

const DAY_MS = 24 * 3_600_000;
/**
 * How long after the end of a day its entries are exported, and how late a submission may reach its pool
 * without an entry of its own.
 */
export const LATE_MS = 10 * 60_000;

/** How far an owner has exported its entries. */
export interface Exported {
  /** The first day that is not completely exported, as the instant at which it begins. */
  day: Instant;
  /** How many files of that day exist. */
  parts: number;
  /** The keys of the last exported entry and submission. Empty: none. */
  entry: string;
  run: string;
  /** The digest of the last line of the chain. Empty: there is no line yet. */
  digest: string;
}

/** The next file to write. */
export type ExportMessage = Envelope & { kind: "export_audit"; from: Exported; before: Instant };

/** What became of it. */
export interface ExportAnswered {
  type: "audit_exported";
  from: Exported;
  exported: Exported;
}

/** The beginning of the day of an instant, in UTC. */
export function dayOf(at: Instant): Instant {
  return Math.floor(at / DAY_MS) * DAY_MS;
}

/** The beginning of the day after this one. */
export function dayAfter(day: Instant): Instant {
  return day + DAY_MS;
}

/** The state of an owner that begins now: there is nothing to export from before this day. */
export function nothingExported(now: Instant): Exported {
  return { day: dayOf(now), parts: 0, entry: "", run: "", digest: "" };
}

/** When the first day that is not completely exported can be exported. */
export function exportableAt({ day }: Exported): Instant {
  return dayAfter(day) + LATE_MS;
}

/**
 * The next step of the export, if a day is over (audit.md#export). The cron trigger repeats it, so it needs
 * no alarm.
 */
export function exportDue(exported: Exported | undefined, now: Instant): ExportMessage[] {
  if (exported === undefined || now < exportableAt(exported)) return [];
  const before = dayOf(now - LATE_MS);
  return [{ to: "bucket", kind: "export_audit", repeatedBy: "peer", from: exported, before }];
}

/** The state after a step, unless another step was quicker. */
export function foldExported(known: Exported | undefined, { from, exported }: ExportAnswered) {
  const isPresent = known !== undefined && JSON.stringify(known) === JSON.stringify(from);
  return isPresent ? exported : known;
}
