// How does a job submit a run that somebody has asked for (jobs.md#trigger)?
import canonicalize from "canonicalize";
import type { Via } from "../../core/audit/via.ts";
import { tickRunId, triggeredRunId } from "../../core/job/ids.ts";
import { type ExistingJob, versionOf } from "../../core/job/record.ts";
import { nextTicks } from "../../core/job/schedule/ticks.ts";
import { DroverError } from "../../shared/errors.ts";
import { ASK_AGAIN_MS } from "../../shared/jobs/to-follow.ts";
import type { Instant } from "../../shared/machine.ts";
import { iso } from "../../shared/time/instant.ts";
import type { Triggered, TriggerJob } from "./api.ts";
import { checkedRun } from "./checked-run.ts";
import { submitFollowing } from "./submit-following.ts";
import { type CalledForRuns, tickHash } from "./submit-tick.ts";

/**
 * Submits the run. The same key finds the same run again, and so does the same tick, whoever has made its
 * run. Throws `invalid_request` with pointers into the request, or what a submission throws.
 */
export async function submitTrigger(
  peers: CalledForRuns,
  job: ExistingJob,
  { given, run, priority, by, budget }: TriggerJob,
  /** `hash`: that of `hashOfGiven`: other values under the same key are another request. */
  { hash: givenHash, now, via }: { hash: string; now: Instant; via: Via | undefined },
): Promise<Triggered> {
  const { name, project } = job.record;
  const { fields, version, ...made } = versionOf(job, job.record.version);
  const tick = "tick" in run ? run.tick : null;
  if (tick !== null) refuseNoTick(job, tick);
  const found = checkedRun(fields, given, { job: name, version, tick, isScheduled: false });
  if ("problems" in found) {
    const [first] = found.problems;
    const text = `${first?.pointer} ${first?.detail}`;
    throw new DroverError("invalid_request", text, { fields: [...found.problems] });
  }
  const spec = priority === undefined ? found.spec : { ...found.spec, priority };
  const who = { by, project, budget: budget ?? made.budget, via };
  const id = "tick" in run ? tickRunId(project, name, run.tick) : triggeredRunId(project, name, run.key);
  const hash = "tick" in run ? tickHash(name, run.tick) : givenHash;
  // A tick that is run before its time follows what there is now.
  const follower = { project, tick: tick === null ? null : Math.min(tick, now) };
  const answer = await submitFollowing(peers, id, { spec, hash, ...who }, follower);
  if (!("problem" in answer)) return answer;
  const { index, code, detail } = answer.problem;
  throw new DroverError(code, `the job cannot run now: /spec/after/${index} ${detail}`, {
    ...(code === "not_acknowledged" ? { retryAfterMs: ASK_AGAIN_MS } : {}),
  });
}

/** The hash of the values that a run of a job is given. */
export async function hashOfGiven(job: string, given: TriggerJob["given"]): Promise<string> {
  const bytes = new TextEncoder().encode(canonicalize([job, given]));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function refuseNoTick({ record, ...job }: ExistingJob, tick: number): void {
  const { schedule } = versionOf(job, record.version).fields;
  const [first] = schedule === undefined ? [] : nextTicks(schedule, { at: tick - 1 }, 1);
  if (first?.at === tick) return;
  const next = first === undefined ? "none comes after it" : `the next one is ${iso(first.at)}`;
  const detail =
    schedule === undefined ? "is a tick, and the job has no schedule" : `is no tick of the schedule: ${next}`;
  throw new DroverError("invalid_request", `/tick ${detail}`, { fields: [{ pointer: "/tick", detail }] });
}
