// What has a deleted pool still to do for its part of the audit log, and when (audit.md#deleted-pools)?
import type { Instant } from "../../../shared/machine.ts";
import { exportableAt } from "../../audit/export.ts";
import { numberAt } from "../../audit/table.ts";
import { runKey } from "../record.ts";
import { type Configured, isRemoved, type ReadonlyConfigured } from "../state.ts";

/**
 * When a deleted pool, which the cron trigger does not wake, exports or removes entries. Undefined: it has
 * none, or it is not deleted.
 */
export function logWakesAt(state: ReadonlyConfigured): Instant | undefined {
  if (!isRemoved(state)) return undefined;
  return isExportOwed(state) ? exportableAt(state.record.exported) : state.audit.trimAt;
}

/** Removes the old entries of a deleted pool. Other pools do so after each day's export. */
export function trimLog(state: Configured, now: Instant): void {
  if (!isRemoved(state) || isExportOwed(state)) return;
  if (now >= (state.audit.trimAt ?? Number.POSITIVE_INFINITY)) state.audit.trim(now);
}

/** Whether there are entries, or submissions, of a day that is not completely exported. */
function isExportOwed({ record: { exported }, audit, runs }: ReadonlyConfigured): boolean {
  if (audit.latest >= numberAt(exported.day)) return true;
  return runs.hasFrom(runKey(exported.day, ""));
}
