// What does an allocation store and remember of its run?
import type { AttemptReport, HostStop, OutputsOutcome, StartError, StreamName } from "../../schema/host.ts";
import type { Exit, RunEvent, RunSpec, SignalName } from "../../schema/run/run.ts";
import type { FailureCode } from "../../shared/errors.ts";
import type { Instant, Millis } from "../../shared/machine.ts";
import type { EndState } from "../../shared/run-state.ts";
import type { LossCause } from "../messages.ts";
import type { GroupTask } from "../spec.ts";

/**
 * Which gates of a group are open (tasks.md#stages). Stages only go forward, except in a restart of all
 * tasks: in `restarting` nothing starts until every task is at rest.
 */
export type Stage = "restarting" | "prestart" | "main" | "poststart" | "running";

/** Why a group is stopped by its own tasks (tasks.md#reactions): the event, and the task that caused it. */
export interface Reaction {
  type: "Sibling Task Failed" | "Leader Task Dead" | "Main Tasks Dead";
  task: string | null;
}

/** The interval in which restarts are counted. */
export interface RestartWindow {
  start: Instant;
  count: number;
}

/** One reschedule: when the run failed, how long it then waited, and which worker it left. */
export interface RescheduleEvent {
  at: Instant;
  delayMs: Millis;
  worker: string;
}

/** Tells a repeated request from a new one: hashes of its `Idempotency-Key` and of its content. */
export interface RequestKey {
  key: string;
  hash: string;
}

/** One start of one task. */
export interface AttemptRecord {
  id: string;
  epoch: number;
  state: AttemptReport["state"];
  startedAt: Instant | null;
  finishedAt: Instant | null;
  exit: Exit | null;
  startError: StartError | null;
  timedOut: boolean;
  /** When its end became known, if that was later. */
  heardAt?: Instant;
  /** The protocol version of its host in the latest report of it (compat.md#hosts). */
  protocol: number;
  /** Its host has stopped it by itself, for this reason. */
  stopped?: HostStop;
  killError: string | null;
  /** Its host has begun to fetch its artifacts. Absent: it has none, or that is unknown. */
  fetching?: true;
  /** What became of its outputs. Absent: it has none, or that is unknown. */
  outputs?: OutputsOutcome;
}

/** One task. Optional fields are marks: they are there while they hold. */
export interface TaskRecord {
  name: string;
  /** The latest 50. */
  attempts: AttemptRecord[];
  /** The number of the attempt that is to run in the open epoch, or that was the last one there. */
  n: number;
  /** The first attempt number since all tasks were last started again. */
  round: number;
  /** That attempt is not started before this time, and is ordered before only if its host can wait. */
  startAt?: Instant;
  /** The interval in which restarts are counted. Absent: it begins with the placement (restart.md#note-1). */
  window?: RestartWindow;
  restarts: number;
  lastRestart?: Instant;
  /** Attempts in a row whose end is unknown. */
  losses: number;
  /** The attempt that is being stopped because a restart was requested. */
  restartOf?: number;
  /** The attempt that is to be killed at once, without signal and grace period. */
  killNow?: number;
  /** The stop for a restart is not ordered before this: the group's shutdown delay comes first. */
  restartAt?: Instant;
  /** The task from before an update that removed it: it is stopped, and never started again. */
  removed?: GroupTask;
  /** Since when the task is being stopped. Its shutdown delay counts from here. */
  stopFrom?: Instant;
  /** The task is over in the open epoch. `killed`: stopped on purpose. */
  dead?: { at: Instant; how: "terminated" | "failed" | "lost" | "killed" };
}

/** A task to which nothing has happened yet. */
export function newTask(name: string): TaskRecord {
  return { name, attempts: [], n: 1, round: 1, restarts: 0, losses: 0 };
}

/** A signal that an attempt is to get once: `n` distinguishes it from equal signals. */
export interface SentSignal {
  id: string;
  signal: SignalName;
  n: number;
}

/** Why the tasks of the open epoch make it stop, and since when (tasks.md#reactions). */
export interface GroupKill extends Reaction {
  at: Instant;
}

/** One stream of one attempt: `stored` bytes are here, the last of them in `tail`, the others in segments. */
export interface StreamRecord {
  /** Bytes that the process has written, as its host reports. */
  size: number;
  stored: number;
  tail: Uint8Array;
  /** When the latest of the stored bytes came; absent: none has. */
  at?: Instant;
}

/**
 * A stretch of a stream that the latest event brought, or pushed out of the tail. The store writes it as a
 * row in the same commit. `data`: the bytes; `length`: that many bytes are in the object store.
 */
export type LogSegment = LogRow | { attempt: string; stream: StreamName; from: number; length: number };

/** A segment with its bytes. */
export interface LogRow {
  attempt: string;
  stream: StreamName;
  from: number;
  data: Uint8Array;
}

export interface PlacementRecord {
  epoch: number;
  worker: string;
  from: Instant;
  to: Instant | null;
  outcome: "open" | "refused" | "gone" | "lost";
  /** Why its machine was lost. Absent: without notice. */
  cause?: LossCause;
  /** What an hour of the placement costs at the pool's list prices. Absent: not known. */
  rate?: number;
  /** The longest kill timeout that its host grants. Absent: the usual one. */
  maxKillMs?: Millis;
}

