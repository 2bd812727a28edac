// In which order did the bytes of a task's output arrive?
import {
  arrivalsIn,
  inOrder,
  pageOfArrivals,
  type StoredStretch,
  stretchSince,
} from "../../core/allocation/output/arrivals.ts";
import { NO_LOGS } from "../../core/allocation/output/logs.ts";
import type { Existing, StreamRecord } from "../../core/allocation/state.ts";
import { isLogOver } from "../../core/allocation/time/order-deadlines.ts";
import type { StreamName } from "../../schema/host.ts";
import { droverNow } from "../clock.ts";
import type { LogStore } from "../files/log-store.ts";
import type { Arrivals, ArrivalsRequest } from "../rpc.ts";
import { attemptOf, refuseGone, shortName } from "./log-bytes.ts";

/** How many arrivals one answer has at most (api.md#arrivals). */
export const MAX_ARRIVALS = 1_000;
/** From how many stored rows one answer takes them at most: a row may have many bytes and one arrival. */
export const MAX_ARRIVAL_ROWS = 64;

/**
 * Answers from the stamps in which order the bytes of an attempt arrived. Throws `unknown_task`,
 * `unknown_attempt`, or `expired_logs` if the logs were deleted.
 */
export function readArrivals(store: LogStore, state: Existing, request: ArrivalsRequest): Arrivals {
  const { record } = state;
  const attempt = attemptOf(record, request);
  const now = droverNow();
  refuseGone(state, now);
  if (attempt === null) {
    return { attempt: null, ended: record.ended, stored: NOTHING, next: request.from, items: [] };
  }
  const { id, startedAt } = attempt;
  const logs = record.logs[id] ?? NO_LOGS;
  const { since, streams } = request;
  let rows = 0;
  function* counted(stretches: Iterable<StoredStretch>) {
    for (const stretch of stretches) {
      rows += 1;
      yield stretch;
    }
  }
  const read = (stream: StreamName) => {
    const log = logs[stream];
    const stretches = (from: number) => store.stretches(log, id, stream, from);
    const stretchAt = (offset: number) => stretches(offset).next().value ?? undefined;
    const first =
      since === undefined || startedAt === null ? 0 : stretchSince(stretchAt, log.stored, since - startedAt);
    const from = streams.includes(stream) ? Math.max(first, request.from[stream]) : log.stored;
    return { from, arrivals: arrivalsIn(stream, counted(stretches(from)), from, startedAt) };
  };
  const [stdout, stderr] = [read("stdout"), read("stderr")];
  return {
    attempt: shortName(id),
    ended: isLogOver(record, attempt, now),
    stored: storedOf(logs),
    ...pageOfArrivals(inOrder(stdout.arrivals, stderr.arrivals), {
      from: { stdout: stdout.from, stderr: stderr.from },
      since,
      most: MAX_ARRIVALS,
      isFull: () => rows >= MAX_ARRIVAL_ROWS,
    }),
  };
}

/**
 * Whether an answer need not wait: there are bytes that the reader has not passed, or none can follow. Reads
 * no row. Throws as `readArrivals` does.
 */
export function hasArrived(state: Existing, request: ArrivalsRequest): boolean {
  const { record } = state;
  const attempt = attemptOf(record, request);
  const now = droverNow();
  refuseGone(state, now);
  if (attempt === null) return record.ended;
  const logs = record.logs[attempt.id] ?? NO_LOGS;
  const isPassed = request.streams.every((stream) => logs[stream].stored <= request.from[stream]);
  return !isPassed || isLogOver(record, attempt, now);
}

const NOTHING: Record<StreamName, number> = { stdout: 0, stderr: 0 };

function storedOf(logs: Record<StreamName, StreamRecord>): Record<StreamName, number> {
  return { stdout: logs.stdout.stored, stderr: logs.stderr.stored };
}
