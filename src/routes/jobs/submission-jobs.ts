// Which runs do the runs of a submission follow that name jobs (jobs.md#following)?

import type { Objects } from "../../objects/rpc.ts";
import { projectOfRun } from "../../shared/access/project.ts";
import { jobsIn } from "../../shared/after/entries.ts";
import { DroverError, type FieldError } from "../../shared/errors.ts";
import { type CalledForJobs, followJobs, problemIn, withChosen } from "../../shared/jobs/follow-jobs.ts";
import type { FollowQuestion, ToFollow } from "../../shared/jobs/to-follow.ts";
import { ASK_AGAIN_MS } from "../../shared/jobs/to-follow.ts";
import type { Unfollowed } from "../../shared/jobs/unfollowed.ts";
import type { Submitter } from "../access/caller.ts";
import { invalid, MAX_FIELD_ERRORS } from "../http/invalid.ts";
import { inParallel } from "../http/parallel.ts";
import { ofNewRuns, storedBefore } from "../runs/submit/stored-runs.ts";
import type { Candidate } from "../runs/submit/submission.ts";

/** How many jobs one submission may name, each with its `maxAge`: each is a question to a job. */
export const MAX_SUBMITTED_JOBS = 100;

/**
 * The runs with the ids of the runs that they follow in place of the jobs that they name. Throws
 * `unknown_job` or `unknown_run` if a job, or a run of it that will do, does not exist for the caller, and
 * `not_acknowledged` if the job is about to submit it. A run that exists already is not refused: a repeated
 * request must find it, and it follows what it followed. It comes back with its `refusal`, so that it is only
 * found, and never made.
 */
export async function withRunsOfJobs(
  objects: Objects,
  candidates: readonly Candidate[],
  { batch, ...who }: Submitter & { batch: boolean },
): Promise<Candidate[]> {
  refuseTooMany(candidates, batch);
  const peers = askingOnce(objects);
  const chosen = await inParallel([...candidates.entries()], async ([at, candidate]) => {
    const { id, spec } = candidate;
    if (jobsIn(spec.after ?? []).length === 0) return { candidate, problems: [] };
    const runs = await followJobs(peers, spec.after ?? [], { project: projectOfRun(id), tick: null });
    const made = { ...candidate, spec: withChosen(spec, runs) };
    const problem = problemIn(runs);
    if (problem === undefined) return { candidate: made, problems: [] };
    const pointer = `${batch ? `/runs/${at}` : ""}/after/${problem.index}`;
    const refusal = refusalOf([{ ...problem, pointer }]);
    return { candidate: { ...made, refusal }, problems: [{ ...problem, candidate, pointer }] };
  });
  const runs = chosen.map(({ candidate }) => candidate);
  const refused = await ofNewRuns(
    objects,
    chosen.flatMap(({ problems }) => problems),
  );
  const [one, ...others] = refused;
  if (one === undefined) return runs;
  throw refusalOf([one, ...others], await storedBefore(objects, runs, who));
}

type Refused = Unfollowed & { pointer: string };

/** The error for runs that cannot follow a job. What is final comes before what may pass. */
function refusalOf(refused: [Refused, ...Refused[]], stored: string[] = []): DroverError {
  const first = refused.find(({ code }) => code !== "not_acknowledged") ?? refused[0];
  return new DroverError(first.code, `${first.pointer} ${first.detail}`, {
    fields: refused
      .slice(0, MAX_FIELD_ERRORS)
      .map(({ pointer, detail }): FieldError => ({ pointer, detail })),
    ...(first.code === "not_acknowledged" ? { retryAfterMs: ASK_AGAIN_MS } : {}),
    ...(stored.length === 0 ? {} : { extra: { stored } }),
  });
}

function refuseTooMany(candidates: readonly Candidate[], batch: boolean): void {
  const named = candidates.flatMap(({ spec }) => jobsIn(spec.after ?? []));
  if (new Set(named.map(({ job, maxAge }) => `${job} ${maxAge}`)).size <= MAX_SUBMITTED_JOBS) return;
  const detail = `names more than ${MAX_SUBMITTED_JOBS} jobs: submit the runs that follow others separately`;
  throw invalid([{ pointer: batch ? "/runs" : "/after", detail }]);
}

/** Asks each question once: all runs of a submission follow the same run of a job. */
function askingOnce(objects: Objects): CalledForJobs {
  const asked = new Map<string, Promise<ToFollow>>();
  const ask = (id: string, question: FollowQuestion) => {
    const key = `${id} ${question.maxAgeMs}`;
    const answer = asked.get(key) ?? objects.job(id).runToFollow(question);
    asked.set(key, answer);
    return answer;
  };
  return { job: (id) => ({ runToFollow: (question) => ask(id, question) }) };
}
