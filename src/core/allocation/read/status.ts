// What does a reader see of a run (api.md#one-run)?

import type { AnyRun, RunStatus } from "../../../schema/run/run.ts";
import { awaitedText } from "../../../shared/after/entries.ts";
import { failureClass } from "../../../shared/errors.ts";
import { MAX_TASK_EVENTS } from "../../../shared/limits.ts";
import { iso, isoOrNull } from "../../../shared/time/instant.ts";
import { because } from "../../../shared/words.ts";
import { exactCost, rounded } from "../../run/money.ts";
import { checksShown, healthOfRun } from "../health/view.ts";
import { phaseOf, type RunPhase, startedAt, stateOf } from "../phase.ts";
import { shownMember } from "../placements/hold.ts";
import { retryFields } from "../retry/view.ts";
import {
  type AllocationRecord,
  type Existing,
  type Outcome,
  openPlacement,
  type PlacementRecord,
} from "../state.ts";
import { type GroupView, groupView, type Member, type TaskPhase, type TaskView } from "../tasks/tasks.ts";
import { describeEnd } from "./end-text.ts";
import { sizeAdvice } from "./sizes.ts";
import { whyStopped } from "./why-stopped.ts";

type TaskStatus = RunStatus["tasks"][number];

/** Everything about a run that readers see (api.md#one-run). */
export function statusOf(state: Existing): RunStatus {
  const { record } = state;
  const { spec } = record;
  const phase = phaseOf(state);
  const view = groupView(record);
  const advice = sizeAdvice(record, view.members);
  // `state` comes first, so that a text search finds the run's state before the state of any task.
  return {
    id: record.id,
    ...partOfState(record, phase),
    allocStatus: allocStatus(phase, view),
    specIndex: record.specIndex,
    version: record.version,
    spec,
    project: record.project,
    pool: spec.pool,
    labels: spec.labels,
    description: describe(record, phase),
    submittedAt: iso(record.submittedAt),
    placedAt: isoOrNull(record.firstPlacedAt ?? openPlacement(state)?.from ?? null),
    ...keptField(state),
    placements: placementsOf(state).map(({ maxKillMs: _bound, from, to, ...one }) => {
      return { ...one, from: iso(from), to: isoOrNull(to) };
    }),
    tasks: record.tasks.flatMap((task) => {
      return view.members.filter(({ known }) => known === task).map((one) => taskStatus(record, one));
    }),
    ...healthField(record),
    ...retryFields(state),
    ...(advice.length === 0 ? {} : { advice }),
  };
}

/** The health of a run whose tasks have checks (health.md#status). */
function healthField(record: AllocationRecord): Pick<AnyRun, "health"> {
  const health = healthOfRun(record);
  return health === undefined ? {} : { health };
}

/** The machine that keeps the run, and what that costs at list prices (tasks.md#kept). */
function keptField({ record }: Existing): Pick<AnyRun, "kept"> {
  const { hold, outcome, placements } = record;
  const placement = placements.at(-1);
  if (hold === undefined || outcome === null || placement === undefined) return {};
  const { worker, rate: perHour = null } = placement;
  const kept = {
    worker,
    until: iso(hold.until),
    task: shownMember(record)?.task.name ?? "",
    perHour,
    cost: perHour === null ? null : rounded(exactCost(outcome.at, hold.until, perHour)),
    releasing: hold.released !== undefined,
  };
  return { kept };
}

/** The placements, including the open placement even if it is not stored. */
function placementsOf(state: Existing): PlacementRecord[] {
  const { ended, placements } = state.record;
  const open = ended ? null : openPlacement(state);
  return open === null || placements.at(-1) === open ? placements : [...placements, open];
}

/** The fields that depend on the state, for each state. */
type PartOf<Run> = Run extends RunStatus ? Omit<Run, keyof AnyRun> : never;

/**
 * The fields that depend on the state (api.md#fields-by-state). The end of a run is shown only once it is
 * final. An exit is shown only in states that have an exit.
 */
