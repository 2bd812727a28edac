import type { AttemptReport, HostStop, OutputsOutcome, StartError, StreamName } from "../../schema/host.ts";
import type { Exit, RunEvent, RunSpec, SignalName } from "../../schema/run/run.ts";
import type { FailureCode } from "../../shared/errors.ts";
import type { Instant, Millis } from "../../shared/machine.ts";
import type { EndState } from "../../shared/run-state.ts";
import type { LossCause } from "../messages.ts";
import type { GroupTask } from "../spec.ts";

/**
 * How far a group is: which gates are open (tasks.md#stages). It never goes back, but for a restart of all.
 * In `restarting` nothing may start until every task has come to rest.
 */
export type Stage = "restarting" | "prestart" | "main" | "poststart" | "running";

/**
 * Why a group is stopped from inside (tasks.md#reactions): names of events, and whose fault or merit it is.
 */
export interface Reaction {
  type: "Sibling Task Failed" | "Leader Task Dead" | "Main Tasks Dead";
  task: string | null;
}

/** The interval in which restarts are counted. Stored with the task, so that it survives everything. */
export interface RestartWindow {
  start: Instant;
  count: number;
}

/** One reschedule: when the run had failed, how long it waited then, and which worker it left. */
export interface RescheduleEvent {
  at: Instant;
  delayMs: Millis;
  worker: string;
}

/** What tells a repeated request from a new one: hashes of its `Idempotency-Key` and of what it asks for. */
export interface Ask {
  key: string;
  hash: string;
}

/** One start of one task, as the run remembers it. */
export interface AttemptRecord {
  id: string;
  epoch: number;
  state: AttemptReport["state"];
  startedAt: Instant | null;
  finishedAt: Instant | null;
  exit: Exit | null;
  startError: StartError | null;
  timedOut: boolean;
  /** When that it is over was heard, if that was later than its end. */
  heardAt?: Instant;
  /** Its host sees to its time limit, and says so of what that has ended. */
  keepsTime?: true;
  /** Its host has stopped it by itself, for this reason. */
  stopped?: HostStop;
  killError: string | null;
  /** Its host has begun to fetch its artifacts. Absent: it has none, or that is not known. */
  fetching?: true;
  /** What became of its outputs. Absent: it has none, or nothing is known of them yet. */
  outputs?: OutputsOutcome;
}

/** One task. Fields that are absent were never needed: a record of a single start has none of them. */
export interface TaskRecord {
  name: string;
  /** The latest 50. */
  attempts: AttemptRecord[];
  /** The number of the attempt that shall run in the open epoch, or was the last to; 1 if absent. */
  n?: number;
  /** The first attempt number since all tasks were last started again; 1 if absent. */
  round?: number;
  /** That attempt is not started before this, nor ordered, unless its host waits by itself. */
  startAt?: Instant;
  /** Its host does so, as it said of the end of the attempt before: the order is given at once. */
  hostWaits?: true | undefined;
  /** In which restarts are counted; begins with the placement if absent (restart.md#note-1). */
  window?: RestartWindow;
  restarts?: number;
  lastRestart?: Instant;
  /** Attempts in a row of which nobody knows how they ended. */
  losses?: number;
  /** The attempt number that is stopped because somebody wants the task to be started again. */
  restartOf?: number;
  /** The attempt number that somebody wants killed at once: its stop has no signal and no grace. */
  killNow?: number;
  /** The group's shutdown delay comes first: that stop is not ordered before this. */
  restartAt?: Instant;
  /** The task as it was before an update left it out: it is stopped, and not started any more. */
  removed?: GroupTask;
  /** Since when it is its turn to be stopped. Its shutdown delay counts from here. */
  stopFrom?: Instant;
  /** The task is over in the open epoch. `killed`: by us, on purpose. */
  dead?: { at: Instant; how: "terminated" | "failed" | "lost" | "killed" };
}

/** A signal that an attempt is to get, once: `n` tells it from others like it. */
export interface SentSignal {
  id: string;
  signal: SignalName;
  n: number;
}

/** Why the group of the open epoch is being stopped from inside, and since when (tasks.md#reactions). */
export interface GroupKill extends Reaction {
  at: Instant;
}

/**
 * One stream of one attempt: `stored` bytes are ours, the last of them in `tail`, those before in segments.
 */
export interface StreamRecord {
  /** Bytes that the process has written, as the host says. */
  size: number;
  stored: number;
  tail: Uint8Array;
  /** When the latest of the stored bytes came; absent: none has, or an older version took them in. */
  at?: Instant;
}

/**
 * A stretch of a stream that the latest event has brought, or pushed out of the tail: the store writes it as
 * a row in the same commit. `data`: the bytes themselves; `length`: so many lie in the object store.
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
  /** Why its machine was lost to it. Absent: nobody had said that it would be. */
  cause?: LossCause;
  /** What an hour of it costs, by the pool's list prices. Absent: not known, or stored before it was said. */
  rate?: number;
  /** The longest kill timeout that its host grants. Absent: the usual one, or not known. */
  maxKillMs?: Millis;
}