/** The state of a sticky run's data, as the host of its placement reports. */
export interface SavedData {
  /** The latest epoch whose host has reported it. */
  epoch: number;
  /** Why the data of that epoch were not stored. */
  error?: string;
  /** The latest stored data. */
  snapshot?: { id: string; epoch: number; worker: string };
}

/** A decision to stop the run, by a user or a time limit, before its end (rule R3). */
export interface StopRequest {
  state: "aborted" | "timedout" | "failed";
  at: Instant;
  reason: string;
  by: string;
  failure: FailureCode | null;
}

/** How the run ends, or ended. */
export interface Outcome {
  state: EndState;
  /** When the last attempt of the run ended. */
  at: Instant;
  /** When that became known, if later. */
  heardAt?: Instant;
  exitCode: number | null;
  signal: string | null;
  failure: { code: FailureCode; text: string } | null;
  /** The id of its stored result. */
  snapshot?: string;
  /** Its tasks failed, and the run is placed again once its logs are stored. */
  again?: boolean;
}

/** Everything about a run that must survive. Stored as one value. */
export interface AllocationRecord {
  id: string;
  spec: RunSpec;
  hash: string;
  version: number;
  submittedAt: Instant;
  /** Since when it waits for a placement. */
  waitingSince: Instant;
  firstPlacedAt: Instant | null;
  /** The latest 50; the last one is open if its `to` is null. */
  placements: PlacementRecord[];
  endedEpoch: number;
  /** The revision of the order within a placement; time adds to it (`orders.ts`, `revisionAt`). */
  revision: number;
  stopRequest: StopRequest | null;
  outcome: Outcome | null;
  /** The outcome is final, and no epoch is open. */
  ended: boolean;
  tasks: TaskRecord[];
  /** How often the spec was set: only a change of the spec raises it. */
  specIndex: number;
  /** When an update last changed the time limit. */
  timeoutSetAt?: Instant;
  /** The latest signals; `signaled` counts all of them. */
  signals: SentSignal[];
  signaled: number;
  /** The latest requests with an idempotency key (`idempotency.ts`). */
  asks: RequestKey[];
  /** The stage of the group in the open epoch. Absent: its first stage. */
  stage?: Stage;
  kill?: GroupKill;
  /** All its tasks are to be killed at once (`stop.ts`). */
  forced?: { at: Instant; by: string };
  /** Since when its poststop tasks are stopped as well: their time after the request to stop is over. */
  poststopOver?: Instant;
  /** The latest reschedules (restart.md#kept). */
  reschedules: RescheduleEvent[];
  /** A sticky run's stored data, or why its latest were not stored. */
  saved?: SavedData;
  /** It wants no placement before this. */
  placeAt?: Instant;
  /** When its first attempt started. */
  startedAt?: Instant;
  /** When its logs were deleted, although the run is kept (`retention.logs` of its pool). */
  logsGone?: Instant;
  /** The latest version with a change that the pool must know. */
  poolVersion: number;
  events: RunEvent[];
  eventsDropped: number;
  logs: Record<string, Record<StreamName, StreamRecord>>;
}

/** What is left of a run that was deleted: its id cannot be used again for now (`forget.ts`). */
export interface Tombstone {
  id: string;
  submittedAt: Instant;
  forgotten: Instant;
}

/** What a restart may forget: acknowledgments, and what others have stored and will repeat. */
export interface AllocationMemo {
  /** The latest version that the pool confirmed. */
  poolHas: number;
  /** The pool has a row of the run, so the submission is acknowledged. */
  accepted: boolean;
  /** A placement that the pool has stored and sent, and that this object has had no reason to store. */
  placement: PlacementRecord | null;
  /** `epoch.revision` of the order that the worker confirmed. */
  workerHas: string;
  /** Changes of the order by time alone have been handled up to here. */
  handledUpTo: Instant;
  /** How long the pool wants the logs of an ended run kept. Absent: as long as the run, or unknown. */
  keepLogsMs?: Millis | undefined;
  /** When to ask the pool for `keepLogsMs` again: the alarm from before the load may be for the logs. */
  askAt?: Instant | undefined;
  /** Why the pool refused the run, whose record is gone then. */
  refusal: { code: string; text: string; retryAfterMs?: number } | null;
}

export interface AllocationState {
  record: AllocationRecord | null;
  memo: AllocationMemo;
  /** Log segments of the latest event (see `LogSegment`). */
  spill: LogSegment[];
  /** What is left of a deleted run; there is no `record` then. */
  tombstone?: Tombstone;
}

/** A run that exists. */
export type Existing = AllocationState & { record: AllocationRecord };

/** Whether there is a run. */
export function exists(state: AllocationState): state is Existing {
  return state.record !== null;
}

export const EMPTY_MEMO: AllocationMemo = {
  poolHas: 0,
  accepted: false,
  placement: null,
  workerHas: "",
  handledUpTo: 0,
  refusal: null,
};

/** The open placement, stored or not. */
export function openPlacement(state: AllocationState): PlacementRecord | null {
  const last = state.record?.placements.at(-1);
  if (last !== undefined && last.to === null) return last;
  return state.memo.placement;
}
