// Which runs share the slots of a concurrency key, and which of them hold one (pool.md#concurrency-keys)?
import { isTerminal } from "../../../shared/run-state.ts";
import { isKept, isOpen, type RunRow } from "../record.ts";

/** The name of a run's concurrency key within its pool: two projects may use the same key. */
export function concurrencyName({
  project,
  concurrency,
}: Pick<RunRow, "project" | "concurrency">): string | undefined {
  return concurrency === undefined ? undefined : `${project} ${concurrency.key}`;
}

/**
 * Whether a run holds a slot of its key: from its placement until it is proven that the placement is over
 * (rules.md#r2). Nothing of a run's tasks lives once it is only kept (tasks.md#kept).
 */
export function holdsSlot(row: RunRow): boolean {
  return isOpen(row) && !isKept(row);
}

/** Whether a run holds a slot of its key, or will want one. */
export function competes(row: RunRow): boolean {
  return holdsSlot(row) || (!isTerminal(row.state) && row.replacedBy === undefined);
}

/** Whether two runs belong to the same array: such runs never end or refuse each other. */
export function areSiblings(one: Pick<RunRow, "array">, other: Pick<RunRow, "array">): boolean {
  return one.array !== undefined && one.array.id === other.array?.id;
}

/** Whether the run's concurrency key takes turns with others (pool.md#round-robin). */
export function takesTurns({ concurrency }: Pick<RunRow, "concurrency">): boolean {
  return concurrency?.strategy === "round-robin";
}
