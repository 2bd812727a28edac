// Which log bytes of a report are stored in the record, and when are logs complete?
import type { AttemptReport, LogPiece, StreamName } from "../../../schema/host.ts";
import { STREAMS } from "../../../shared/attempt-id.ts";
import { LAST_BYTE_MS, MAX_LOG_BYTES } from "../../../shared/limits.ts";
import type { Instant, Millis } from "../../../shared/machine.ts";
import { formatSize } from "../../../shared/size.ts";
import { cutStamps, type Stamp, unpackStamps } from "../../../shared/time/stamps.ts";
import type { RunDraft } from "../draft.ts";
import type { AllocationRecord, LogRow, Outcome, StreamRecord, TaskRecord } from "../state.ts";
import { linesBeforeTail, linesField, linesWithTail } from "./lines.ts";
import { believedStamps, joinedStamps, longestAgo } from "./stamps.ts";

/** How many log bytes of one stream the allocation's record contains at most. The rest goes into rows. */
export const MAX_INLINE_LOG_BYTES = 64 * 1024;

const NOTHING: StreamRecord = { size: 0, stored: 0, tail: new Uint8Array() };

/** Both streams of an attempt without logs. */
export const NO_LOGS: Record<StreamName, StreamRecord> = { stdout: NOTHING, stderr: NOTHING };

/**
 * Adds the log bytes in the report of one attempt. Only bytes that continue the stored bytes are added:
 * repeated bytes, and bytes after a gap, are ignored. When a stream first exceeds the cap, an event is added.
 */
export function takeLogs(run: RunDraft, task: string, { id, log }: AttemptReport): void {
  if (log === undefined) return;
  const before = run.record.logs[id] ?? NO_LOGS;
  const streams = { ...before };
  for (const stream of STREAMS) {
    const piece = log[stream];
    if (piece === undefined) continue;
    const longestMs = longestAgo(run.record, id, run.now);
    const { next, row } = appendPiece(before[stream], piece, { now: run.now, longestMs });
    streams[stream] = next;
    if (row !== null) run.spill([{ attempt: id, stream, ...row }]);
    if (next.size > MAX_LOG_BYTES && before[stream].size <= MAX_LOG_BYTES) noteLimit(run, task, id, stream);
  }
  const isNews = STREAMS.some((stream) => streams[stream] !== before[stream]);
  if (isNews) run.set({ logs: { ...run.record.logs, [id]: streams } });
}

function noteLimit(run: RunDraft, task: string, attempt: string, stream: StreamName): void {
  const kept = formatSize(MAX_LOG_BYTES);
  const details = { attempt, stream, kept_bytes: String(MAX_LOG_BYTES) };
  const text = `${stream} has reached the limit: its first ${kept} are kept, the rest is dropped`;
  run.note("Log Limit", run.now, text, { task, details });
}

function appendPiece(
  stream: StreamRecord,
  piece: LogPiece,
  { now, longestMs }: { now: Instant; longestMs: Millis },
): { next: StreamRecord; row: Omit<LogRow, "attempt" | "stream"> | null } {
  const size = Math.max(stream.size, piece.size);
  const { data, stamps: more } = continuation(stream.stored, piece, longestMs);
  if (data.length === 0) return { next: size === stream.size ? stream : { ...stream, size }, row: null };
  const tail = concat(stream.tail, data);
  const stored = stream.stored + data.length;
  const before = { bytes: stream.tail.length, stamps: stream.stamps && unpackStamps(stream.stamps) };
  const stamps = joinedStamps(before, { bytes: data.length, stamps: more }, longestMs);
  const next = { size, stored, tail, ...(stamps && { stamps }), ...linesField(stream.lines), at: now };
  if (tail.length <= MAX_INLINE_LOG_BYTES) return { next, row: null };
  const lines = linesBeforeTail(next);
  return { next: withoutTail(next), row: { from: stored - tail.length, data: tail, stamps, lines } };
}

/** The stream once the bytes of its tail are in a row. */
export function withoutTail(before: StreamRecord): StreamRecord {
  const { stamps: _, lines: __, ...stream } = before;
  return { ...stream, tail: new Uint8Array(), ...linesField(linesWithTail(before)) };
}

/** The bytes of a piece that follow the stored bytes, up to the cap, and when they arrived. */
function continuation(
  stored: number,
  piece: LogPiece,
  longestMs: Millis,
): { data: Uint8Array; stamps?: Stamp[] | undefined } {
  if (piece.data === undefined || piece.from > stored) return { data: new Uint8Array() };
  const bytes = decodeBase64(piece.data);
  const from = stored - piece.from;
  const to = Math.max(0, MAX_LOG_BYTES - piece.from);
  const stamps = believedStamps(piece.stamps, bytes.length, longestMs);
  return { data: bytes.subarray(from, to), stamps: stamps && cutStamps(stamps, from, to) };
}

/** Whether all log bytes of an attempt, up to the cap, are stored. */
export function logsComplete(record: AllocationRecord, attempt: string): boolean {
  return STREAMS.every((stream) => isComplete(record, attempt, stream));
}

function isComplete(record: AllocationRecord, attempt: string, stream: StreamName): boolean {
  const { stored, size } = (record.logs[attempt] ?? NO_LOGS)[stream];
  return stored >= Math.min(size, MAX_LOG_BYTES);
}

/** Says of each stream of a task in which attempt, the latest, bytes are missing (cases.md#case-13). */
export function noteTruncated(run: RunDraft, { name, attempts }: TaskRecord): void {
  for (const stream of STREAMS) {
    const attempt = attempts.findLast(({ id }) => !isComplete(run.record, id, stream))?.id;
    if (attempt === undefined) continue;
    const text = `the last bytes of ${stream} of attempt ${attempt} did not arrive before the end`;
    run.note("Log Truncated", run.now, text, { task: name, details: { attempt, stream } });
  }
}

/**
 * Until when an ended run waits for missing log bytes: one minute after its end became known, or one minute
 * after the latest bytes came, whichever is later. So the run waits for slow logs, but not for lost logs.
 */
export function lastByteBy(record: AllocationRecord, { at, heardAt = at }: Outcome): Instant {
  const streams = Object.values(record.logs).flatMap(({ stdout, stderr }) => [stdout, stderr]);
  return Math.max(heardAt, ...streams.map((stream) => stream.at ?? 0)) + LAST_BYTE_MS;
}

/** How many bytes of an attempt's streams are stored. The host may drop these bytes (`Orders.logs`). */
export function storedOffsets(
  record: AllocationRecord,
  attempt: string,
): Partial<Record<StreamName, number>> {
  const logs = record.logs[attempt];
  return logs === undefined ? {} : { stdout: logs.stdout.stored, stderr: logs.stderr.stored };
}

function concat(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

/** Decodes base64 that the schema has accepted. */
export function decodeBase64(text: string): Uint8Array {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i += 1) bytes[i] = binary.charCodeAt(i);
  return bytes;
}