/** What the host of a sticky placement said when it was to store its data. */
export interface SavedData {
  /** The latest epoch whose host has answered. */
  epoch: number;
  /** Why the data of that epoch are not stored. */
  error?: string;
  /** The newest data that are stored. */
  snapshot?: { id: string; epoch: number; worker: string };
}

/** What has been decided from outside or by time, and is not yet the end (rule R3). */
export interface Wish {
  state: "aborted" | "timedout" | "failed";
  at: Instant;
  reason: string;
  by: string;
  failure: FailureCode | null;
}

/** What the end will be, or is. */
export interface Outcome {
  state: EndState;
  /** When the last of the run ended. */
  at: Instant;
  /** When that was heard, if that was later. */
  heardAt?: Instant;
  exitCode: number | null;
  signal: string | null;
  failure: { code: FailureCode; text: string } | null;
  /** The result that it has left. */
  snapshot?: string;
  /** Its tasks have failed, and it is to be placed anew as soon as its logs are there. */
  again?: boolean;
}

/** Everything about a run that must survive. Stored as one value. */
export interface AllocationRecord {
  id: string;
  spec: RunSpec;
  hash: string;
  version: number;
  submittedAt: Instant;
  /** Since when it has been waiting for a place. */
  waitingSince: Instant;
  firstPlacedAt: Instant | null;
  /** The latest 50; the last one is open if its `to` is null. */
  placements: PlacementRecord[];
  endedEpoch: number;
  /** Of the order to the worker, within a placement; time adds to it (`orders.ts`, `revisionAt`). */
  revision: number;
  wish: Wish | null;
  outcome: Outcome | null;
  /** The outcome is final, and no epoch is open. */
  ended: boolean;
  tasks: TaskRecord[];
  /** Of the spec; 1 if absent. Only changes of the spec move it. */
  specIndex?: number;
  /** When an update last changed the time limit. */
  timeoutSetAt?: Instant;
  /** The latest signals; `signaled` counts all there ever were. */
  signals?: SentSignal[];
  signaled?: number;
  /** The latest requests with a key of their own that were done (`asks.ts`). */
  asks?: Ask[];
  /** How far the group of the open epoch is; `prestart` if absent. */
  stage?: Stage;
  kill?: GroupKill;
  /** Somebody wants everything of it killed at once (`hurry.ts`). */
  forced?: { at: Instant; by: string };
  /** Since when its poststop tasks are stopped, too: their time after the wish to end is over. */
  poststopOver?: Instant;
  /** The latest times that it was placed anew (restart.md#kept). */
  reschedules?: RescheduleEvent[];
  /** The newest data of a sticky run that are stored, or why those of its latest epoch are not. */
  saved?: SavedData;
  /** It wants no place before this. */
  placeAt?: Instant;
  /** When anything of it was first started. */
  startedAt?: Instant;
  /** Since when nothing but this is left of it: its id is not to be used again for now (`forget.ts`). */
  forgotten?: Instant;
  /** Since when its logs are deleted, though it is kept (`retention.logs` of its pool). */
  logsGone?: Instant;
  /** The latest version in which something changed that the pool is to know; `version` if absent. */
  poolVersion?: number;
  events: RunEvent[];
  eventsDropped: number;
  logs: Record<string, Record<StreamName, StreamRecord>>;
}

/** What a restart may forget: acknowledgments, and what others have stored and will repeat. */
export interface AllocationMemo {
  /** The version that the pool has confirmed. */
  poolHas: number;
  /** The pool's row exists: the submission is acknowledged. */
  accepted: boolean;
  /** A placement that the pool has stored and told, and that nothing has yet made us store. */
  placement: PlacementRecord | null;
  /** `epoch.revision` of the order that the worker has confirmed. */
  workerHas: string;
  /** Up to when the instants have been acted on at which the order changes by time alone. */
  woken: Instant;
  /** For how long the pool wants the logs of the ended run kept; absent: as long as the run, or not known. */
  keepLogsMs?: Millis | undefined;
  /** When the pool is asked for that again: the alarm that was armed at the load may be for it. */
  askAt?: Instant | undefined;
  /** Why the pool refused: the run is emptied. */
  refusal: { code: string; text: string; retryAfterMs?: number } | null;
}

export interface AllocationState {
  record: AllocationRecord | null;
  memo: AllocationMemo;
  /** Log segments of the latest event (see `LogSegment`). */
  spill: LogSegment[];
  /** What is left of a run that was deleted: there is no `record` then. */
  tombstone?: AllocationRecord;
}

/** A run that there is. */
export type Existing = AllocationState & { record: AllocationRecord };

export const EMPTY_MEMO: AllocationMemo = {
  poolHas: 0,
  accepted: false,
  placement: null,
  workerHas: "",
  woken: 0,
  refusal: null,
};

/** The open placement, stored or only told. */
export function openPlacement(state: AllocationState): PlacementRecord | null {
  const last = state.record?.placements.at(-1);
  if (last !== undefined && last.to === null) return last;
  return state.memo.placement;
}
