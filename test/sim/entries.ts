import type { AuditRow } from "../../src/core/audit/entry.ts";
import type { Objects } from "./objects.ts";
import type { World } from "./world.ts";

/**
 * At the end of a story, the pool's part of the audit log has each entry of each run and worker once, and
 * nobody owes it any (audit.md#outbox). Runs that were deleted are left out: nothing says what they had sent.
 */
export function checkEntries(objects: Objects, world: World): void {
  // Only the pool's machine writes this table.
  const rows = [...(objects.pool.disk.tables.get("audit")?.values() ?? [])] as AuditRow[];
  for (const { name, last, owed } of sendersIn(objects)) {
    if (owed.length > 0) world.violated(`log: ${name} still owes ${owed.length} entries`, name);
    const own = rows.filter(({ target, action, by }) =>
      action === "secret.hand" ? by === `host:${name}` : target.id === name && target.kind !== "pool",
    );
    const sent = own.filter(
      ({ action }) => !["run.submit", "run.delete", "enrollment.create"].includes(action),
    );
    if (sent.length !== last)
      world.violated(`log: ${name} has sent ${last} entries, and the log has ${sent.length}`, name);
  }
}

/** Whether anybody still owes the log an entry: an alarm may be on its way. */
export function isEntryOwed(objects: Objects): boolean {
  return sendersIn(objects).some(({ owed }) => owed.length > 0);
}

/** The runs and workers that have ever had an entry. */
function sendersIn({ allocations, workers }: Objects) {
  return [...allocations, ...workers].flatMap(([name, { disk }]) => {
    const { value } = disk;
    return value !== null && "audit" in value && value.audit !== undefined ? [{ name, ...value.audit }] : [];
  });
}
