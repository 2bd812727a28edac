// Which entries of the audit log does a reader ask an owner for, and what does the owner answer?
import type { AuditEntry } from "../../schema/access/audit.ts";

/** Selects entries of the audit log. Absent fields select all. */
export interface AuditFilter {
  by?: string | undefined;
  actions?: readonly string[] | undefined;
  /** The id of the target. */
  target?: string | undefined;
  /** Only what concerns this run. */
  run?: string | undefined;
  /** Only what concerns these pools. */
  pools?: readonly string[] | undefined;
  /** Only what is of these projects; null: of none. */
  projects?: readonly (string | null)[] | undefined;
  /** When the log got the entry: from `since` on, and before `until`. */
  since?: number | undefined;
  until?: number | undefined;
}

export interface AuditPageRequest {
  limit: number;
  /** The `next` of an earlier answer. */
  cursor?: string | undefined;
}

/** `latest`: the number after which entries come that are not stored yet. */
export interface AuditPage {
  items: AuditEntry[];
  next: string | null;
  latest: number;
}

/** `next`: the number after which to go on. */
export interface AuditNews {
  items: AuditEntry[];
  next: number;
}
