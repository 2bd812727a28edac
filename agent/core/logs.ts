import { MAX_LOG_BYTES } from "../../src/core/limits.ts";
import type { AttemptState, HostState, LogPiecePlan, StreamState } from "./types.ts";

/** Bytes of a stream that the control plane lacks and will take: what lies beyond the cap is never sent. */
export function unackedBytes({ size, acked }: StreamState): number {
  return Math.max(0, Math.min(size, MAX_LOG_BYTES) - acked);
}

/** The same over all streams of all attempts that the orders still name. */
export function allUnackedBytes(state: HostState): number {
  let bytes = 0;
  for (const { wanted, logs } of Object.values(state.attempts)) {
    if (wanted !== "nothing") bytes += unackedBytes(logs.stdout) + unackedBytes(logs.stderr);
  }
  return bytes;
}

/**
 * Shares `budget` bytes among the streams that have something to send: each gets what it needs or an equal
 * part of what is left, so that one that floods cannot silence the others.
 */
export function shareLogBudget(attempts: AttemptState[], budget: number): LogPiecePlan[] {
  const wanting = attempts
    .filter(({ wanted }) => wanted !== "nothing")
    .flatMap(({ id, logs }) =>
      (["stdout", "stderr"] as const).map((stream) => ({
        id,
        stream,
        from: logs[stream].acked,
        bytes: unackedBytes(logs[stream]),
      })),
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
