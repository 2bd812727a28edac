import { Chance } from "./rng.ts";
import type { Job } from "./workload.ts";

/** Of so many stories one is about runs that know of each other. */
const RELATED_IN = 3;

/**
 * Makes arrays of some of the jobs, of which at most so many are placed at once. That they are not more is an
 * invariant of the pool (pool.md#arrays).
 */
export function related(jobs: readonly Job[], seed: number): Job[] {
  // Apart from the chance of everything else, so that all else is the same with relations and without.
  const chance = new Chance(seed ^ 0x1f83d9ab);
  if (chance.between(1, RELATED_IN) !== 1) return [...jobs];
  const maxParallel = chance.between(1, 2);
  return jobs.map((job, index) => {
    if (!chance.chance(0.5)) return job;
    const array = { id: "many", index, size: jobs.length, maxParallel };
    return { ...job, spec: { ...job.spec, array } };
  });
}
