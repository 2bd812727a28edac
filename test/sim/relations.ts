import { Chance } from "./rng.ts";
import type { Job } from "./workload.ts";

/** Of so many stories one is about runs that know of each other. */
const RELATED_IN = 3;

/** The keys of some runs: of two with the same one at most one is left (pool.md#replacing). */
const KEYS = ["deploy", "docs"];

/**
 * Makes arrays of some of the jobs, of which at most so many are placed at once, lets others replace each
 * other, and others follow earlier ones (api.md#after). That no more are placed is an invariant of the pool
 * (pool.md#arrays).
 */
export function related(jobs: readonly Job[], seed: number): Job[] {
  // Apart from the chance of everything else, so that all else is the same with relations and without.
  const chance = new Chance(seed ^ 0x1f83d9ab);
  if (chance.between(1, RELATED_IN) !== 1) return [...jobs];
  const maxParallel = chance.between(1, 2);
  return jobs.map((job, index) => {
    const array = { id: "many", index, size: jobs.length, maxParallel };
    const after = jobs.slice(0, index).flatMap(({ id }) => (chance.chance(0.3) ? [id] : []));
    const follows = after.length > 0 ? { after } : {};
    const more = chance.pick([{}, { array }, { replace: chance.pick(KEYS) }, follows, { array, ...follows }]);
    return { ...job, spec: { ...job.spec, ...more } };
  });
}
