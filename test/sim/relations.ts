import { projectOfRun } from "../../src/shared/access/project.ts";
import type { After, AfterOn } from "../../src/shared/after/entries.ts";
import { arraysIn, onOf, runOf } from "../../src/shared/after/entries.ts";
import { Chance } from "./rng.ts";
import type { Job } from "./workload.ts";

/** Of so many stories one is about runs that know of each other. */
const RELATED_IN = 3;

/** The keys of some runs: of two with the same one at most one is left (pool.md#replacing). */
const KEYS = ["deploy", "docs"];

/** An array of the story. It has as many runs as its project has in it. */
const ARRAY = "many";

/**
 * Makes arrays of some of the jobs, of which at most so many are placed at once and some end early, lets
 * others replace each other, and others follow earlier runs or an array (api.md#after). That no more are
 * placed is an invariant of the pool (pool.md#arrays).
 */
export function related(jobs: readonly Job[], seed: number): Job[] {
  // Apart from the chance of everything else, so that all else is the same with relations and without.
  const chance = new Chance(seed ^ 0x1f83d9ab);
  if (chance.between(1, RELATED_IN) !== 1) return [...jobs];
  const limits = {
    maxParallel: chance.between(1, 2),
    ...chance.pick([{}, { failAt: 1 }, { failAt: "30%" }]),
  };
  const how = () => chance.pick<AfterOn>(["success", "success", "failure", "any"]);
  const made = jobs.map((job, index): Job => {
    const after: After[] = jobs
      .slice(0, index)
      .flatMap(({ id }) => (chance.chance(0.3) ? [{ run: id, on: how() }] : []));
    const follows = after.length > 0 ? { after } : {};
    const array = { id: ARRAY, index: 0, size: 1, ...limits };
    const last = { after: [{ array: ARRAY, on: how() }, ...after.slice(0, 1)] };
    const more = chance.pick([
      {},
      { array },
      { replace: chance.pick(KEYS) },
      follows,
      { array, ...follows },
      last,
    ]);
    return { ...job, spec: { ...job.spec, ...more } };
  });
  return made.map((job) => ({ ...job, spec: withMembers(job, made) }));
}

/** Gives a run its place in the array of its project. Nobody follows an array that has no runs, or itself. */
function withMembers({ id, spec }: Job, all: readonly Job[]): Job["spec"] {
  const members = membersOf(id, all);
  const { array, after = [], ...rest } = spec;
  if (array !== undefined) {
    const index = members.findIndex((job) => job.id === id);
    return { ...spec, array: { ...array, index, size: members.length } };
  }
  // A run of the array may follow this one, so an array is followed by runs that nobody follows.
  const isFollowed = all.some((job) => job.spec.after?.some((one) => runOf(one) === id));
  const left = after.filter((one) => runOf(one) !== undefined || (members.length > 0 && !isFollowed));
  return left.length > 0 ? { ...rest, after: left } : rest;
}

function membersOf(id: string, all: readonly Job[]): Job[] {
  return all.filter((job) => job.spec.array !== undefined && projectOfRun(job.id) === projectOfRun(id));
}

/** What a run follows: runs of which all must have ended so, as one run or as the runs of an array. */
export interface Followed {
  name: string;
  runs: string[];
  on: AfterOn;
}

/** All that a run of a story follows. */
export function followedBy({ id, spec }: Job, all: readonly Job[]): Followed[] {
  return (spec.after ?? []).map((one) => {
    const run = runOf(one);
    const name = run ?? `array ${arraysIn([one])[0]?.array}`;
    return { name, runs: run === undefined ? membersOf(id, all).map((job) => job.id) : [run], on: onOf(one) };
  });
}
