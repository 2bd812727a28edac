// What does an allocation store and remember about its run?

import type { AttemptReport, HostStop, OutputsOutcome, StartError, StreamName } from "../../schema/host.ts";
import type { Peaks } from "../../schema/run/peaks.ts";
import type { Exit, RunEvent, RunSpec, SignalName } from "../../schema/run/run.ts";
import type { After } from "../../shared/after/entries.ts";
import type { FailureCode } from "../../shared/errors.ts";
import type { CheckStatus } from "../../shared/health/words.ts";
import type { Instant, Millis } from "../../shared/machine.ts";
import type { EndState } from "../../shared/run-state.ts";
import type { PackedStamps } from "../../shared/time/stamps.ts";
import type { Outbox } from "../audit/outbox.ts";
import type { Via } from "../audit/via.ts";
import type { Budget, LossCause, RunRef } from "../messages.ts";
import type { GroupTask } from "../spec.ts";
import type { FailedTry, RetryReason } from "./retry/record.ts";

/**
 * Which gates of a group are open (tasks.md#stages). The stage only advances, except when all tasks are
 * restarted. Such a restart begins in the stage `restarting`, where no task starts until all running tasks
 * have ended.
 */
export type Stage = "restarting" | "prestart" | "main" | "poststart" | "running";

/** Why the end of a task stops the group (tasks.md#reactions): the event, and the task that caused it. */
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

/** Recognizes a repeated request: hashes of its `Idempotency-Key` and of its content. */
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
  /** When its end became known, if later than the end itself. */
  heardAt?: Instant;
  /** The protocol version of its host in the latest report of this attempt (compat.md#hosts). */
  protocol: number;
  /** Why its host stopped it without an order. Absent: the host did not stop it. */
  stopped?: HostStop;
  /** The check for whose failures its host stopped it (health.md#restart). Absent: it did not. */
  unhealthy?: { check: string; failures: number; output: string };
  killError: string | null;
  /** What its host does for it before its start, in words. Absent: nothing is known, or it has started. */
  doing?: string;
  /** When `doing` was stored: the next text is stored later. */
  doingAt?: Instant;
  /** The image of its container, by its digest. Absent: it has none, or it is not known yet. */
  image?: string;
  /** Its host has begun to fetch its artifacts. Absent: there are none, or this is unknown. */
  fetching?: true;
  /** The result of storing its outputs. Absent: there are none, or the result is unknown. */
  outputs?: OutputsOutcome;
  /** The ids of its devices (devices.md#report). Absent: it has none. */
  devices?: string[];
  /** The most that it has used (tasks.md#peaks). Absent: nothing was measured, or it has not ended. */
  peaks?: Peaks;
}

/** One check of an attempt. `output`: what led to a bad status, or failed first while it was pending. */
export interface CheckRecord {
  name: string;
  status: CheckStatus;
  since: Instant;
  output?: string;
}

/** The checks of an attempt, as its host has said, in the order of the spec. */
export interface TaskChecks {
  attempt: string;
  items: CheckRecord[];
  /** How many events were about them. */
  events: number;
}

/** One task. An optional field is present only as long as it applies. */
export interface TaskRecord {
  name: string;
  /** The latest attempts, as many as `attemptsKept` says. */
  attempts: AttemptRecord[];
  /** The number of the present attempt in the open epoch: the current, next or last attempt of the task. */
  n: number;
  /** The number of the first attempt since all tasks were last started again. */
  round: number;
  /**
   * The present attempt does not start before this time. Only a host that can wait gets its order earlier.
   */
  startAt?: Instant;
  /**
   * The number of the attempt whose delay is over. It may have been ordered, so the delay stays over, even if
   * the clock goes back.
   */
  delayOver?: number;
  /** The interval in which restarts are counted. Absent: it begins with the placement (restart.md#note-1). */
  window?: RestartWindow;
  restarts: number;
  lastRestart?: Instant;
  /** How many of the latest attempts, in a row, have an unknown end. */
  losses: number;
  /** The number of the attempt that is being stopped because a restart was requested. */
  restartOf?: number;
  /** The number of the attempt that is to be killed at once, without a grace period. */
  killNow?: number;
  /** When the group's shutdown delay ends. The stop for a restart is not ordered before this time. */
  restartAt?: Instant;
  /** The task as it was before an update removed it. It is stopped, and never started again. */
  removed?: GroupTask;
  /** When the stop of the task began. Its shutdown delay counts from this time. */
  stopFrom?: Instant;
  /** The checks of its latest attempt that was checked. Absent: none was. */
  checks?: TaskChecks;
  /** The task is over in the open epoch. `killed`: stopped on purpose. */
  dead?: { at: Instant; how: "terminated" | "failed" | "lost" | "killed" };
}

