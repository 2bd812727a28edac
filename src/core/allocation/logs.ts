import type { AttemptReport, LogPiece, StreamName } from "../../schema/host.ts";
import { STREAMS } from "../attempt-id.ts";
import { MAX_INLINE_LOG_BYTES, MAX_LOG_BYTES } from "../limits.ts";
import type { AllocationRecord, LogRow, StreamRecord } from "./state.ts";

const NOTHING: StreamRecord = { size: 0, stored: 0, tail: new Uint8Array() };

/** Both streams of an attempt of which nothing is known yet. */
export const NO_LOGS: Record<StreamName, StreamRecord> = { stdout: NOTHING, stderr: NOTHING };

/**
 * Takes in the log bytes of one attempt's report: only what continues the stored bytes counts, so that a
 * doubled, an older or a gapped piece changes nothing. Returns the record and the rows that left the tail.
 */
export function takeLogs(
  record: AllocationRecord,
  report: AttemptReport,
): { record: AllocationRecord; rows: LogRow[] } {
  if (report.log === undefined) return { record, rows: [] };
  const before = record.logs[report.id] ?? NO_LOGS;
  const rows: LogRow[] = [];
  const streams = { ...before };
  for (const stream of STREAMS) {
    const piece = report.log[stream];
    if (piece === undefined) continue;
    const { next, row } = takePiece(before[stream], piece);
    streams[stream] = next;
    if (row !== null) rows.push({ attempt: report.id, stream, ...row });
  }
  const changed = STREAMS.some((stream) => streams[stream] !== before[stream]);
  return { record: changed ? { ...record, logs: { ...record.logs, [report.id]: streams } } : record, rows };
}

function takePiece(
  stream: StreamRecord,
  piece: LogPiece,
): { next: StreamRecord; row: { from: number; data: Uint8Array } | null } {
  const size = Math.max(stream.size, piece.size);
  const data = continuation(stream.stored, piece);
  if (data.length === 0) return { next: size === stream.size ? stream : { ...stream, size }, row: null };
  const tail = concat(stream.tail, data);
  const stored = stream.stored + data.length;
  if (tail.length <= MAX_INLINE_LOG_BYTES) return { next: { size, stored, tail }, row: null };
  const row = { from: stored - tail.length, data: tail };
  return { next: { size, stored, tail: new Uint8Array() }, row };
}

/** The bytes of a piece that follow the `stored` ones, up to the cap. */
function continuation(stored: number, piece: LogPiece): Uint8Array {
  if (piece.data === undefined || piece.from > stored) return new Uint8Array();
  const bytes = decodeBase64(piece.data);
  return bytes.subarray(stored - piece.from, MAX_LOG_BYTES - piece.from);
}

/** Whether every byte that is kept of an attempt's streams is stored. */
export function logsComplete(record: AllocationRecord, attempt: string): boolean {
  const logs = record.logs[attempt] ?? NO_LOGS;
  return STREAMS.every((stream) => logs[stream].stored >= Math.min(logs[stream].size, MAX_LOG_BYTES));
}

/**
 * The offsets up to which an attempt's streams are stored: the host may drop what lies before
 * (`Orders.logs`).
 */
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

/** Decodes base64 that the schema has let through. */
export function decodeBase64(text: string): Uint8Array {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i += 1) bytes[i] = binary.charCodeAt(i);
  return bytes;
}
