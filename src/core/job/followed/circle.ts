// Which jobs follow each other, and may a job follow these (jobs.md#following-put)?
import { DroverError } from "../../../shared/errors.ts";
import { keyOf, type Named } from "../../registry/projects.ts";
import type { ReadonlyRows } from "../../rows.ts";
import type { JobRow } from "../listed.ts";

/**
 * Why a job cannot follow these jobs of its project; null: it can. Codes: `unknown_job` for one that does not
 * exist, `invalid_request` if jobs would follow each other in a circle, which is spelled out.
 */
export function refusalOfAfter(
  rows: ReadonlyRows<JobRow>,
  job: Named,
  after: readonly string[],
): DroverError | null {
  for (const [index, name] of after.entries()) {
    const pointer = `/spec/after/${index}/job`;
    const { project } = job;
    const circle = circleFrom(rows, job, name);
    if (circle !== undefined) {
      const detail =
        name === job.name
          ? `names the job itself: \`overlap\` of its schedule says what happens while its run before goes on`
          : `makes jobs wait for each other in a circle: ${circle.join(" after ")}; leave one of these out`;
      return new DroverError("invalid_request", `${pointer} ${detail}`, { fields: [{ pointer, detail }] });
    }
    if (rows.get(keyOf({ project, name })) === undefined) {
      const detail = `names job "${name}", which does not exist: store it first`;
      return new DroverError("unknown_job", `${pointer} ${detail}`, { fields: [{ pointer, detail }] });
    }
  }
  return null;
}

/** The way from a job by way of `first` back to itself, by name. Undefined: there is none. */
function circleFrom(
  rows: ReadonlyRows<JobRow>,
  { project, name }: Named,
  first: string,
): string[] | undefined {
  const seen = new Set<string>();
  const path = [name];
  const isBack = (at: string): boolean => {
    path.push(at);
    if (at === name) return true;
    if (!seen.has(at)) {
      seen.add(at);
      for (const next of rows.get(keyOf({ project, name: at }))?.after ?? []) if (isBack(next)) return true;
    }
    path.pop();
    return false;
  };
  return isBack(first) ? path : undefined;
}

/** The jobs that follow a job, by name. */
export function followersOf(rows: ReadonlyRows<JobRow>, { project, name }: Named): string[] {
  return [...rows.live()]
    .filter((row) => row.project === project && row.after?.includes(name) === true)
    .map((row) => row.name)
    .sort();
}

/** Throws `job_in_use` if other jobs follow this one: each of their ticks would be refused. */
export function refuseFollowed(rows: ReadonlyRows<JobRow>, job: Named): void {
  const followers = followersOf(rows, job);
  if (followers.length === 0) return;
  const text =
    `the job ${job.name} is followed by ${followers.join(", ")}: ` +
    `take it out of \`after\` there first, or remove ${followers.length === 1 ? "that job" : "these jobs"}`;
  throw new DroverError("job_in_use", text);
}