function partOfState(record: AllocationRecord, phase: RunPhase): PartOf<RunStatus> {
  const from = startedAt(record);
  const refs = refsOf(record);
  const nothing = { exitCode: null, signal: null, snapshot: null, failure: null, abort: null };
  if (phase.kind !== "ended") {
    const open = { ...nothing, abort: abortOf(record), finishedAt: null };
    if (from !== null) return { state: "running", ...open, ...refs, startedAt: iso(from) };
    return { state: "pending", ...open, stdoutRef: null, stderrRef: null, startedAt: null };
  }
  const { outcome } = phase;
  const { state, exitCode, signal, snapshot = null } = outcome;
  const end = { ...nothing, ...refs, startedAt: isoOrNull(from), finishedAt: iso(outcome.at) };
  switch (state) {
    case "complete":
      return { state, ...end, exitCode, signal, snapshot };
    // The abort is also shown, since the run may have failed because something could not be killed.
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

function abortOf({ stopRequest }: AllocationRecord): { reason: string; by: string } | null {
  return stopRequest?.state === "aborted" ? { reason: stopRequest.reason, by: stopRequest.by } : null;
}

/** Why a run failed. The fallback is for a record that lacks the failure. */
function failureIn({ failure }: Outcome) {
  const { code, text: why } = failure ?? { code: "status_lost" as const, text: "the reason is unknown" };
  return { class: failureClass(code), code, text: why };
}

function refsOf(record: AllocationRecord) {
  const shown = shownTask(record);
  if (shown === null) return { stdoutRef: null, stderrRef: null };
  const logs = `/v1/runs/${record.id}/logs/${shown}`;
  return { stdoutRef: `${logs}/stdout`, stderrRef: `${logs}/stderr` };
}

/**
 * The task whose output is shown as the output of the run: the leader, or else the first main task
 * (api.md#fields-by-state). Null until this task has started, and after the logs were deleted.
 */
function shownTask(record: AllocationRecord): string | null {
  if (record.logsGone !== undefined) return null;
  const { members } = groupView(record);
  const shown = members.find(({ task }) => task.leader) ?? members.find(({ task }) => task.hook === "main");
  return shown?.known.attempts.some((one) => one.startedAt !== null) ? shown.task.name : null;
}

/**
 * Nomad's client status, which depends on the exit code, unlike a run's `state` (tasks.md#alloc-status,
 * api.md#alloc-status).
 */
function allocStatus(phase: RunPhase, { record, group, members }: GroupView): RunStatus["allocStatus"] {
  const state = stateOf(phase);
  switch (state) {
    case "pending":
    case "running": {
      const status = clientStatus(members);
      // A single command ends only once its logs are complete or given up.
      return group.lone && (status === "complete" || status === "failed") ? state : status;
    }
    case "complete":
      return group.lone && record.outcome?.exitCode !== 0 ? "failed" : "complete";
    case "unknown":
      return "lost";
    case "aborted":
    case "timedout":
      return members.some((one) => one.failed) ? "failed" : "complete";
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

function taskStatus(record: AllocationRecord, one: Member): TaskStatus {
  const { known, phase, state: now, failed } = one;
  const { name, restarts, lastRestart, stopFrom, attempts } = known;
  const latest = attempts.at(-1);
  const isBackedOff = phase.kind === "backoff" && stopFrom === undefined;
  // A task that never ran counts as ended when its run ended (tasks.md#never-ran).
  const fixed = phase.kind === "dead" && record.ended ? phase.at : null;
  return {
    name,
    state: now,
    phase: shownPhase(phase),
    failed,
    restarts,
    lastRestart: isoOrNull(lastRestart ?? null),
    nextStart: isBackedOff ? isoOrNull(phase.startAt ?? null) : null,
    startedAt: isoOrNull(latest?.startedAt ?? null),
    // Null after a restart: earlier ends do not count (decisions/tasks.md#times-of-a-task).
    finishedAt: isoOrNull(phase.kind === "dead" ? (latest?.finishedAt ?? fixed) : null),
    attempts: attempts.map(({ id, state, startedAt: from, finishedAt: to, exit, peaks, ...own }) => {
      const { devices, image, doing } = own;
      const more = {
        ...(devices === undefined ? {} : { devices }),
        ...(peaks === undefined ? {} : { peaks }),
        ...(image === undefined ? {} : { image }),
        ...(doing === undefined ? {} : { doing }),
      };
      return { id, state, startedAt: isoOrNull(from), finishedAt: isoOrNull(to), exit, ...more };
    }),
    ...checksShown(one),
    events: eventsOf(record, name),
  };
}

/** The latest events of a task and, if there is room, the latest events of the run as a whole. */
function eventsOf({ events }: AllocationRecord, task: string): TaskStatus["events"] {
  const own = events.filter((event) => event.task === task).slice(-MAX_TASK_EVENTS);
  const room = MAX_TASK_EVENTS - own.length;
  const others = room === 0 ? [] : events.filter((event) => event.task === null).slice(-room);
  return [...others, ...own].sort((a, b) => a.seq - b.seq);
}

/** The phase that readers see. They never see `over`: the same step turns it into `dead` or `backoff`. */
function shownPhase({ kind }: TaskPhase): TaskStatus["phase"] {
  return kind === "over" ? "dead" : kind;
}

/** What a run is doing, in words (api.md#one-run). */
function describe(record: AllocationRecord, phase: RunPhase): string {
  switch (phase.kind) {
    case "ended":
      return describeEnd(record, phase.outcome);
    case "awaiting":
      return `waiting for ${awaitedText(phase.awaits)}`;
    case "waiting":
    case "rescheduling":
      return "waiting for a place on a machine";
    case "withdrawing":
    case "stopping":
      return because("being stopped", whyStopped(groupView(record)));
    case "unkillable":
      return `${phase.attempt.id} cannot be killed; its host keeps trying`;
    case "storing_data":
      return "ended; its data are being stored for its next place";
    case "last_bytes":
      return "ended; the rest of its logs is on the way";
    case "uploading":
      return "its command has ended; its outputs are being stored";
    case "starting":
      return "about to start on its machine";
    case "running":
    case "backoff":
    case "restarting":
      return "running";
  }
}
