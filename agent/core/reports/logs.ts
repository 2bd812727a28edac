// Which bytes of output does the control plane still lack?
import { MAX_LOG_BYTES } from "../../../src/shared/limits.ts";
import { CHUNK_FROM_BYTES } from "../bounds.ts";
import type { LogPiecePlan } from "../messages.ts";
import type { AttemptState, HostState, StreamState } from "../types.ts";

/** Bytes of a stream that the control plane lacks and will take: what lies beyond the cap is never sent. */
export function unackedBytes({ size, acked }: StreamState): number {
  return Math.max(0, Math.min(size, MAX_LOG_BYTES) - acked);
}

/**
 * Whether a stream's bytes travel in reports; else by chunks, and never the same ones by both. What is small
 * does, and so does what is large while chunks are not to be had, or the latest of them has failed.
 */
export function ridesInReports({ setup }: HostState, attempt: AttemptState, log: StreamState): boolean {
  if (setup?.logsUrl === undefined || attempt.wanted === "nothing") return true;
  if (log.chunk?.sent !== undefined) return false;
  return log.chunk?.notBefore !== undefined || unackedBytes(log) < CHUNK_FROM_BYTES;
}

/** The streams of an attempt that reports carry. */
function streamsInReports(state: HostState, attempt: AttemptState): StreamState[] {
  const { stdout, stderr } = attempt.logs;
  return [stdout, stderr].filter((log) => ridesInReports(state, attempt, log));
}

/** What reports will ever have to carry of an attempt's output: bytes beyond the cap are no news. */
export function sendableBytes(state: HostState, attempt: AttemptState): number {
  const streams = streamsInReports(state, attempt);
  return streams.reduce((sum, { size }) => sum + Math.min(size, MAX_LOG_BYTES), 0);
}

/** Bytes that wait for a report, over all attempts that the orders still name. */
export function allUnackedBytes(state: HostState): number {
  let bytes = 0;
  for (const attempt of Object.values(state.attempts)) {
    if (attempt.wanted === "nothing") continue;
    for (const log of streamsInReports(state, attempt)) bytes += unackedBytes(log);
  }
  return bytes;
}

/**
 * Shares `budget` bytes among the streams that have something to send by report: each gets what it needs or
 * an equal part of what is left, so that one that floods cannot silence the others.
 */
export function shareLogBudget(state: HostState, attempts: AttemptState[], budget: number): LogPiecePlan[] {
  const wanting = attempts
    .filter(({ wanted }) => wanted !== "nothing")
    .flatMap((attempt) =>
      (["stdout", "stderr"] as const).map((stream) => {
        const log = attempt.logs[stream];
        const bytes = ridesInReports(state, attempt, log) ? unackedBytes(log) : 0;
        return { id: attempt.id, stream, from: log.acked, bytes };
      }),
    );
  const hungry = wanting.filter(({ bytes }) => bytes > 0).sort((a, b) => a.bytes - b.bytes);
  let left = budget;
  return hungry
    .map((piece, index) => {
      const bytes = Math.max(0, Math.min(piece.bytes, Math.floor(left / (hungry.length - index))));
      left -= bytes;
      return { ...piece, bytes };
    })
    .filter(({ bytes }) => bytes > 0);
}
