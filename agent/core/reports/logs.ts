// Which bytes of output does the control plane still lack?
import type { StreamName } from "../../../src/schema/host.ts";
import { MAX_LOG_BYTES } from "../../../src/shared/limits.ts";
import type { LogPiecePlan } from "../messages.ts";
import type { AttemptState, HostState, StreamState } from "../types.ts";

/** A stream with at least this many bytes to send uses chunks instead of reports. */
export const CHUNK_FROM_BYTES = 512 * 1024;

export const STREAMS: readonly StreamName[] = ["stdout", "stderr"];

/** How many bytes of a stream the control plane lacks and accepts. Bytes beyond the cap are never sent. */
export function unackedBytes({ size, acked }: StreamState): number {
  return Math.max(0, Math.min(size, MAX_LOG_BYTES) - acked);
}

/** One of the two streams of an attempt. */
export interface LogStream {
  attempt: AttemptState;
  stream: StreamName;
  log: StreamState;
}

/** The streams of these attempts. */
export function streamsOf(...attempts: AttemptState[]): LogStream[] {
  const streams: LogStream[] = [];
  for (const attempt of attempts)
    for (const stream of STREAMS) streams.push({ attempt, stream, log: attempt.logs[stream] });
  return streams;
}

/**
 * Whether a stream's bytes travel in reports; otherwise they travel in chunks, never in both. Small streams
 * use reports; so do large streams if chunks are not available, and for a while after a failed chunk.
 */
export function travelsInReports({ setup }: HostState, { attempt, log }: LogStream): boolean {
  if (setup?.logsUrl === undefined || attempt.wanted === "nothing") return true;
  if (log.chunk?.sent !== undefined) return false;
  return log.chunk?.notBefore !== undefined || unackedBytes(log) < CHUNK_FROM_BYTES;
}

/** The streams whose bytes travel in reports. */
function streamsInReports(state: HostState, attempts: AttemptState[]): LogStream[] {
  return streamsOf(...attempts).filter((one) => travelsInReports(state, one));
}

/** How many bytes of an attempt's output travel in reports. Each stream counts up to the cap. */
export function sendableBytes(state: HostState, attempt: AttemptState): number {
  return streamsInReports(state, [attempt]).reduce(
    (sum, { log }) => sum + Math.min(log.size, MAX_LOG_BYTES),
    0,
  );
}

/** How many bytes wait for a report, in all attempts that the orders still name. */
export function allUnackedBytes(state: HostState): number {
  const attempts = Object.values(state.attempts).filter(({ wanted }) => wanted !== "nothing");
  return streamsInReports(state, attempts).reduce((sum, { log }) => sum + unackedBytes(log), 0);
}

/** All bytes of these attempts that wait for a report, by stream, the smallest first. */
export function piecesToSend(state: HostState, attempts: AttemptState[]): LogPiecePlan[] {
  const named = attempts.filter(({ wanted }) => wanted !== "nothing");
  return streamsInReports(state, named)
    .map(({ attempt: { id, startedAt }, stream, log }) => {
      return { id, stream, from: log.acked, bytes: unackedBytes(log), startedAt };
    })
    .filter(({ bytes }) => bytes > 0)
    .sort((a, b) => a.bytes - b.bytes);
}

/**
 * Divides `budget` bytes among the streams that have bytes for a report. A stream gets all bytes that it
 * needs if they fit into an equal share of what is left, and otherwise it gets that share. So a flooding
 * stream cannot silence the others. `waiting`: the smallest first.
 */
export function shareLogBudget(waiting: LogPiecePlan[], budget: number): LogPiecePlan[] {
  let left = budget;
  return waiting
    .map((piece, index) => {
      const bytes = Math.max(0, Math.min(piece.bytes, Math.floor(left / (waiting.length - index))));
      left -= bytes;
      return { ...piece, bytes };
    })
    .filter(({ bytes }) => bytes > 0);
}
