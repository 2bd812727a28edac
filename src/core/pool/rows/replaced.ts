// Which run replaces which, and which runs must end for that (pool.md#replacing)?
import type { Instant } from "../../../shared/machine.ts";
import type { EndRun } from "../../messages.ts";
import { areSiblings } from "../concurrency/slots.ts";
import { type RunRow, runKey } from "../record.ts";
import type { PoolState, ReadonlyConfigured } from "../state.ts";

/**
 * Marks the runs that a new run replaces: those with its key, but not the other runs of its array. The marks
 * are stored together with the new run's row, so no later loss of a message changes what is replaced.
 */
export function markReplaced(state: PoolState, row: RunRow, now: Instant): void {
  const { run, by } = row;
  const others = [...state.memo.index.replacing.of(row)];
  if (isLateCopy(row, others)) return;
  for (const other of others) {
    if (other.run === run || areSiblings(row, other) || other.replacedBy !== undefined) continue;
    state.runs.set(runKey(other.submittedAt, other.run), { ...other, replacedBy: { run, by } }, now);
  }
}

/**
 * Whether a row is of an earlier submission of its run than another row: its message came late, after the run
 * was refused and submitted again. It is to end nobody (messages.md#late-refused).
 */
export function isLateCopy({ run, submittedAt }: RunRow, others: readonly RunRow[]): boolean {
  return others.some((other) => other.run === run && other.submittedAt > submittedAt);
}

/** The run whose end a run awaits before it may take its place. Undefined: there is none. */
export function runToOutlive({ memo }: Pick<ReadonlyConfigured, "memo">, row: RunRow): RunRow | undefined {
  if (row.replace === undefined) return undefined;
  for (const other of memo.index.replacing.of(row)) if (other.replacedBy !== undefined) return other;
  return undefined;
}

/** The runs that are replaced, and whose allocations have not confirmed yet that they must end. */
export function replacedToEnd({ memo, record }: ReadonlyConfigured): EndRun[] {
  if (record.forced !== undefined) return []; // all runs must end, and at once (`forced.ts`)
  return [...memo.index.replaced.values()].flatMap(({ run, submittedAt, replacedBy }) =>
    replacedBy === undefined
      ? []
      : [
          {
            run,
            submittedAt,
            reason: `run ${replacedBy.run} replaces it`,
            by: replacedBy.by,
            graceful: true,
          },
        ],
  );
}
