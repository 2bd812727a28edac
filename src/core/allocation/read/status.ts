import type { AnyRun, RunStatus } from "../../../schema/run/run.ts";
import { failureClass } from "../../../shared/errors.ts";
import { MAX_TASK_EVENTS } from "../../../shared/limits.ts";
import { formatSize } from "../../../shared/size.ts";
import { iso, isoOrNull } from "../../../shared/time/instant.ts";
import { because } from "../../../shared/words.ts";
import { tasksOf } from "../../spec.ts";
import { uploadingAttempt } from "../output/outputs.ts";
import {
  type AllocationRecord,
  type AllocationState,
  type AttemptRecord,
  type Outcome,
  openPlacement,
  type PlacementRecord,
  type TaskRecord,
} from "../state.ts";
import { startedAt, stateOf } from "../summary.ts";
import type { TaskView } from "../tasks/lifecycle.ts";
import { groupOfRun, isOver, recordOf, viewsOf } from "../tasks/tasks.ts";
import { reasonOf } from "./why-stopped.ts";

type TaskStatus = RunStatus["tasks"][number];

/** One run, whole, as a reader sees it (api.md#one-run). */
export function statusOf(state: AllocationState & { record: AllocationRecord }): RunStatus {
  const { record } = state;
  const { spec } = record;
  // Its state comes first: whoever looks for the word in the text finds that of the run, and of no task.
  return {
    id: record.id,
    ...partOfState(record),
    allocStatus: allocStatus(record),
    specIndex: record.specIndex ?? 1,
    version: record.version,
    spec,
    pool: spec.pool,
    labels: spec.labels,
    description: describe(state),
    submittedAt: iso(record.submittedAt),
    placedAt: isoOrNull(record.firstPlacedAt ?? openPlacement(state)?.from ?? null),
    placements: placementsOf(state).map(({ maxKillMs: _bound, from, to, ...one }) => {
      return { ...one, from: iso(from), to: isoOrNull(to) };
    }),
    tasks: record.tasks.map((task) => taskStatus(record, task)),
  };
}

/** Its placements, with the open one that is not stored yet. */
function placementsOf(state: AllocationState & { record: AllocationRecord }): PlacementRecord[] {
  const { ended, placements } = state.record;
  const open = ended ? null : openPlacement(state);
  return open === null || placements.at(-1) === open ? placements : [...placements, open];
}

/** What only some states have, for each state by itself. */
type PartOf<Run> = Run extends RunStatus ? Omit<Run, keyof AnyRun> : never;

/**
 * What a run has in its state and in no other (api.md#fields-by-state). An end that is not final yet is not
 * shown, and what a run ended with stands beside no state to which it does not belong.
 */
function partOfState(record: AllocationRecord): PartOf<RunStatus> {
  const { outcome } = record;
  const from = startedAt(record);
  const refs = refsOf(record);
  const nothing = { exitCode: null, signal: null, snapshot: null, failure: null, abort: null };
  if (!record.ended || outcome === null) {
    const open = { ...nothing, abort: abortOf(record), finishedAt: null };
    if (from !== null) return { state: "running", ...open, ...refs, startedAt: iso(from) };
    return { state: "pending", ...open, stdoutRef: null, stderrRef: null, startedAt: null };
  }
  const { state, exitCode, signal, snapshot = null } = outcome;
  const end = { ...nothing, ...refs, startedAt: isoOrNull(from), finishedAt: iso(outcome.at) };
  switch (state) {
    case "complete":
      return { state, ...end, exitCode, signal, snapshot };
    // An abort of what could not be killed was asked for in vain.
    case "failed":
      return {
        state,
        ...end,
        exitCode,
        signal,
        snapshot,
        failure: failureIn(outcome),
        abort: abortOf(record),
      };
    case "unknown":
      return { state, ...end, failure: failureIn(outcome), abort: abortOf(record) };
    case "aborted":
      return { state, ...end, abort: abortOf(record) ?? { reason: "", by: "" } };
    case "timedout":
      return { state, ...end };
  }
}

function abortOf({ wish }: AllocationRecord): { reason: string; by: string } | null {
  return wish?.state === "aborted" ? { reason: wish.reason, by: wish.by } : null;
}

/** Every failed end says why; one that does not was stored by a version that did not know of this rule. */
function failureIn({ failure }: Outcome) {
  const { code, text: why } = failure ?? { code: "status_lost" as const, text: "why is no longer known" };
  return { class: failureClass(code), code, text: why };
}

function refsOf(record: AllocationRecord) {
  const shown = shownTask(record);
  if (shown === null) return { stdoutRef: null, stderrRef: null };
  const logs = `/v1/runs/${record.id}/logs/${shown}`;
  return { stdoutRef: `${logs}/stdout`, stderrRef: `${logs}/stderr` };
}

/**
 * The task whose output stands for the run's, once there can be any (api.md#fields-by-state): the leader, or
 * the first main task.
 */