/** A task to which nothing has happened yet. */
export function newTask(name: string): TaskRecord {
  return { name, attempts: [], n: 1, round: 1, restarts: 0, losses: 0 };
}

/** A signal that an attempt gets at most once. `n` distinguishes it from other signals of the same kind. */
export interface SentSignal {
  id: string;
  signal: SignalName;
  n: number;
}

/** The reaction that stops the group in the open epoch, and when it began (tasks.md#reactions). */
export interface GroupKill extends Reaction {
  at: Instant;
}

/**
 * One stream of one attempt. Its last stored bytes are in `tail`; the earlier stored bytes are in segments.
 */
export interface StreamRecord {
  /** Bytes that the process has written, as its host reports. */
  size: number;
  stored: number;
  tail: Uint8Array;
  /** When the bytes of `tail` arrived. Absent: there are none, or their host does not say it. */
  stamps?: PackedStamps;
  /** The newlines before `tail`. Absent: nothing is before it, or its host has not counted them. */
  lines?: number;
  /** When the latest stored bytes came. Absent: there are none. */
  at?: Instant;
}

/**
 * A stretch of a stream that came with the latest event, or that this event moved out of the tail. The store
 * writes the stretch as a row in the same commit. Either `data` contains the bytes, or the bytes are in the
 * object store, and `length` is their number.
 */
export type LogSegment = LogRow | (Omit<LogRow, "data"> & { length: number });

/** A segment with its bytes. */
export interface LogRow {
  attempt: string;
  stream: StreamName;
  from: number;
  data: Uint8Array;
  /** When these bytes arrived. Absent: their host does not say it. */
  stamps?: PackedStamps | undefined;
  /** The newlines of the stream before these bytes. Absent: nobody has counted them all. */
  lines?: number | undefined;
}

export interface PlacementRecord {
  epoch: number;
  worker: string;
  from: Instant;
  to: Instant | null;
  outcome: "open" | "refused" | "gone" | "lost";
  /** Why its machine was lost. Absent: it was lost without notice, or was not lost. */
  cause?: LossCause;
  /** What an hour of the placement costs at the pool's list prices. Absent: unknown. */
  rate?: number;
  /** The longest kill timeout that its host grants. Absent: `MAX_KILL_MS`. */
  maxKillMs?: Millis;
}

/** The state of a sticky run's data, as the host of its placement reports. */
export interface SavedData {
  /** The latest epoch whose host has reported on its data. */
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
  /** When the end became known, if later than `at`. */
  heardAt?: Instant;
  exitCode: number | null;
  signal: string | null;
  failure: { code: FailureCode; text: string } | null;
  /** The id of its stored result. */
  snapshot?: string;
  /** Its tasks failed, and the run is placed again once its logs are stored. */
  again?: boolean;
  /** Why it is tried again. Absent: it is not, or its reschedule policy places it again. */
  retry?: RetryReason;
}

/** The machine of a failed run is kept, so that people can look into it (tasks.md#kept). */
export interface Hold {
  until: Instant;
  /** The attempts for which its host has ended the hold. */
  over: string[];
  /** Its end is wanted, and not confirmed yet. Absent: it is not wanted. */
  released?: { at: Instant; by: string; reason: string };
}

