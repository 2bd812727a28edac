// How is an entry of the audit log put into words: who did it, why, and what it changed?
import type { AuditEntry } from "../../client/types.ts";

/** Who did it, as `--actor` of `drover audit` takes it. */
export function actorOf({ actor }: Pick<AuditEntry, "actor">): string {
  return actor.kind === actor.name ? actor.name : `${actor.kind}:${actor.name}`;
}

/** The reason, and what has changed; empty if there is neither. */
export function detailsOf({ reason, diff }: Pick<AuditEntry, "reason" | "diff">): string {
  const changes = (diff ?? []).map(({ field, from, to }) => `${field}: ${from ?? "-"} -> ${to ?? "-"}`);
  return [reason ?? "", ...changes].filter((text) => text !== "").join("; ");
}
