// What is stored of a run, and what is its state right after loading? Its memo follows from the stored record
// and alarm, and determines which messages are sent again.
import { RETRY_LONGEST_MS } from "../../shared/limits.ts";
import type { Instant } from "../../shared/machine.ts";
import { type AllocationRecord, type AllocationState, EMPTY_MEMO, type Tombstone } from "./state.ts";
import { orderChangesAt } from "./time/order-deadlines.ts";

/**
 * The state of an allocation from its record and alarm. While an allocation owes a message, its alarm is at
 * most one retry away. So if the alarm of an ended run is later, the alarm is for the run's logs
 * (`forget.ts`, `logsUntil`).
 */
export function allocationFrom(
  stored: AllocationRecord | Tombstone | null,
  alarmAt: Instant | null,
  now: Instant,
): AllocationState {
  const hasEnded = stored !== null && "ended" in stored && stored.ended;
  const far = hasEnded && alarmAt !== null && alarmAt > now + RETRY_LONGEST_MS;
  const state = loadedAllocation(stored, alarmAt === null || far);
  return far ? { ...state, memo: { ...state.memo, askAt: alarmAt } } : state;
}

/**
 * The state of an allocation right after loading. `settled`: the allocation owes no message, so others have
 * confirmed everything that it has stored. `settled` is ignored for a run that has not ended and has no open
 * placement. Such a run may never have reached its pool, if its alarm was lost, or its pool may have placed
 * it after the record was stored (`hasHeardPool`).
 */
export function loadedAllocation(
  stored: AllocationRecord | Tombstone | null,
  settled: boolean,
): AllocationState {
  if (stored !== null && "forgotten" in stored)
    return { record: null, memo: EMPTY_MEMO, spill: [], tombstone: stored };
  const record = stored;
  const last = record?.placements.at(-1);
  const known = record !== null && (record.ended || last?.to === null);
  if (!settled || !known) return { record, memo: EMPTY_MEMO, spill: [] };
  const workerHas =
    last?.to === null ? `${last.epoch}.${record.revision + orderChangesAt(record).length}` : "";
  const memo = { ...EMPTY_MEMO, accepted: true, poolHas: record.version, workerHas };
  return { record, memo, spill: [] };
}

/** What is stored of a run. Null: nothing. */
export function storedOf({ record, tombstone }: AllocationState): AllocationRecord | Tombstone | null {
  return record ?? tombstone ?? null;
}
