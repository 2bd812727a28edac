// Which runs does a run follow whose `after` names jobs (jobs.md#following)?
import { nameIn } from "../access/project.ts";
import type { After, AfterJob } from "../after/entries.ts";
import { durationMs } from "../duration.ts";
import { isDroverError } from "../errors.ts";
import type { Instant } from "../machine.ts";
import type { FollowQuestion, ToFollow } from "./to-follow.ts";
import { type Unfollowed, unfollowed } from "./unfollowed.ts";

/** Whom somebody asks for the runs of jobs. */
export interface CalledForJobs {
  job(id: string): { runToFollow(question: FollowQuestion): Promise<ToFollow> };
}

/** Who follows: its project, and the tick that has caused it, if one has. */
export interface Follower {
  project: string;
  tick: Instant | null;
}

/** An entry of `after` with the run that it means, or why there is none. */
export type Chosen = { entry: After } | { problem: Unfollowed };

/** Asks the jobs that `after` names for their runs, and puts these in their places. Any other entry stays. */
export async function followJobs(
  peers: CalledForJobs,
  after: readonly After[],
  follower: Follower,
): Promise<Chosen[]> {
  return Promise.all(
    after.map(async (entry, index): Promise<Chosen> => {
      if (typeof entry === "string" || !("job" in entry)) return { entry };
      const { on, maxAge } = entry;
      const maxAgeMs = maxAge === undefined ? null : durationMs(maxAge);
      const answer = await asked(peers, entry, { tick: follower.tick, maxAgeMs }, follower.project);
      if (answer?.kind !== "run") return { problem: { index, ...unfollowed(entry, follower, answer) } };
      return { entry: { run: answer.run, ...(on === undefined ? {} : { on }) } };
    }),
  );
}

/** What a job answers. Undefined: there is no such job for whoever asks. */
async function asked(
  peers: CalledForJobs,
  { job: name }: AfterJob,
  question: FollowQuestion,
  project: string,
): Promise<ToFollow | undefined> {
  try {
    return await peers.job(nameIn(project, name, ".")).runToFollow(question);
  } catch (error) {
    if (isDroverError(error) && error.code === "unknown_job") return undefined;
    throw error;
  }
}

/** Why no run can be submitted: what is final comes before what may pass. Undefined: nothing. */
export function problemIn(chosen: readonly Chosen[]): Unfollowed | undefined {
  const problems = chosen.flatMap((one) => ("problem" in one ? [one.problem] : []));
  return problems.find(({ code }) => code !== "not_acknowledged") ?? problems[0];
}

/** The spec, which follows the chosen runs. */
export function withChosen<Spec extends { after?: After[] | undefined }>(
  { after: _jobs, ...spec }: Spec,
  chosen: readonly Chosen[],
): Omit<Spec, "after"> & { after?: After[] } {
  const after = chosen.flatMap((one) => ("entry" in one ? [one.entry] : []));
  return after.length === 0 ? spec : { ...spec, after };
}
