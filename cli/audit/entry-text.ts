// How is an entry of the audit log put into words: why, and what it changed?
import type { AuditEntry } from "../../client/types.ts";

/** The reason, and what has changed; empty if there is neither. */
export function detailsOf({ reason, diff }: Pick<AuditEntry, "reason" | "diff">): string {
  const changes = (diff ?? []).map(({ field, from, to }) => `${field}: ${from ?? "-"} -> ${to ?? "-"}`);
  return [reason ?? "", ...changes].filter((text) => text !== "").join("; ");
}
