// Which bytes of output does the control plane still lack?
import { MAX_LOG_BYTES } from "../../../src/shared/limits.ts";
import type { LogPiecePlan } from "../messages.ts";
import type { AttemptState, HostState, StreamState } from "../types.ts";

/** A stream with at least this many bytes to send uses chunks instead of reports. */
export const CHUNK_FROM_BYTES = 512 * 1024;

/** Bytes of a stream that the control plane lacks and accepts: bytes beyond the cap are never sent. */
export function unackedBytes({ size, acked }: StreamState): number {
  return Math.max(0, Math.min(size, MAX_LOG_BYTES) - acked);
}

/**
 * Whether a stream's bytes travel in reports; otherwise they travel in chunks, never in both. Small streams
 * use reports; so do large ones where chunks are not available, or while the latest chunk has failed.
 */
export function travelsInReports({ setup }: HostState, attempt: AttemptState, log: StreamState): boolean {
  if (setup?.logsUrl === undefined || attempt.wanted === "nothing") return true;
  if (log.chunk?.sent !== undefined) return false;
  return log.chunk?.notBefore !== undefined || unackedBytes(log) < CHUNK_FROM_BYTES;
}

/** The streams of an attempt whose bytes travel in reports. */
function streamsInReports(state: HostState, attempt: AttemptState): StreamState[] {
  const { stdout, stderr } = attempt.logs;
  return [stdout, stderr].filter((log) => travelsInReports(state, attempt, log));
}

/** Size of the output of an attempt that must travel in reports, up to the cap. */
export function sendableBytes(state: HostState, attempt: AttemptState): number {
  const streams = streamsInReports(state, attempt);
  return streams.reduce((sum, { size }) => sum + Math.min(size, MAX_LOG_BYTES), 0);
}

/** Bytes that wait for a report, of all attempts that the orders still name. */
export function allUnackedBytes(state: HostState): number {
  const attempts = Object.values(state.attempts).filter(({ wanted }) => wanted !== "nothing");
  const streams = attempts.flatMap((attempt) => streamsInReports(state, attempt));
  return streams.reduce((sum, log) => sum + unackedBytes(log), 0);
}

/**
 * Shares `budget` bytes among the streams that have bytes for a report. Each gets what it needs, or an equal
 * share of the rest, so that a flooding stream cannot silence the others.
 */
export function shareLogBudget(state: HostState, attempts: AttemptState[], budget: number): LogPiecePlan[] {
  const candidates = attempts
    .filter(({ wanted }) => wanted !== "nothing")
    .flatMap((attempt) =>
      (["stdout", "stderr"] as const).map((stream) => {
        const log = attempt.logs[stream];
        const bytes = travelsInReports(state, attempt, log) ? unackedBytes(log) : 0;
        return { id: attempt.id, stream, from: log.acked, bytes };
      }),
    );
  const waiting = candidates.filter(({ bytes }) => bytes > 0).sort((a, b) => a.bytes - b.bytes);
  let left = budget;
  return waiting
    .map((piece, index) => {
      const bytes = Math.max(0, Math.min(piece.bytes, Math.floor(left / (waiting.length - index))));
      left -= bytes;
      return { ...piece, bytes };
    })
    .filter(({ bytes }) => bytes > 0);
}
