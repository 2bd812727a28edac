// How does a run with many attempts keep its log tails small?
import { STREAMS } from "../../../shared/attempt-id.ts";
import type { RunDraft } from "../draft.ts";
import type { LogRow } from "../state.ts";
import { linesBeforeTail } from "./lines.ts";
import { withoutTail } from "./logs.ts";
import { storedStampBytes } from "./stamps.ts";

/** How many log bytes of all streams a run's record contains at most, since storage limits a value's size. */
export const MAX_RUN_INLINE_LOG_BYTES = 512 * 1024;

/**
 * Moves the longest log tails of a record into rows until the remaining tails fit. A run of one task with
 * little output never needs this.
 */
export function spillTails(run: RunDraft): void {
  let left = 0;
  const tails: Omit<LogRow, "from">[] = [];
  for (const [attempt, streams] of Object.entries(run.record.logs)) {
    for (const stream of STREAMS) {
      const { tail: data, stamps } = streams[stream];
      left += data.length + storedStampBytes(stamps);
      if (data.length > 0) tails.push({ attempt, stream, data, stamps });
    }
  }
  const rows: LogRow[] = [];
  const logs = { ...run.record.logs };
  tails.sort((a, b) => b.data.length - a.data.length);
  for (const { attempt, stream, data, stamps } of tails) {
    if (left <= MAX_RUN_INLINE_LOG_BYTES) break;
    const streams = logs[attempt];
    if (streams === undefined) continue;
    const lines = linesBeforeTail(streams[stream]);
    rows.push({ attempt, stream, from: streams[stream].stored - data.length, data, stamps, lines });
    logs[attempt] = { ...streams, [stream]: withoutTail(streams[stream]) };
    left -= data.length + storedStampBytes(stamps);
  }
  if (rows.length === 0) return;
  run.set({ logs });
  run.spill(rows);
}
