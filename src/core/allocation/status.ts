import type { RunStatus } from "../../schema/run.ts";
import { failureClass } from "../errors.ts";
import { MAX_TASK_EVENTS } from "../limits.ts";
import type { Instant } from "../machine.ts";
import { isOver } from "./observe.ts";
import {
  type AllocationRecord,
  type AllocationState,
  type AttemptRecord,
  openPlacement,
  type TaskRecord,
} from "./state.ts";
import { startedAt, stateOf } from "./summary.ts";

type TaskStatus = RunStatus["tasks"][number];

/** One run, whole, as a reader sees it (`api.md`, One run, as read). */
export function statusOf(state: AllocationState & { record: AllocationRecord }): RunStatus {
  const { record } = state;
  const { spec, outcome, wish } = record;
  const ended = record.ended && outcome !== null ? outcome : null;
  const failure = ended?.failure ?? null;
  const logged = record.tasks.some((task) => task.attempts.length > 0);
  return {
    id: record.id,
    state: stateOf(record),
    allocStatus: allocStatus(record),
    specIndex: 1,
    version: record.version,
    spec,
    pool: spec.pool,
    labels: spec.labels,
    exitCode: ended?.exitCode ?? null,
    signal: ended?.signal ?? null,
    failure: failure === null ? null : { class: failureClass(failure.code), ...failure },
    abort: wish?.state === "aborted" ? { reason: wish.reason, by: wish.by } : null,
    description: describe(state),
    stdoutRef: logged ? `/v1/runs/${record.id}/logs/main/stdout` : null,
    stderrRef: logged ? `/v1/runs/${record.id}/logs/main/stderr` : null,
    submittedAt: text(record.submittedAt),
    placedAt: orNull(record.firstPlacedAt ?? openPlacement(state)?.from ?? null),
    startedAt: orNull(startedAt(record)),
    finishedAt: orNull(ended?.at ?? null),
    placements: record.placements.map((one) => ({ ...one, from: text(one.from), to: orNull(one.to) })),
    tasks: record.tasks.map((task) => taskStatus(record, task)),
  };
}

/**
 * Nomad's client status, which looks at the exit code where a run's `state` does not (`nomad.md` §2.1,
 * `api.md`).
 */
function allocStatus(record: AllocationRecord): RunStatus["allocStatus"] {
  const state = stateOf(record);
  switch (state) {
    case "pending":
    case "running":
      return state;
    case "complete":
      return record.outcome?.exitCode === 0 ? "complete" : "failed";
    case "unknown":
      return "lost";
    case "aborted":
    case "timedout":
      return "complete";
    case "failed":
      return "failed";
  }
}

function taskStatus(record: AllocationRecord, task: TaskRecord): TaskStatus {
  const latest = task.attempts.at(-1);
  const phase = phaseOf(record, latest);
  const dead = phase === "dead";
  return {
    name: task.name,
    state: dead ? "dead" : phase === "running" || phase === "stopping" ? "running" : "pending",
    phase,
    failed: dead && record.outcome?.state === "failed",
    restarts: Math.max(0, task.attempts.length - 1),
    startedAt: orNull(latest?.startedAt ?? null),
    finishedAt: orNull(latest?.finishedAt ?? null),
    attempts: task.attempts.map(({ id, state, startedAt: from, finishedAt: to, exit }) => {
      return { id, state, startedAt: orNull(from), finishedAt: orNull(to), exit };
    }),
    events: record.events
      .filter((event) => event.task === null || event.task === task.name)
      .slice(-MAX_TASK_EVENTS),
  };
}

function phaseOf(record: AllocationRecord, latest: AttemptRecord | undefined): TaskStatus["phase"] {
  if (record.ended || (latest !== undefined && isOver(latest))) return "dead";
  if (latest === undefined || latest.epoch <= record.endedEpoch) return "waiting";
  if (latest.state === "preparing") return "preparing";
  return record.wish !== null || latest.state === "stopping" ? "stopping" : "running";
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
