// How does a job submit the run of a tick (jobs.md#submitting)?

import type { TickOutcome } from "../../core/job/events.ts";
import { tickRunId } from "../../core/job/ids.ts";
import type { JobRecord, OwedTick, VersionRow } from "../../core/job/record.ts";
import { nameIn } from "../../shared/access/project.ts";
import { isDroverError } from "../../shared/errors.ts";
import type { CalledForJobs } from "../../shared/jobs/follow-jobs.ts";
import type { Instant } from "../../shared/machine.ts";
import type { AllocationApi } from "../rpc.ts";
import { checkedRun } from "./checked-run.ts";
import { submitFollowing } from "./submit-following.ts";

/** Whom a job calls to make a run. */
export interface CalledForRuns extends CalledForJobs {
  allocation(run: string): Pick<AllocationApi, "submit" | "read">;
}

/**
 * Submits the run of a tick, unless it is not there at `notAfter`, or is to follow a run that is not there.
 * Rejects if it may succeed later. A run of this tick that is there already was submitted before: the answer
 * was lost, or somebody has run the tick by hand. Any other run of this id is a refusal.
 */
export async function submitTick(
  peers: CalledForRuns,
  { name, project }: Pick<JobRecord, "name" | "project">,
  { fields, version, budget }: VersionRow,
  { tick }: OwedTick,
  { notAfter, isWanted }: { notAfter: Instant; isWanted: () => boolean },
): Promise<TickOutcome> {
  const cause = { job: name, version, tick: tick.at, isScheduled: true };
  const run = checkedRun(fields, {}, cause);
  if ("problems" in run) {
    const text = run.problems.map(({ pointer, detail }) => `${pointer} ${detail}`).join("; ");
    return { kind: "refused", code: "invalid_request", text };
  }
  const id = tickRunId(project, name, tick.at);
  const request = {
    spec: run.spec,
    hash: tickHash(name, tick.at),
    by: `job:${nameIn(project, name, ":")}`,
    project,
    budget,
    notAfter,
  };
  try {
    const made = await submitFollowing(peers, id, request, { project, tick: tick.at, isWanted });
    if (!("problem" in made)) return { kind: "made" };
    const { index, code, detail } = made.problem;
    const text = `/spec/after/${index} ${detail}`;
    return code === "not_acknowledged" ? { kind: "waits", text } : { kind: "refused", code, text };
  } catch (error) {
    // What is no refusal, such as an outage, may pass; and so may a refusal that says so.
    if (!isDroverError(error) || error.temporary) throw error;
    const { code, message: text } = error;
    if (code === "unknown_run") return { kind: "too_late" };
    return code === "expired_run" ? { kind: "made" } : { kind: "refused", code, text };
  }
}

/** By which a repeated submission of a tick is recognized, whichever version of the job makes it. */
export function tickHash(job: string, tick: number): string {
  return `job ${job} tick ${tick}`;
}
