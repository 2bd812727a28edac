// What is a run doing? It is derived here alone: its state, its description, `why` and its alarm are each a
// switch over this union, so that a new phase is a compile error wherever something must be said of it.
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
  type Wish,
} from "./state.ts";
import { type GroupView, groupView, type Member } from "./tasks/tasks.ts";
import { queueDeadline } from "./time/time-limits.ts";

/** It has no place. */
type Unplaced =
  /** It wants one, and gives up then. */
  | { kind: "waiting"; until: Instant | undefined }
  /** It has lost its place or has failed there, and wants another one from then on. */
  | { kind: "rescheduling"; at: Instant }
  /** It is to end, which its pool must confirm: it may have been given a place by now. */
  | { kind: "withdrawing"; wish: Wish };

/** It has a place. */
type Placed = { placement: PlacementRecord; view: GroupView } & (
  | { kind: "starting" | "running" | "uploading" | "stopping" }
  /** Its host has given up killing it, and goes on trying. */
  | { kind: "unkillable"; attempt: AttemptRecord }
  /** These tasks are stopped, to be started again. */
  | { kind: "restarting"; tasks: Member[] }
  /** None of its tasks runs or is being started, and this one is started again next. */
  | { kind: "backoff"; task: string; startAt: Instant }
  /** All of its tasks are dead. `again`: it is placed again after that. */
  | { kind: "storing_data" | "last_bytes"; until: Instant; again: boolean }
);

/** What a run is doing. `startedAt`: when anything of it was first started. */
export type RunPhase =
  | { kind: "ended"; outcome: Outcome }
  | ((Unplaced | Placed) & { startedAt: Instant | null });

/** What a run is doing, by what is stored and by where it is known to be placed. */
export function phaseOf(state: Existing): RunPhase {
  const { record } = state;
  if (record.ended && record.outcome !== null) return { kind: "ended", outcome: record.outcome };
  const placement = openPlacement(state);
  const phase = placement === null ? unplaced(state) : placed(record, placement);
  return { ...phase, startedAt: startedAt(record) };
}

function unplaced(state: Existing): Unplaced {
  const { wish, placeAt } = state.record;
  if (wish !== null) return { kind: "withdrawing", wish };
  if (placeAt !== undefined) return { kind: "rescheduling", at: placeAt };
  return { kind: "waiting", until: queueDeadline(state) };
}

/** What comes first hides the rest: what cannot be killed, the end, a stop, a restart, and then what runs. */
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
  if (record.wish !== null || record.kill !== undefined || hostStop !== undefined)
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
 * The state of a run (api.md#states). It ends only when nothing of it can be left anywhere (rule R3):
 * until then a run whose command has been started is `running`, an aborted one too.
 */
export function stateOf(phase: RunPhase): RunState {
  if (phase.kind === "ended") return phase.outcome.state;
  return phase.startedAt === null ? "pending" : "running";
}

/** When anything of it was first started. A record from before there were groups has one task. */
export function startedAt(record: AllocationRecord): Instant | null {
  return record.startedAt ?? record.tasks[0]?.attempts.at(-1)?.startedAt ?? null;
}
