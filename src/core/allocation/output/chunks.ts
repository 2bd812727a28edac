// How are log chunks added to a stream after a worker has put them into the object store?
import type { StreamName } from "../../../schema/host.ts";
import { parseAttemptId } from "../../../shared/attempt-id.ts";
import { MAX_LOG_BYTES } from "../../../shared/limits.ts";
import { type PackedStamps, packStamps } from "../../../shared/time/stamps.ts";
import type { RunDraft } from "../draft.ts";
import { storePlacement } from "../placements/placement.ts";
import {
  type AllocationState,
  type Existing,
  exists,
  openPlacement,
  type PlacementRecord,
} from "../state.ts";
import { wasOrdered } from "../tasks/tasks.ts";
import { linesAfterChunk, linesBeforeTail, linesField, linesWithTail } from "./lines.ts";
import { NO_LOGS } from "./logs.ts";
import { believedStamps, longestAgo } from "./stamps.ts";

/** Decimal digits of an offset in a key. With a fixed width, keys sort in the order of their offsets. */
const OFFSET_DIGITS = 12;

/** An offset as text that sorts like the number. */
export function offsetText(offset: number): string {
  return String(offset).padStart(OFFSET_DIGITS, "0");
}

/** A stretch of a stream. Each stored stretch is one object in the object store. */
export interface LogStretch {
  attempt: string;
  stream: StreamName;
  from: number;
  length: number;
}

/**
 * The key of a stretch in the object store. The key contains the offset and the length of the stretch. A host
 * may cut its logs differently after a restart, but no new stretch overwrites a recorded stretch.
 */
export function logObjectKey({ attempt, stream, from, length }: LogStretch): string {
  return `logs/${attempt}/${stream}/${offsetText(from)}-${length}`;
}

/**
 * A stretch that `worker` has put into the object store. A stretch of length 0 only asks how much is stored.
 */
export interface StoredChunk extends LogStretch {
  worker: string;
  /** When its bytes arrived, as its host says. */
  stamps?: PackedStamps | undefined;
  /** How many newlines it has, as its host says. Absent: an older agent does not say it. */
  lines?: number | undefined;
}

/** The answer to a chunk: how far the stream is stored, or why the worker may not add to it. */
export type ChunkAnswer = { kind: "stored"; stored: number } | { kind: "unknown" } | { kind: "foreign" };

/**
 * Appends a chunk to its stream if the chunk continues the stored bytes and ends within the cap. The tail in
 * the record comes before the chunk, and becomes a segment of its own. Chunks are accepted only for the open
 * placement: the logs of an ended placement are complete or given up.
 */
export function foldChunk(run: RunDraft, chunk: StoredChunk): void {
  const { record, now } = run;
  const placement = placementOf(run.state, chunk);
  if (record.ended || !run.isPlaced() || placement !== run.placement) return;
  if (placement.worker !== chunk.worker) return;
  const { attempt, stream, from, length } = chunk;
  const streams = record.logs[attempt] ?? NO_LOGS;
  const { size, stored, tail, stamps } = streams[stream];
  if (length === 0 || from !== stored || from + length > MAX_LOG_BYTES) return;
  storePlacement(run);
  const [lines, linesBefore] = [linesBeforeTail(streams[stream]), linesWithTail(streams[stream])];
  if (tail.length > 0)
    run.spill([{ attempt, stream, from: stored - tail.length, data: tail, stamps, lines }]);
  const believed = believedStamps(chunk.stamps, length, longestAgo(record, attempt, now));
  const row = { attempt, stream, from, length, stamps: believed && packStamps(believed) };
  run.spill([{ ...row, lines: linesBefore }]);
  const end = from + length;
  const linesAfter = linesAfterChunk(linesBefore, chunk);
  const next = {
    size: Math.max(size, end),
    stored: end,
    tail: new Uint8Array(),
    ...linesField(linesAfter),
    at: now,
  };
  run.set({ logs: { ...record.logs, [attempt]: { ...streams, [stream]: next } } });
}

/** The answer to a chunk, from the state after it. */
export function answerChunk(state: AllocationState, chunk: StoredChunk): ChunkAnswer {
  const placement = exists(state) ? placementOf(state, chunk) : undefined;
  if (state.record === null || placement === undefined) return { kind: "unknown" };
  if (placement.worker !== chunk.worker) return { kind: "foreign" };
  return { kind: "stored", stored: (state.record.logs[chunk.attempt] ?? NO_LOGS)[chunk.stream].stored };
}

/**
 * The open or ended placement that an attempt belongs to. Undefined if this run never ordered the attempt.
 */
function placementOf(state: Existing, { attempt }: StoredChunk): PlacementRecord | undefined {
  const { record } = state;
  const parts = parseAttemptId(attempt);
  if (parts?.run !== record.id || !wasOrdered(record, parts)) return undefined;
  const open = openPlacement(state);
  return open?.epoch === parts.epoch ? open : record.placements.find(({ epoch }) => epoch === parts.epoch);
}
