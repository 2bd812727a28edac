// In which order did the bytes of a task's output arrive?
import { arrivalsIn, inOrder, pageOfArrivals, stretchSince } from "../../core/allocation/output/arrivals.ts";
import { NO_LOGS } from "../../core/allocation/output/logs.ts";
import type { Existing, StreamRecord } from "../../core/allocation/state.ts";
import type { StreamName } from "../../schema/host.ts";
import { droverNow } from "../clock.ts";
import type { LogStore } from "../files/log-store.ts";
import type { Arrivals, ArrivalsRequest } from "../rpc.ts";
import { attemptOf, attemptRecord, isOver, refuseGone, shortName } from "./log-bytes.ts";

/** How many arrivals one answer has at most (api.md#arrivals). */
export const MAX_ARRIVALS = 1_000;

/**
 * Answers from the stamps in which order the bytes of an attempt arrived. Throws `unknown_task`,
 * `unknown_attempt`, or `expired_logs` if the logs were deleted.
 */
export function readArrivals(store: LogStore, state: Existing, request: ArrivalsRequest): Arrivals {
  const { record } = state;
  const id = attemptOf(record, request);
  const now = droverNow();
  refuseGone(state, now);
  if (id === null) {
    return { attempt: null, ended: record.ended, stored: NOTHING, next: request.from, items: [] };
  }
  const logs = record.logs[id] ?? NO_LOGS;
  const startedAt = attemptRecord(record, id)?.startedAt ?? null;
  const { since, streams } = request;
  const read = (stream: StreamName) => {
    const log = logs[stream];
    const stretches = (from: number) => store.stretches(log, id, stream, from);
    const stretchAt = (offset: number) => stretches(offset).next().value ?? undefined;
    const first =
      since === undefined || startedAt === null ? 0 : stretchSince(stretchAt, log.stored, since - startedAt);
    const from = streams.includes(stream) ? Math.max(first, request.from[stream]) : log.stored;
    return { from, arrivals: arrivalsIn(stream, stretches(from), from, startedAt) };
  };
  const [stdout, stderr] = [read("stdout"), read("stderr")];
  return {
    attempt: shortName(id),
    ended: isOver(record, id, now),
    stored: storedOf(logs),
    ...pageOfArrivals(inOrder(stdout.arrivals, stderr.arrivals), {
      from: { stdout: stdout.from, stderr: stderr.from },
      since,
      most: MAX_ARRIVALS,
    }),
  };
}

/** Whether an answer need not wait: there are bytes that the reader has not passed, or none can follow. */
export function hasArrived({ ended, stored }: Arrivals, { from, streams }: ArrivalsRequest): boolean {
  return ended || streams.some((stream) => stored[stream] > from[stream]);
}

const NOTHING: Record<StreamName, number> = { stdout: 0, stderr: 0 };

function storedOf(logs: Record<StreamName, StreamRecord>): Record<StreamName, number> {
  return { stdout: logs.stdout.stored, stderr: logs.stderr.stored };
}