function shownTask(record: AllocationRecord): string | null {
  const { tasks } = groupOfRun(record);
  const shown = tasks.find((task) => task.leader) ?? tasks.find((task) => task.hook === "main");
  if (record.logsGone !== undefined) return null;
  const attempts = shown === undefined ? [] : recordOf(record, shown).attempts;
  return shown !== undefined && attempts.some((one) => one.startedAt !== null) ? shown.name : null;
}

/**
 * Nomad's client status, which looks at the exit code where a run's `state` does not (tasks.md#alloc-status,
 * api.md#alloc-status).
 */
function allocStatus(record: AllocationRecord): RunStatus["allocStatus"] {
  const state = stateOf(record);
  const group = groupOfRun(record);
  switch (state) {
    case "pending":
    case "running": {
      const status = clientStatus(viewsOf(record, group, record.endedEpoch + 1));
      // A command by itself has its end when the last of its logs is there.
      return group.lone && (status === "complete" || status === "failed") ? state : status;
    }
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

/** The precedence of tasks.md#alloc-status, rows 3 to 6. */
export function clientStatus(views: TaskView[]): "pending" | "running" | "complete" | "failed" {
  if (views.some(({ state, failed }) => state === "dead" && failed)) return "failed";
  if (views.some(({ state }) => state === "running")) return "running";
  return views.some(({ state }) => state === "pending") ? "pending" : "complete";
}

/** The phases in which something of a task is on its host, and has been started. */
const LIVE_PHASES: readonly TaskStatus["phase"][] = ["running", "stopping", "uploading"];

function taskStatus(record: AllocationRecord, task: TaskRecord): TaskStatus {
  const latest = task.attempts.at(-1);
  const phase = phaseOf(record, task, latest);
  const dead = phase === "dead";
  const failed = task.dead === undefined ? dead && record.outcome?.state === "failed" : hasFailed(task.dead);
  // What never ran has no end of its own: it ended with its run (tasks.md#never-ran).
  const fixed = record.ended ? (task.dead?.at ?? record.outcome?.at ?? null) : null;
  return {
    name: task.name,
    state: dead ? "dead" : LIVE_PHASES.includes(phase) ? "running" : "pending",
    phase,
    failed,
    restarts: task.restarts ?? 0,
    lastRestart: isoOrNull(task.lastRestart ?? null),
    nextStart: phase === "backoff" && task.stopFrom === undefined ? isoOrNull(task.startAt ?? null) : null,
    startedAt: isoOrNull(latest?.startedAt ?? null),
    // A rerun clears it: an end that lies before the latest start is none
    // (decisions/tasks.md#times-of-a-task).
    finishedAt: isoOrNull(dead ? (latest?.finishedAt ?? fixed) : null),
    attempts: task.attempts.map(({ id, state, startedAt: from, finishedAt: to, exit }) => {
      return { id, state, startedAt: isoOrNull(from), finishedAt: isoOrNull(to), exit };
    }),
    events: eventsOf(record, task.name),
  };
}

/** The latest events of a task, and in what room they leave the latest of the run. */
function eventsOf({ events }: AllocationRecord, task: string): TaskStatus["events"] {
  const own = events.filter((event) => event.task === task).slice(-MAX_TASK_EVENTS);
  const room = MAX_TASK_EVENTS - own.length;
  const others = room === 0 ? [] : events.filter((event) => event.task === null).slice(-room);
  return [...others, ...own].sort((a, b) => a.seq - b.seq);
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
  if (stopping || record.wish !== null || latest.state === "stopping") return "stopping";
  return latest.state === "uploading" ? "uploading" : "running";
}

function describe(state: AllocationState & { record: AllocationRecord }): string {
  const { record } = state;
  const { outcome, wish } = record;
  if (record.ended && outcome !== null) {
    const memory = outOfMemory(record);
    if (outcome.failure !== null) {
      const why = outcome.failure.code === "task_failed" ? memory : [];
      return [outcome.failure.text, ...why].join("; ");
    }
    if (outcome.exitCode !== 0 && memory[0] !== undefined) return memory[0];
    if (outcome.signal !== null) return `ended by ${outcome.signal}`;
    if (outcome.exitCode !== null) return `ended with exit code ${outcome.exitCode}`;
    return wish === null ? outcome.state : reasonOf(wish);
  }
  if (wish !== null) return because("being stopped", wish.reason);
  if (outcome !== null) return "ended; the rest of its logs is on the way";
  if (uploadingAttempt(record) !== undefined) return "its command has ended; its outputs are being stored";
  if (startedAt(record) !== null) return "running";
  return openPlacement(state) === null ? "waiting for a place on a machine" : "about to start on its machine";
}

/** Which tasks of a run have ended for want of memory, and what they were held to. */
function outOfMemory({ spec, tasks }: AllocationRecord): string[] {
  const short = tasks.filter(({ attempts }) => attempts.at(-1)?.exit?.oomKilled);
  return short.map(({ name }) => {
    const of = tasksOf(spec).find((task) => task.name === name);
    const limit = of?.memoryLimitBytes ?? of?.resources.memoryBytes ?? 0;
    const most = limit === 0 ? "its machine had no more" : formatSize(limit);
    return `${tasks.length === 1 ? "" : `task ${name} `}ran out of memory (${most})`;
  });
}
