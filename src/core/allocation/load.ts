// What is the state of a run whose object has just been loaded? What of its memo follows from what is stored,
// and what must be said again?
import { RETRY_LONGEST_MS } from "../../shared/limits.ts";
import type { Instant } from "../../shared/machine.ts";
import { type AllocationRecord, type AllocationState, EMPTY_MEMO } from "./state.ts";
import { orderMarks } from "./time/order-deadlines.ts";

/**
 * The state of an allocation from what is stored. As long as it owes something, an alarm is armed for the
 * next try. One of a run that has ended which is farther off than any try is for its logs (`forget.ts`,
 * `logsUntil`).
 */
export function allocationFrom(
  record: AllocationRecord | null,
  alarmAt: Instant | null,
  now: Instant,
): AllocationState {
  const far = record?.ended === true && alarmAt !== null && alarmAt > now + RETRY_LONGEST_MS;
  const state = loadedAllocation(record, alarmAt === null || far);
  return far ? { ...state, memo: { ...state.memo, askAt: alarmAt } } : state;
}

/**
 * The state of an allocation as it is loaded. `settled`: it owes nothing to anybody. Then others have
 * confirmed all that is stored, but for the one case in which a lost alarm could not be repaired: a run of
 * which nothing proves that its pool has ever heard. And one that has no place may have been given one since
 * (`hasHeardPool`).
 */
export function loadedAllocation(record: AllocationRecord | null, settled: boolean): AllocationState {
  if (record?.forgotten !== undefined)
    return { record: null, memo: EMPTY_MEMO, spill: [], tombstone: record };
  const last = record?.placements.at(-1);
  const known = record !== null && (record.ended || last?.to === null);
  if (!settled || !known) return { record, memo: EMPTY_MEMO, spill: [] };
  const workerHas = last?.to === null ? `${last.epoch}.${record.revision + orderMarks(record).length}` : "";
  const memo = { ...EMPTY_MEMO, accepted: true, poolHas: record.version, workerHas };
  return { record, memo, spill: [] };
}
