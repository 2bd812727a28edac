import { isDecided } from "../../../src/core/allocation/machine.ts";
import { readRun } from "../../../src/core/allocation/read/cost.ts";
import type { JobEvent } from "../../../src/core/job/events.ts";
import type { toFollow } from "../../../src/core/job/followed/to-follow.ts";
import type { JobMessage } from "../../../src/core/job/machine.ts";
import { type JobRecord, type JobState, jobOf, type VersionRow } from "../../../src/core/job/record.ts";
import type { JobListing } from "../../../src/core/job/summary.ts";
import type { RunRow } from "../../../src/core/pool/record.ts";
import type { Called as CalledForRedrive } from "../../../src/objects/jobs/redrive-runs.ts";
import { runToFollow } from "../../../src/objects/jobs/run-to-follow.ts";
import { sendOfJob } from "../../../src/objects/jobs/send.ts";
import type { CalledForRuns } from "../../../src/objects/jobs/submit-tick.ts";
import { wakeJob } from "../../../src/objects/jobs/wake.ts";
import { existing, refusedBy, refuseOther } from "../../../src/objects/reads/existing.ts";
import type { RunFilter, SubmitRequest } from "../../../src/objects/rpc.ts";
import { type Timer, until } from "../../../src/objects/waiting.ts";
import type { RunStatus } from "../../../src/schema/run/run.ts";
import { type DroverError, isDroverError } from "../../../src/shared/errors.ts";
import type { FollowQuestion, ToFollow } from "../../../src/shared/jobs/to-follow.ts";
import { unknownJob } from "../../../src/shared/jobs/unknown.ts";
import { ACKNOWLEDGE_MS } from "../../../src/shared/limits.ts";
import type { Machine } from "../../../src/shared/machine.ts";
import { Node } from "../node.ts";
import type { AllocationNode, PoolNode, RegistryNode } from "../objects.ts";
import { NoReply, type World } from "../world.ts";
import { redriveCalls } from "./redrives.ts";

export type JobNode = Node<JobRecord, JobState, JobEvent, JobMessage>;
/** The machine, and by which rule a job chooses the run that is followed. Absent: by the real one. */
export type JobMachine = Machine<JobState, JobEvent, JobMessage> & { toFollow?: typeof toFollow };

/** What the objects of jobs reach, and who looks at what they do. */
export interface JobWorld {
  world: World;
  timer: Timer;
  allocation(run: string): AllocationNode;
  registry(): RegistryNode;
  pool(): PoolNode;
  job(id: string): JobNode;
  toFollow: typeof toFollow | undefined;
  audit: {
    /** A job has stored something. */
    job(node: JobNode, before: JobRecord | null, after: JobRecord | null): void;
    /** A submission leaves its sender, reaches a run that is not there, and was taken there. */
    sends(from: string, run: string, request: SubmitRequest): void;
    begins(run: string, request: SubmitRequest): void;
    taken(run: string): void;
    /** The runs that were acknowledged. */
    made(): Iterable<string>;
    /** A job has said which of its runs is followed, by what it knew at `at`. */
    followed(job: string, question: FollowQuestion, answer: ToFollow, at: number): void;
  };
}

/** An object of a job: the real machine in the real shell, which sends as the real object does. */
export function jobNode(id: string, machine: JobMachine, around: JobWorld): JobNode {
  const node: JobNode = new Node(
    around.world,
    id,
    { type: "tick" },
    {
      machine,
      load: (disk) => ({
        record: disk.value,
        versions: node.rows<VersionRow>("versions", () => true),
        memo: {},
      }),
      save: (disk, state) => {
        state.versions.flush();
        disk.value = state.record;
      },
      stored: (before, after) => around.audit.job(node, before, after),
      woken: (actor) => wakeJob(actor, (event) => actor.apply(event), around.timer),
      send: (message) => sendOfJob(calledBy(id, around), () => node.actor.state, message),
    },
  );
  return node;
}

/** Whom a job, or a client in its place, calls over the network. */
export function calledBy(from: string, around: JobWorld) {
  const runs: CalledForRuns & CalledForRedrive = {
    allocation: (run) => ({
      submit: (request) => submit(from, run, request, around),
      ...redriveCalls(from, run, around),
    }),
    job: (id) => ({ runToFollow: (question) => followed(from, id, question, around) }),
  };
  const note = async (listing: JobListing) => {
    const serve = () => around.registry().serve((actor) => void actor.apply({ type: "job_listed", listing }));
    await around.world.call(from, "registry", "listing", serve);
  };
  return { ...runs, registry: () => ({ noteJob: note }) };
}

/** As the object of a job serves it. */
async function followed(
  from: string,
  id: string,
  question: FollowQuestion,
  around: JobWorld,
): Promise<ToFollow> {
  const { world, toFollow: decide } = around;
  const peers = { pool: () => ({ list: (filter: RunFilter) => listed(id, filter, around) }) };
  const answer = await world.call(from, id, "the run to follow", () =>
    around.job(id).serve(async (actor) => {
      const job = jobOf(actor.apply({ type: "tick" }));
      if (job === undefined) return { error: unknownJob(id) };
      const at = world.planeNow;
      const found = await runToFollow(peers, job, question, at, decide);
      around.audit.followed(id, question, found, at);
      return found;
    }),
  );
  if ("error" in answer) throw answer.error;
  return answer;
}

/** The runs of a project with these labels, newest first, in one page. */
function listed(from: string, { project, labels }: RunFilter, { world, pool }: JobWorld) {
  return world.call(from, "pool", "list", () =>
    pool().serve(async () => {
      // Only the pool's machine writes this table.
      const rows = [...(pool().disk.tables.get("runs")?.values() ?? [])] as RunRow[];
      const items = rows
        .filter((row) => row.project === project)
        .filter((row) => Object.entries(labels).every(([name, value]) => row.labels[name] === value))
        .sort((a, b) => b.submittedAt - a.submittedAt)
        .map(({ run: name, labels: own, submittedAt }) => {
          return { id: name, labels: own, submittedAt: new Date(submittedAt).toISOString() };
        });
      return { items, next: null };
    }),
  );
}

type Submitted = { created: boolean; status: RunStatus };

async function submit(
  from: string,
  run: string,
  request: SubmitRequest,
  around: JobWorld,
): Promise<Submitted> {
  around.audit.sends(from, run, request);
  const answer = await around.world.call(from, run, "submit", () => serveSubmit(run, request, around));
  if ("error" in answer) throw answer.error;
  return answer;
}

/** As the object of a run serves it. What is refused is an answer, too: only the network loses replies. */
function serveSubmit(
  run: string,
  request: SubmitRequest,
  { world, timer, allocation, audit }: JobWorld,
): Promise<Submitted | { error: DroverError }> {
  return allocation(run).serve(async (actor) => {
    const created = actor.state.record === null;
    if (created) audit.begins(run, request);
    try {
      refuseOther(actor.apply({ type: "submitted", id: run, ...request }), run, request);
      const isOver = () => actor.state.record === null || isDecided(actor.state);
      if (!(await until(actor, isOver, ACKNOWLEDGE_MS, timer))) throw new NoReply("not acknowledged");
      const { refusal } = actor.state.memo;
      if (refusal !== null) throw refusedBy(request.spec.pool, refusal);
      const status = readRun(existing(actor.state, run), world.planeNow);
      audit.taken(run);
      return { created, status };
    } catch (error) {
      if (isDroverError(error)) return { error };
      throw error;
    }
  });
}
