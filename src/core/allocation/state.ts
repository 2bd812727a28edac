import type { AttemptReport, StartError, StreamName } from "../../schema/host.ts";
import type { Exit, RunEvent, RunSpec, RunState } from "../../schema/run.ts";
import type { FailureCode } from "../errors.ts";
import type { Instant } from "../machine.ts";

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
  killError: string | null;
}

export interface TaskRecord {
  name: string;
  attempts: AttemptRecord[];
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
export type LogSegment = { attempt: string; stream: StreamName; from: number } & (
  | { data: Uint8Array }
  | { length: number }
);

export interface PlacementRecord {
  epoch: number;
  worker: string;
  from: Instant;
  to: Instant | null;
  outcome: "open" | "refused" | "gone" | "lost";
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
  state: RunState;
  at: Instant;
  exitCode: number | null;
  signal: string | null;
  failure: { code: FailureCode; text: string } | null;
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
  /** Of the order to the worker, within a placement. */
  revision: number;
  wish: Wish | null;
  outcome: Outcome | null;
  /** The outcome is final, and no epoch is open. */
  ended: boolean;
  tasks: TaskRecord[];
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
  /** Why the pool refused: the run is emptied. */
  refusal: { code: string; text: string; retryAfterMs?: number } | null;
}

export interface AllocationState {
  record: AllocationRecord | null;
  memo: AllocationMemo;
  /** Log segments of the latest event (see `LogSegment`). */
  spill: LogSegment[];
}

export const EMPTY_MEMO: AllocationMemo = {
  poolHas: 0,
  accepted: false,
  placement: null,
  workerHas: "",
  refusal: null,
};

/**
 * The state of an allocation as it is loaded. As long as it owes something, an alarm is armed: `settled` says
 * that none was. Then others have confirmed all that is stored, but for the one case in which a lost alarm
 * could not be repaired: a run of which nothing proves that its pool has ever heard.
 */
export function loadedAllocation(record: AllocationRecord | null, settled: boolean): AllocationState {
  const last = record?.placements.at(-1);
  const known = record !== null && (record.ended || last !== undefined);
  if (!settled || !known) return { record, memo: EMPTY_MEMO, spill: [] };
  const workerHas = last?.to === null ? `${last.epoch}.${record.revision}` : "";
  const memo = { ...EMPTY_MEMO, accepted: true, poolHas: record.version, workerHas };
  return { record, memo, spill: [] };
}

/** The open placement, stored or only told. */
export function openPlacement(state: AllocationState): PlacementRecord | null {
  const last = state.record?.placements.at(-1);
  if (last !== undefined && last.to === null) return last;
  return state.memo.placement;
}
