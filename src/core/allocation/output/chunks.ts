import type { StreamName } from "../../../schema/host.ts";
import { type AttemptParts, parseAttemptId } from "../../../shared/attempt-id.ts";
import { MAX_LOG_BYTES } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";
import { storePlacement } from "../placements/placement.ts";
import { type AllocationState, type LogSegment, openPlacement, type PlacementRecord } from "../state.ts";
import { NO_LOGS, withLogs } from "./logs.ts";

/** Decimal digits of an offset in a key: keys are read in their order. */
const OFFSET_DIGITS = 12;

/** An offset as text that sorts as the number does. */
export function offsetText(offset: number): string {
  return String(offset).padStart(OFFSET_DIGITS, "0");
}

/** So many bytes of a stream, from an offset on: what one object of the store holds. */
export interface LogStretch {
  attempt: string;
  stream: StreamName;
  from: number;
  length: number;
}

/**
 * Under which key the object store has a stretch. Both ends are in it: a stretch that was cut otherwise after
 * a restart of the host never takes the place of one that is recorded.
 */
export function logObjectKey({ attempt, stream, from, length }: LogStretch): string {
  return `logs/${attempt}/${stream}/${offsetText(from)}-${length}`;
}

/** A stretch that `worker` has put into the object store. Without any length it only asks what is stored. */
export interface StoredChunk extends LogStretch {
  worker: string;
}

/** What a chunk is answered: how far its stream is stored, or why this worker has no say in it. */
export type ChunkAnswer = { kind: "stored"; stored: number } | { kind: "unknown" } | { kind: "foreign" };

/**
 * Appends a chunk to its stream if it continues the stored bytes and ends within the cap; a tail that lies
 * before it becomes a segment of its own. Only the open placement takes any: what was ended is complete, or
 * given up.
 */
export function foldChunk(state: AllocationState, chunk: StoredChunk, now: Instant): AllocationState {
  const { record } = state;
  const placement = placementOf(state, chunk);
  if (record === null || record.ended || placement?.worker !== chunk.worker || placement.to !== null) {
    return state;
  }
  const { attempt, stream, from, length } = chunk;
  const streams = record.logs[attempt] ?? NO_LOGS;
  const { size, stored, tail } = streams[stream];
  if (length === 0 || from !== stored || from + length > MAX_LOG_BYTES) return state;
  const pushed: LogSegment[] =
    tail.length === 0 ? [] : [{ attempt, stream, from: stored - tail.length, data: tail }];
  const end = from + length;
  const next = { size: Math.max(size, end), stored: end, tail: new Uint8Array(), at: now };
  return {
    record: withLogs(storePlacement(record, placement), attempt, { ...streams, [stream]: next }),
    memo: { ...state.memo, placement: null },
    spill: [...state.spill, ...pushed, { attempt, stream, from, length }],
  };
}

/** What a chunk is answered, from the state after it was folded in. */
export function answerChunk(state: AllocationState, chunk: StoredChunk): ChunkAnswer {
  const placement = placementOf(state, chunk);
  if (state.record === null || placement === undefined) return { kind: "unknown" };
  if (placement.worker !== chunk.worker) return { kind: "foreign" };
  return { kind: "stored", stored: (state.record.logs[chunk.attempt] ?? NO_LOGS)[chunk.stream].stored };
}

/** The placement that an attempt of this run belongs to, open or over; undefined if there never was one. */
function placementOf(state: AllocationState, { attempt }: StoredChunk): PlacementRecord | undefined {
  const { record } = state;
  const parts = parseAttemptId(attempt);
  if (record === null || parts === undefined || !isOurs(parts, record)) return undefined;
  const open = openPlacement(state);
  return open?.epoch === parts.epoch ? open : record.placements.find(({ epoch }) => epoch === parts.epoch);
}

function isOurs({ run, task, n }: AttemptParts, record: NonNullable<AllocationState["record"]>): boolean {
  const known = record.tasks.find(({ name }) => name === task);
  return run === record.id && known !== undefined && n <= (known.n ?? 1);
}
