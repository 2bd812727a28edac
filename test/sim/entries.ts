import type { AuditRow } from "../../src/core/audit/entry.ts";
import type { WorkerRow } from "../../src/core/pool/record.ts";
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

/**
 * The runs and workers that have ever had an entry. What the pool has of a worker that is gone is not owed,
 * though the worker may not know: where its alarm is lost nobody wakes it any more, and nothing is missing.
 */
function sendersIn({ allocations, workers, pool }: Objects) {
  // Only the pool's machine writes this table.
  const rows = pool.disk.tables.get("workers") as ReadonlyMap<string, WorkerRow> | undefined;
  const heard = (name: string) => {
    const row = rows?.get(name);
    return row?.phase === "gone" ? (row.audited ?? 0) : 0;
  };
  return [...allocations, ...workers].flatMap(([name, { disk }]) => {
    const { value } = disk;
    if (value === null || !("audit" in value) || value.audit === undefined) return [];
    const { last, owed } = value.audit;
    return [{ name, last, owed: owed.filter(({ n }) => n > heard(name)) }];
  });
}
