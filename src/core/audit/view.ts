// How does an entry of the audit log look to its readers (audit.md#entries)?
import type { AuditEntry } from "../../schema/access/audit.ts";
import type { Instant } from "../../shared/machine.ts";
import { iso } from "../../shared/time/instant.ts";
import type { NewEntry } from "./entry.ts";

/** Who has acted, from the name that events have for them (access.md#actors). */
export function actorOf(by: string): AuditEntry["actor"] {
  const [, kind = by, name = by] = /^([^:]*):([\s\S]*)$/.exec(by) ?? [];
  return { kind, name };
}

/** The entry for readers. `id`: unique among all entries. `recordedAt`: when its owner stored it. */
export function entryView(entry: NewEntry, id: string, recordedAt: Instant): AuditEntry {
  const { at, by, action, target, pool, run, project, result } = entry;
  const { reason = null, diff = null, via = null } = entry;
  const times = { at: iso(at), recordedAt: iso(recordedAt) };
  return { id, ...times, actor: actorOf(by), action, target, pool, run, project, result, reason, diff, via };
}
