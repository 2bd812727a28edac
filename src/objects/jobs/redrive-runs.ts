// How do the parked runs of a job run again (jobs.md#redrive)?
import type { Via } from "../../core/audit/via.ts";
import { type ExistingJob, versionOf } from "../../core/job/record.ts";
import type { Budget } from "../../core/messages.ts";
import type { RedrivenList } from "../../schema/job/redrive.ts";
import type { RunStatus } from "../../schema/run/run.ts";
import type { RunSpec } from "../../schema/run/run-spec.ts";
import { DroverError, isDroverError } from "../../shared/errors.ts";
import { JOB_LABELS } from "../../shared/jobs/labels.ts";
import { type CalledForRedrive, redriveRun } from "../../shared/retry/redrive.ts";
import type { RedriveJob } from "./api.ts";

/** Who has runs run again. */
interface Redriver {
  by: string;
  budget: Budget | null;
  via?: Via | undefined;
}

/** Whom a job calls to have its runs run again. */
export type Called = CalledForRedrive<RunSpec, RunStatus, Redriver>;

type Answer = Pick<RedrivenList, "items" | "failed">;

/**
 * Has each of these runs run again, one after the other, and says of each what became of it. A run of another
 * job or project is unknown here. What cannot be redriven stays parked, and keeps none of the others. Throws
 * only what is no refusal, such as an outage: whoever asks again finds what was made before.
 */
export async function redriveRuns(
  peers: Called,
  job: ExistingJob,
  { runs, by, budget, maxPriority = Number.POSITIVE_INFINITY }: RedriveJob,
  via: Via | undefined,
): Promise<Answer> {
  const answer: Answer = { items: [], failed: [] };
  let silent: string | undefined;
  const who = { by, budget: budget ?? versionOf(job, job.record.version).budget, via };
  for (const run of runs) {
    if (silent !== undefined) {
      const detail = `was not tried, since ${silent} was not answered; ask again`;
      answer.failed.push({ id: run, code: "not_acknowledged", detail });
      continue;
    }
    try {
      const parked = await peers.allocation(run).read();
      refuseOther(job, parked);
      refusePriority(parked.spec, maxPriority);
      const { created, status } = await redriveRun(peers, parked, who);
      answer.items.push({ run, as: status.id, created });
    } catch (error) {
      if (!isDroverError(error)) throw error;
      answer.failed.push({ id: run, code: error.code, detail: error.message });
      // The next one would wait as long, and the request has an end.
      if (error.code === "not_acknowledged") silent = run;
    }
  }
  return answer;
}

function refusePriority({ priority }: RunSpec, most: number): void {
  if (priority <= most) return;
  const text = `its priority is ${priority}, and this token may ask for ${most} at most`;
  throw new DroverError("beyond_limits", text);
}

function refuseOther(
  { record: { name, project } }: ExistingJob,
  run: { id: string; project: string; labels: Record<string, string> },
): void {
  if (run.project === project && run.labels[JOB_LABELS.job] === name) return;
  throw new DroverError("unknown_run", `the job "${name}" has no run "${run.id}"`);
}
