import type { RunStatus } from "../../schema/run.ts";
import { failureClass } from "../errors.ts";
import { MAX_TASK_EVENTS } from "../limits.ts";
import type { Instant } from "../machine.ts";
import type { TaskView } from "./lifecycle.ts";
import {
  type AllocationRecord,
  type AllocationState,
  type AttemptRecord,
  openPlacement,
  type TaskRecord,
} from "./state.ts";
import { startedAt, stateOf } from "./summary.ts";
import { groupOfRun, isOver, recordOf, viewsOf } from "./tasks.ts";

type TaskStatus = RunStatus["tasks"][number];

/** One run, whole, as a reader sees it (`api.md`, One run, as read). */
export function statusOf(state: AllocationState & { record: AllocationRecord }): RunStatus {
  const { record } = state;
  const { spec, outcome, wish } = record;
  const ended = record.ended && outcome !== null ? outcome : null;
  const failure = ended?.failure ?? null;
  const shown = shownTask(record);
  return {
    id: record.id,
    state: stateOf(record),
    allocStatus: allocStatus(record),
    specIndex: record.specIndex ?? 1,
    version: record.version,
    spec,
    pool: spec.pool,
    labels: spec.labels,
    exitCode: ended?.exitCode ?? null,
    signal: ended?.signal ?? null,
    failure: failure === null ? null : { class: failureClass(failure.code), ...failure },
    abort: wish?.state === "aborted" ? { reason: wish.reason, by: wish.by } : null,
    description: describe(state),
    stdoutRef: shown === null ? null : `/v1/runs/${record.id}/logs/${shown}/stdout`,
    stderrRef: shown === null ? null : `/v1/runs/${record.id}/logs/${shown}/stderr`,
    submittedAt: text(record.submittedAt),
    placedAt: orNull(record.firstPlacedAt ?? openPlacement(state)?.from ?? null),
    startedAt: orNull(startedAt(record)),
    finishedAt: orNull(ended?.at ?? null),
    placements: record.placements.map((one) => ({ ...one, from: text(one.from), to: orNull(one.to) })),
    tasks: record.tasks.map((task) => taskStatus(record, task)),
  };
}

/** The task whose output stands for the run's, once there can be any: the leader, or the first main task. */
function shownTask(record: AllocationRecord): string | null {
  const { tasks } = groupOfRun(record);
  const shown = tasks.find((task) => task.leader) ?? tasks.find((task) => task.hook === "main");
  const logged = shown !== undefined && recordOf(record, shown).attempts.length > 0;
  return logged ? shown.name : null;
}

/**
 * Nomad's client status, which looks at the exit code where a run's `state` does not (`nomad.md` §2.1,
 * `api.md`).
 */
function allocStatus(record: AllocationRecord): RunStatus["allocStatus"] {
  const state = stateOf(record);
  const group = groupOfRun(record);
  switch (state) {
    case "pending":
    case "running":
      return group.lone ? state : clientStatus(viewsOf(record, group, record.endedEpoch + 1));
    case "complete":
      return group.lone && record.outcome?.exitCode !== 0 ? "failed" : "complete";
    case "unknown":
      return "lost";
    case "aborted":
    case "timedout":
      return viewsOf(record, group, record.endedEpoch).some((view) => view.failed) ? "failed" : "complete";
    case "failed":
      return "failed";
  }
}

/** The precedence of `nomad.md` §2.1, rules 3 to 6. */
export function clientStatus(views: TaskView[]): "pending" | "running" | "complete" | "failed" {
  if (views.some(({ state, failed }) => state === "dead" && failed)) return "failed";
  if (views.some(({ state }) => state === "running")) return "running";
  return views.some(({ state }) => state === "pending") ? "pending" : "complete";
}

function taskStatus(record: AllocationRecord, task: TaskRecord): TaskStatus {
  const latest = task.attempts.at(-1);
  const phase = phaseOf(record, task, latest);
  const dead = phase === "dead";
  const failed = task.dead === undefined ? dead && record.outcome?.state === "failed" : hasFailed(task.dead);
  // What never ran has no end of its own: it ended with its run (`nomad.md` §2.2).
  const fixed = record.ended ? (task.dead?.at ?? record.outcome?.at ?? null) : null;
  return {
    name: task.name,
    state: dead ? "dead" : phase === "running" || phase === "stopping" ? "running" : "pending",
    phase,
    failed,
    restarts: task.restarts ?? 0,
    lastRestart: orNull(task.lastRestart ?? null),
    nextStart: phase === "backoff" ? orNull(task.startAt ?? null) : null,
    startedAt: orNull(latest?.startedAt ?? null),
    // A rerun clears it: an end that lies before the latest start is none (`decisions.md`, times).
    finishedAt: orNull(dead ? (latest?.finishedAt ?? fixed) : null),
    attempts: task.attempts.map(({ id, state, startedAt: from, finishedAt: to, exit }) => {
      return { id, state, startedAt: orNull(from), finishedAt: orNull(to), exit };
    }),
    events: record.events
      .filter((event) => event.task === null || event.task === task.name)
      .slice(-MAX_TASK_EVENTS),
  };
}

function hasFailed({ how }: NonNullable<TaskRecord["dead"]>): boolean {
  return how === "failed" || how === "lost";
}

function phaseOf(
  record: AllocationRecord,
  task: TaskRecord,
  latest: AttemptRecord | undefined,
): TaskStatus["phase"] {
  if (record.ended || task.dead !== undefined) return "dead";
  if (latest === undefined || latest.epoch <= record.endedEpoch) return "waiting";
  // The attempt after it is to be: either its delay runs, or it is on its way to the host.
  if (isOver(latest)) return task.n === undefined ? "dead" : "backoff";
  if (latest.state === "preparing") return "preparing";
  const stopping = task.stopFrom !== undefined || task.restartOf !== undefined;
  return stopping || record.wish !== null || latest.state === "stopping" ? "stopping" : "running";
}

function describe(state: AllocationState & { record: AllocationRecord }): string {
  const { record } = state;
  const { outcome, wish } = record;
  if (record.ended && outcome !== null) {
    if (outcome.failure !== null) return outcome.failure.text;
    if (outcome.signal !== null) return `ended by ${outcome.signal}`;
    if (outcome.exitCode !== null) return `ended with exit code ${outcome.exitCode}`;
    return wish?.reason ?? outcome.state;
  }
  if (wish !== null) return `being stopped: ${wish.reason}`;
  if (outcome !== null) return "ended; the rest of its logs is on the way";
  if (startedAt(record) !== null) return "running";
  return openPlacement(state) === null ? "waiting for a place on a machine" : "about to start on its machine";
}

function text(at: Instant): string {
  return new Date(at).toISOString();
}

function orNull(at: Instant | null): string | null {
  return at === null ? null : text(at);
}
