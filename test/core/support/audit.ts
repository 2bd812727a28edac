import type { AuditRow } from "../../../src/core/audit/entry.ts";
import { AuditTable } from "../../../src/core/audit/table.ts";
import { Rows } from "../../../src/core/rows.ts";
import { MapDisk } from "./map-disk.ts";

/** An owner's part of the audit log, on this disk. */
export function auditTable(disk = new MapDisk<AuditRow>()): AuditTable {
  const last = [...disk.rows.keys()].sort().at(-1) ?? "0";
  return new AuditTable(new Rows(disk, () => false), Number(last));
}
