// How does the benchmark run many trivial commands at once?
import type { RunList } from "../src/schema/run/run.ts";
import { MAX_BATCH_RUNS } from "../src/shared/limits.ts";
import type { Drover } from "./drover.ts";

const WITHIN_MS = 600_000;
let batches = 0;

/** In which pool the runs are (`default` if absent), and whether they are an array. */
export interface BatchOptions {
  pool?: string;
  isArray?: boolean;
}

/**
 * Submits `count` runs of `true`, in requests that are as large as they may be and go one after the other,
 * and resolves with the seconds from the first request until all runs have ended. Rejects if a run fails.
 */
export async function runBatch(
  drover: Drover,
  count: number,
  { pool = "default", isArray = false }: BatchOptions = {},
): Promise<number> {
  batches += 1;
  const id = `${process.pid}-${batches}`;
  const labels = { batch: id };
  const beganAt = performance.now();
  for (let left = count; left > 0; left -= MAX_BATCH_RUNS) {
    const runs = Array.from({ length: Math.min(left, MAX_BATCH_RUNS) }, (_, at) => {
      const index = count - left + at;
      const array = isArray ? { id: `${id}-${index}`, array: { id, index, size: count } } : {};
      return { argv: ["true"], pool, labels, ...array };
    });
    await drover.call("POST", "/v1/runs", { runs });
  }
  const selected = `/v1/runs?pool=${pool}&label=batch:${labels.batch}&limit=1`;
  while (!(await haveEnded(drover, selected))) {
    if (performance.now() - beganAt > WITHIN_MS) throw new Error(`${count} runs have not ended in time.`);
  }
  const seconds = (performance.now() - beganAt) / 1_000;
  const { items } = await drover.call<RunList>("GET", `${selected}&failed=1`);
  if (items.length > 0) throw new Error(`a run has failed: ${JSON.stringify(items[0])}`);
  return seconds;
}

async function haveEnded(drover: Drover, selected: string): Promise<boolean> {
  const { all } = await drover.call<RunList>("GET", `${selected}&state=done&all=1&wait=30s`);
  return all?.holds === true;
}
