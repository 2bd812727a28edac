// What is a run doing? State, description, `why` and alarm are each a switch over this union, so a new phase
// is a compile error wherever it matters.
import type { RunState } from "../../schema/run/run.ts";
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
  /** It wants a placement, and gives up at `until`. */
  | { kind: "waiting"; until: Instant | undefined }
  /** Its placement was lost or failed; it wants another one from `at` on. */
  | { kind: "rescheduling"; at: Instant }
  /** It is to stop; its pool must confirm that it has not placed it in the meantime. */
  | { kind: "withdrawing"; request: StopRequest };

/** The run has a placement. */
type Placed = { placement: PlacementRecord; view: GroupView } & (
  | { kind: "starting" | "running" | "uploading" | "stopping" }
  /** The host failed to kill it and keeps trying. */
  | { kind: "unkillable"; attempt: AttemptRecord }
  /** These tasks are being stopped, to be started again. */
  | { kind: "restarting"; tasks: Member[] }
  /** No task runs or starts, and this one starts next. */
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
  const { stopRequest, placeAt } = state.record;
  if (stopRequest !== null) return { kind: "withdrawing", request: stopRequest };
  if (placeAt !== undefined) return { kind: "rescheduling", at: placeAt };
  return { kind: "waiting", until: queueDeadline(state) };
}

/** The first phase that applies, in this order: unkillable, dead, stopping, restarting, running. */
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
 * The state of a run (api.md#states). It ends only when nothing of it can be left anywhere (rule R3): until
 * then a run that has started is `running`, even if aborted.
 */
export function stateOf(phase: RunPhase): RunState {
  if (phase.kind === "ended") return phase.outcome.state;
  return phase.startedAt === null ? "pending" : "running";
}

/** When anything of it was first started. */
export function startedAt(record: AllocationRecord): Instant | null {
  return record.startedAt ?? record.tasks[0]?.attempts.at(-1)?.startedAt ?? null;
}
