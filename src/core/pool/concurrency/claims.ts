// For which run is a slot of its concurrency key kept before it is placed (pool.md#concurrency-keys)?
import type { Pass, Verdict } from "../plan/pass.ts";
import type { RunRow } from "../record.ts";

/**
 * Keeps a slot of its concurrency key for a run that has no machine yet and is sure to get one: a machine is
 * reserved for it, or is made as soon as others are. Otherwise later runs with the key could take the slot
 * each time, and the machine would wait in vain (pool.md#concurrency-keys).
 */
export function claimedFor(pass: Pass, run: RunRow, verdict: Verdict): Verdict {
  if (!("wait" in verdict) || verdict.create !== undefined) return verdict;
  const isSure = pass.reserved?.run === run.run || verdict.wait.code === "machine_asked";
  if (!isSure || !pass.limits.claim(run)) return verdict;
  pass.lastReserved = run;
  pass.step += 1;
  return verdict;
}
