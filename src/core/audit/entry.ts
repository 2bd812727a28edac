// What does an entry of the audit log say, and what does it never contain (audit.md#entries)?
import type { AuditAction, AuditDiff, AuditTarget } from "../../schema/access/audit.ts";
import type { Instant } from "../../shared/machine.ts";
import type { Via } from "./via.ts";

/** The most characters of a reason that an entry keeps: so the names of all secrets of a task fit. */
export const MAX_REASON_CHARS = 2_500;

/** What was done, before its owner has numbered it. */
export interface NewEntry {
  /** When it was done. */
  at: Instant;
  /** Who did it, as events name them (access.md#actors). */
  by: string;
  action: AuditAction;
  target: AuditTarget;
  /** The pool that it concerns; null: none. */
  pool: string | null;
  /** The run that it concerns; null: none. */
  run: string | null;
  /** Whose entry it is; null: the operator's (projects.md). */
  project: string | null;
  /** Whether it was done, or refused. */
  result: "ok" | "denied";
  reason?: string;
  diff?: AuditDiff[];
  /** The request that asked for it. Absent: no request of a user did. */
  via?: Via;
}

/** A stored entry. Rows are keyed by `number`. */
export interface AuditRow extends NewEntry {
  /** The instant at which its owner stored it, in thousandths of a millisecond. It only grows. */
  number: number;
}

/** An entry as an allocation or a worker keeps it until its pool has it (`outbox.ts`). */
export type OwedEntry = Pick<NewEntry, "at" | "by" | "action" | "diff" | "reason" | "via"> & {
  /** Counts the entries of one sender, from 1. */
  n: number;
  /** The run that a worker's entry is about. Absent: it is about the sender. */
  about?: string;
};

/** A reason of bounded length, as the field of an entry; nothing for an empty reason. */
export function reasonField(reason: string | undefined): Pick<NewEntry, "reason"> {
  return reason === undefined || reason === "" ? {} : { reason: reason.slice(0, MAX_REASON_CHARS) };
}

/** How many entries were lost, as the subject and the verb of a reason. */
export function countText(lost: number): string {
  return lost === 1 ? "1 entry was" : `${lost} entries were`;
}
