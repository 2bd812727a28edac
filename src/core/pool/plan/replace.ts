// Which machine must leave because the pool has a new image (pool.md#new-images)?
import { isUnmade, type WorkerRow } from "../record.ts";
import type { ReadonlyConfigured } from "../state.ts";
import { byAge } from "./packing.ts";

/**
 * The machine that drains next, if the pool replaces machines with another image: one without runs first,
 * and otherwise the oldest. Undefined: none is outdated, or the one before it has not left yet.
 */
export function workerToReplace({ record, workers, memo }: ReadonlyConfigured): string | undefined {
  const { replaceOnNewImage, image } = record.config;
  // A configuration of an earlier version has no such field.
  if (replaceOnNewImage !== true) return undefined;
  const outdated = workers.derive(machines).filter((row) => row.image !== undefined && row.image !== image);
  if (outdated.some((row) => row.phase === "shutdown" || row.idleBehavior === "drain")) return undefined;
  const ready = byAge(outdated).filter(({ idleBehavior }) => idleBehavior === "run");
  return (ready.find(({ worker }) => !memo.index.placed.has(worker)) ?? ready[0])?.worker;
}

function machines(workers: readonly WorkerRow[]) {
  return workers
    .filter((row) => row.kind === "cloud")
    .filter((row) => row.phase !== "asked" && !isUnmade(row));
}