/** Everything about a run that must survive a restart of this object. Stored as one value. */
export interface AllocationRecord {
  id: string;
  spec: RunSpec;
  hash: string;
  version: number;
  submittedAt: Instant;
  /** Who submitted it. */
  by: string;
  /** By which request, for the audit log. Absent: unknown. */
  via?: Via;
  /** The project to which it belongs (projects.md#runs). */
  project: string;
  /** The budget from which it is paid. Null: none (projects.md#budgets-of-tokens). */
  budget: Budget | null;
  /** Since when it waits for a placement. */
  waitingSince: Instant;
  firstPlacedAt: Instant | null;
  /** The latest 50 placements. The last placement is open if its `to` is null. */
  placements: PlacementRecord[];
  endedEpoch: number;
  /**
   * The stored part of the order's revision. Delays that have ended add to it (`orders.ts`, `revisionAt`).
   */
  revision: number;
  stopRequest: StopRequest | null;
  outcome: Outcome | null;
  /** The outcome is final, and no epoch is open but that of a hold. */
  ended: boolean;
  tasks: TaskRecord[];
  /** The number of the spec: 1 at submission. Each change adds 1. */
  specIndex: number;
  /** When an update last changed the time limit. */
  timeoutSetAt?: Instant;
  /** The latest signals. `signaled` counts all signals ever sent. */
  signals: SentSignal[];
  signaled: number;
  /** The latest requests with an idempotency key (`idempotency.ts`). */
  asks: RequestKey[];
  /** The stage of the group in the open epoch. Absent: its first stage. */
  stage?: Stage;
  kill?: GroupKill;
  /** All its tasks are to be killed at once (`stop.ts`). */
  forced?: { at: Instant; by: string };
  /** When the time for its poststop tasks ran out (`poststopBy`). From then on they are stopped, too. */
  poststopOver?: Instant;
  /** The latest reschedules (restart.md#kept). */
  reschedules: RescheduleEvent[];
  /** The tries that failed, and after which another followed. Absent: none (retry.md#record). */
  retries?: FailedTry[];
  /** The run that repeats it, since it was parked (retry.md#redrive). Absent: none does. */
  redriven?: { run: string; at: Instant; by: string };
  /** A sticky run's stored data, or why its latest data were not stored. */
  saved?: SavedData;
  /** The ends that it awaits before it wants a placement (api.md#after). Absent: none. */
  awaits?: After[] | undefined;
  /** The run whose end kept it from starting, and how that one ended. Absent: none did, or no single one. */
  firstCause?: { run: string; text: string };
  /** The runs that it must tell of its end. Absent: none. */
  followers?: RunRef[] | undefined;
  /** The run wants no placement before this time. */
  placeAt?: Instant;
  /** Its machine is kept. Absent: it is not, or not any more. */
  hold?: Hold | undefined;
  /** Somebody wants its end, and so its machine is not kept. Absent: nobody does. */
  unkept?: true;
  /** When its first attempt started. */
  startedAt?: Instant;
  /** When its logs were deleted, although the run is kept (`retention.logs` of its pool). */
  logsGone?: Instant;
  /** The latest version with a change that the pool must know of. */
  poolVersion: number;
  events: RunEvent[];
  eventsDropped: number;
  /** Entries of the audit log for its pool. Absent: nobody has asked anything of it. */
  audit?: Outbox | undefined;
  logs: Record<string, Record<StreamName, StreamRecord>>;
}

/** What is left of a run that was deleted: its id cannot be used again for now (`forget.ts`). */
export interface Tombstone {
  id: string;
  submittedAt: Instant;
  forgotten: Instant;
}

/** What a restart of this object may lose: acknowledgments, and facts that others store and will repeat. */
export interface AllocationMemo {
  /** The latest version that the pool confirmed. */
  poolHas: number;
  /** The pool has a row of the run, so the submission is acknowledged. */
  accepted: boolean;
  /** A placement that the pool has stored and sent, and that this object has not needed to store yet. */
  placement: PlacementRecord | null;
  /** `epoch.revision` of the order that the worker confirmed. */
  workerHas: string;
  /** Order changes that follow from time alone have been handled up to this time. */
  handledUpTo: Instant;
  /** How long the pool wants the logs of an ended run to be kept. Absent: as long as the run, or unknown. */
  keepLogsMs?: Millis | undefined;
  /** When to ask the pool for `keepLogsMs` again: when an alarm fires that was set before the load. */
  askAt?: Instant | undefined;
  /** What an hour of the next try costs on the cheapest machine, as the pool says. Absent: unknown. */
  offeredRate?: number | undefined;
  /** By run whose end it awaits: when to ask that run again. Absent: now. */
  askEndAt: Readonly<Record<string, Instant>>;
  /** Why the pool refused the run. The record is gone then. */
  refusal: { code: string; text: string; retryAfterMs?: number; runs?: string[] } | null;
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
  askEndAt: {},
  refusal: null,
};

/** The open placement, whether it is stored or not. */
export function openPlacement(state: AllocationState): PlacementRecord | null {
  const last = state.record?.placements.at(-1);
  if (last !== undefined && last.to === null) return last;
  return state.memo.placement;
}
