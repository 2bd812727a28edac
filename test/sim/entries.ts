import type { AuditRow } from "../../src/core/audit/entry.ts";
import type { Objects } from "./objects.ts";
import type { World } from "./world.ts";

/**
 * At the end of a story, the pool's part of the audit log has each entry of each run and worker once, and
 * nobody owes it any (audit.md#outbox). Runs that were deleted are left out: nothing says what they had sent.
 */
export function checkEntries({ allocations, workers, pool }: Objects, world: World): void {
  // Only the pool's machine writes this table.
  const rows = [...(pool.disk.tables.get("audit")?.values() ?? [])] as AuditRow[];
  const senders = [...allocations, ...workers].flatMap(([name, { disk }]) => {
    const { value } = disk;
    return value !== null && "audit" in value && value.audit !== undefined ? [{ name, ...value.audit }] : [];
  });
  for (const { name, last, owed } of senders) {
    if (owed.length > 0) world.violated(`log: ${name} still owes ${owed.length} entries`, name);
    const own = rows.filter(({ target }) => target.id === name && target.kind !== "pool");
    const sent = own.filter(
      ({ action }) => !["run.submit", "run.delete", "enrollment.create"].includes(action),
    );
    if (sent.length !== last)
      world.violated(`log: ${name} has sent ${last} entries, and the log has ${sent.length}`, name);
  }
}
