// Which runs end because a newer run has their concurrency key (pool.md#concurrency-keys)?
import type { Instant } from "../../../shared/machine.ts";
import { isTerminal } from "../../../shared/run-state.ts";
import { type RunRow, runKey } from "../record.ts";
import { isLateCopy } from "../rows/replaced.ts";
import { byQueueOrder } from "../rows/run-index.ts";
import type { PoolState, ReadonlyConfigured } from "../state.ts";
import { areSiblings, holdsSlot } from "./slots.ts";

/**
 * Marks the runs that must end because this run has come into the queue with their key, as its strategy says.
 * The marks are stored in the same commit, and are told like those of `replace` (pool.md#replacing).
 */
export function markSuperseded(state: PoolState, row: RunRow, now: Instant): void {
  const { run, by, concurrency } = row;
  if (concurrency === undefined) return;
  for (const other of supersededBy(state, row, concurrency)) {
    const key = runKey(other.submittedAt, other.run);
    state.runs.set(key, { ...other, replacedBy: { run, by } }, now);
  }
}

function supersededBy(
  { memo }: Pick<ReadonlyConfigured, "memo">,
  row: RunRow,
  { strategy, limit }: NonNullable<RunRow["concurrency"]>,
): RunRow[] {
  if (strategy !== "cancel-running" && strategy !== "queue-one") return [];
  const all = [...memo.index.sharing.of(row)];
  if (isLateCopy(row, all)) return [];
  const present = all.filter(
    (other) => other.run !== row.run && !isTerminal(other.state) && other.replacedBy === undefined,
  );
  // A run that has waited for others may come into the queue after runs that were submitted later.
  const isEarlier = (other: RunRow) => row.arrival === undefined || (other.arrival ?? 0) < row.arrival;
  const mayEnd = (other: RunRow) => isEarlier(other) && !areSiblings(row, other);
  if (strategy === "cancel-running") {
    const newestFirst = present.sort((a, b) => (b.arrival ?? 0) - (a.arrival ?? 0));
    return newestFirst.slice(limit - 1).filter(mayEnd);
  }
  const waiting = present.filter((other) => other.wants === "place" && !holdsSlot(other));
  const holders = all.filter(holdsSlot).length;
  // As many of them as are to have a slot next do not wait for the key.
  return waiting
    .sort(byQueueOrder)
    .slice(Math.max(0, limit - holders))
    .filter(mayEnd);
}
