// In which order are the jobs of some files stored, so that each finds those that it follows?
import { isObject } from "../json-file.ts";

/** A job, as a file describes it. Nobody has checked its fields yet. */
interface Described {
  name: string;
  content: object;
}

/**
 * The jobs, each behind those of the others that it follows, and otherwise as they were. Of jobs that follow
 * each other in a circle one comes before what it follows: `circleIn` finds them.
 */
export function inOrder<Job extends Described>(jobs: readonly Job[]): Job[] {
  const ordered = new Set<Job>();
  const begun = new Set<Job>();
  const add = (job: Job): void => {
    if (begun.has(job)) return;
    begun.add(job);
    const names = namesIn(job.content);
    for (const other of jobs) if (names.includes(other.name)) add(other);
    ordered.add(job);
  };
  jobs.forEach(add);
  return [...ordered];
}

/** Jobs of which each follows the next one, and the last one the first. Undefined: there are none. */
export function circleIn(jobs: readonly Described[]): Described[] | undefined {
  const over = new Set<Described>();
  const from = (job: Described, path: readonly Described[]): Described[] | undefined => {
    if (path.includes(job)) return path.slice(path.indexOf(job));
    if (over.has(job)) return undefined;
    const names = namesIn(job.content);
    for (const other of jobs) {
      const found = names.includes(other.name) ? from(other, [...path, job]) : undefined;
      if (found !== undefined) return found;
    }
    over.add(job);
    return undefined;
  };
  for (const job of jobs) {
    const found = from(job, []);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The jobs that `after` names, if it is what it should be. */
function namesIn({ spec }: { spec?: unknown }): unknown[] {
  const after: unknown = isObject(spec) && "after" in spec ? spec.after : [];
  return Array.isArray(after)
    ? after.map((one: unknown) => (isObject(one) && "job" in one ? one.job : one))
    : [];
}
