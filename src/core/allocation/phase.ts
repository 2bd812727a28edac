// What is a run doing? Its state, its description, its `why` and its alarm are each computed by a switch over
// `RunPhase`. So the code does not compile until each switch handles a new phase.

import type { RunState } from "../../schema/run/run.ts";
import type { After } from "../../shared/after/entries.ts";
import type { Instant } from "../../shared/machine.ts";
import { givenUpKills } from "./outcome.ts";
import { lastByteBy } from "./output/logs.ts";
import { savedBy } from "./placements/sticky.ts";
import {
  type AllocationRecord,
  type AttemptRecord,
  type Existing,
  type Outcome,
  openPlacement,
  type PlacementRecord,
  type StopRequest,
} from "./state.ts";
import { type GroupView, groupView, type Member } from "./tasks/tasks.ts";
import { queueDeadline } from "./time/time-limits.ts";

/** The run has no placement. */
type Unplaced =
  /** It wants no placement before these have ended so. */
  | { kind: "awaiting"; awaits: readonly After[] }
  /** It wants a placement, and fails if it has none at `until`. */
  | { kind: "waiting"; until: Instant | undefined }
  /** Its placement was lost or failed, and it wants another placement from `at` on. */
  | { kind: "rescheduling"; at: Instant }
  /** It is to stop, and ends once its pool confirms that it has not been placed in the meantime. */
  | { kind: "withdrawing"; request: StopRequest };

/** The run has a placement. */
type Placed = { placement: PlacementRecord; view: GroupView } & (
  | { kind: "starting" | "running" | "uploading" | "stopping" }
  /** The host failed to kill this attempt, and keeps trying. */
  | { kind: "unkillable"; attempt: AttemptRecord }
  /** These tasks are being stopped, and will start again. */
  | { kind: "restarting"; tasks: Member[] }
  /** No task is running or starting. `task` starts next. */
  | { kind: "backoff"; task: string; startAt: Instant }
  /** All tasks are dead. `again`: the run is placed again afterwards. */
  | { kind: "storing_data" | "last_bytes"; until: Instant; again: boolean }
);

/** What a run is doing. `startedAt`: when its first attempt started. */
export type RunPhase =
  | { kind: "ended"; outcome: Outcome }
  | ((Unplaced | Placed) & { startedAt: Instant | null });

/** The phase of a run, from its record and the known placement. */
export function phaseOf(state: Existing): RunPhase {
  const { record } = state;
  if (record.ended && record.outcome !== null) return { kind: "ended", outcome: record.outcome };
  const placement = openPlacement(state);
  const phase = placement === null ? unplaced(state) : placed(record, placement);
  return { ...phase, startedAt: startedAt(record) };
}

function unplaced(state: Existing): Unplaced {
  const { stopRequest, placeAt, awaits } = state.record;
  if (stopRequest !== null) return { kind: "withdrawing", request: stopRequest };
  if (awaits !== undefined) return { kind: "awaiting", awaits };
  if (placeAt !== undefined) return { kind: "rescheduling", at: placeAt };
  return { kind: "waiting", until: queueDeadline(state) };
}

/** Several phases may apply at once. The first match counts. */
function placed(record: AllocationRecord, placement: PlacementRecord): Placed {
  const view = groupView(record);
  const here = { placement, view };
  const { members, hostStop } = view;
  const [attempt] = givenUpKills(record);
  if (attempt !== undefined) return { ...here, kind: "unkillable", attempt };
  if (record.outcome !== null) {
    const again = record.outcome.again === true;
    const [bytes, data] = [lastByteBy(record, record.outcome), savedBy(record)];
    if (data === undefined) return { ...here, kind: "last_bytes", until: bytes, again };
    return { ...here, kind: "storing_data", until: Math.max(bytes, data), again };
  }
  if (record.stopRequest !== null || record.kill !== undefined || hostStop !== undefined)
    return { ...here, kind: "stopping" };
  const tasks = members.filter(({ known, n }) => known.restartOf === n);
  if (tasks.length > 0) return { ...here, kind: "restarting", tasks };
  if (members.some((one) => one.attempt?.state === "uploading")) return { ...here, kind: "uploading" };
  const isBusy = members.some(({ state, phase }) => state === "running" || phase.kind === "preparing");
  const delays = isBusy ? [] : members.flatMap(delayOf);
  const [next] = delays.sort((a, b) => a.startAt - b.startAt);
  if (next !== undefined) return { ...here, kind: "backoff", ...next };
  const isStarted = members.some(({ known }) => {
    return known.attempts.some((one) => one.epoch === placement.epoch && one.startedAt !== null);
  });
  return { ...here, kind: isStarted ? "running" : "starting" };
}

function delayOf({ task, phase, known }: Member): { task: string; startAt: Instant }[] {
  const isDelayed = phase.kind === "backoff" && known.stopFrom === undefined;
  return isDelayed && phase.startAt !== undefined ? [{ task: task.name, startAt: phase.startAt }] : [];
}

/**
 * The state of a run (api.md#states). A run ends only when nothing of it can be left on any machine (rule
 * R3). Until then a run that has started is `running`, even if it was aborted.
 */
export function stateOf(phase: RunPhase): RunState {
  if (phase.kind === "ended") return phase.outcome.state;
  return phase.startedAt === null ? "pending" : "running";
}

/** When the first attempt of the run started; null: none has. */
export function startedAt(record: AllocationRecord): Instant | null {
  return record.startedAt ?? record.tasks[0]?.attempts.at(-1)?.startedAt ?? null;
}
