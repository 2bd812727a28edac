// How does a job find the run of its own that another run follows (jobs.md#following)?
import { instantOf, latestOf, type RunOfJob, spanOf, toFollow } from "../../core/job/followed/to-follow.ts";
import { type ExistingJob, type JobRecord, versionOf } from "../../core/job/record.ts";
import type { RunSummary } from "../../schema/run/run.ts";
import { isDroverError } from "../../shared/errors.ts";
import { JOB_LABELS } from "../../shared/jobs/labels.ts";
import type { FollowQuestion, ToFollow } from "../../shared/jobs/to-follow.ts";
import type { Instant } from "../../shared/machine.ts";
import { RUN_STATES } from "../../shared/run-state.ts";
import type { PoolApi } from "../rpc.ts";

/** Whom a job asks for its runs. */
export interface CalledForLists {
  pool(name: string): { list(...args: Parameters<PoolApi["list"]>): Promise<Page> };
}

type Listed = Pick<RunSummary, "id" | "labels" | "submittedAt">;
interface Page {
  items: Listed[];
  next: string | null;
}

/** Runs that are read at a time. Most questions need the newest few. */
const PAGE_RUNS = 100;

/**
 * The run of this job that is to be followed. It asks the pools of all versions that are kept, each until no
 * older run can be the one. `decide`: the simulator can put another rule there.
 */
export async function runToFollow(
  peers: CalledForLists,
  job: ExistingJob,
  question: FollowQuestion,
  now: Instant,
  decide = toFollow,
): Promise<ToFollow> {
  // Before the lists are read: a run that is made meanwhile is owed here, or is listed there.
  const { record } = job;
  const { schedule } = versionOf(job, record.version).fields;
  const pools = new Set([...job.versions.live()].map(({ fields }) => fields.spec.pool));
  const span = spanOf(question, now);
  const runs: RunOfJob[] = [];
  for (const pool of pools) runs.push(...(await runsIn(peers, pool, record, span)));
  return decide({ record, schedule }, runs, question, now);
}

async function runsIn(
  peers: CalledForLists,
  pool: string,
  { name, project }: Pick<JobRecord, "name" | "project">,
  { oldest, until }: { oldest: Instant; until: Instant },
): Promise<RunOfJob[]> {
  // No run stands for a later instant than its submission.
  const since = Number.isFinite(oldest) ? { since: oldest } : {};
  const filter = { states: [...RUN_STATES], labels: { [JOB_LABELS.job]: name }, project, ...since };
  const runs: RunOfJob[] = [];
  let cursor: string | undefined;
  for (;;) {
    const page = { limit: PAGE_RUNS, ...(cursor === undefined ? {} : { cursor }) };
    const { items, next } = await listed(peers, pool, filter, page);
    runs.push(...items.map(runOfJob));
    if (next === null) return runs;
    // The list has the newest first. A page without a run is one of many rows that are not of this job.
    const [last, found] = [runs.at(-1), latestOf(runs, until)];
    if (last !== undefined && found !== undefined && last.submittedAt <= instantOf(found)) return runs;
    cursor = next;
  }
}

/** A page of a pool's runs. A pool that is gone has none. */
async function listed(
  peers: CalledForLists,
  pool: string,
  ...args: Parameters<PoolApi["list"]>
): Promise<Page> {
  try {
    return await peers.pool(pool).list(...args);
  } catch (error) {
    if (isDroverError(error) && error.code === "unknown_pool") return { items: [], next: null };
    throw error;
  }
}

function runOfJob({ id, labels, submittedAt }: Listed): RunOfJob {
  const tick = Date.parse(labels[JOB_LABELS.tick] ?? "");
  return { run: id, submittedAt: Date.parse(submittedAt), tick: Number.isNaN(tick) ? undefined : tick };
}
