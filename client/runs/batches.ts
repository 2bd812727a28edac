// How are more runs submitted than one request can have (api.md#batches)?
import { MAX_BATCH_RUNS } from "../../src/shared/limits.ts";
import type { RunSpec } from "../types.ts";

/** How many bytes of JSON one request has at most: half of what a server takes. */
const MAX_BATCH_BYTES = 8 * 2 ** 20;

const encoder = new TextEncoder();

/**
 * Runs in the batches in which they can be submitted one after the other: in their order, none with more runs
 * or bytes than a request can have. A run that is too large by itself is a batch, and the server says why.
 */
export function batchesOf(runs: readonly RunSpec[]): RunSpec[][] {
  const batches: RunSpec[][] = [];
  let last: RunSpec[] = [];
  let bytes = 0;
  for (const run of runs) {
    const own = encoder.encode(JSON.stringify(run)).length;
    if (last.length === MAX_BATCH_RUNS || (last.length > 0 && bytes + own > MAX_BATCH_BYTES)) {
      batches.push(last);
      last = [];
      bytes = 0;
    }
    last.push(run);
    bytes += own;
  }
  return last.length === 0 ? batches : [...batches, last];
}
