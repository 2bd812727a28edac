// Which bytes of a log does a reader get?
import { logsGoneSince } from "../../core/allocation/forget.ts";
import { NO_LOGS } from "../../core/allocation/output/logs.ts";
import type { AllocationRecord, AttemptRecord, Existing } from "../../core/allocation/state.ts";
import { isLogOver } from "../../core/allocation/time/order-deadlines.ts";
import { DroverError } from "../../shared/errors.ts";
import { MAX_LOG_BYTES } from "../../shared/limits.ts";
import type { Instant } from "../../shared/machine.ts";
import { iso } from "../../shared/time/instant.ts";
import { droverNow } from "../clock.ts";
import type { LogStore } from "../files/log-store.ts";
import type { LogChunk, LogRequest } from "../rpc.ts";

/** The requested attempt: the named, the latest or the oldest attempt. Null: the task has no attempt yet. */
export function attemptOf(
  record: AllocationRecord,
  request: Pick<LogRequest, "task" | "attempt" | "oldest">,
): AttemptRecord | null {
  const task = record.tasks.find((one) => one.name === request.task);
  if (task === undefined) {
    const names = record.tasks.map((one) => one.name).join(", ");
    throw new DroverError("unknown_task", `the run has no task called "${request.task}"; it has ${names}`);
  }
  const { attempts } = task;
  if (request.attempt === undefined) return attempts.at(request.oldest ? 0 : -1) ?? null;
  const found = attempts.find(({ id }) => id.endsWith(`/${request.attempt}`));
  if (found === undefined) {
    const text = `task "${request.task}" has no attempt ${request.attempt}; they are named like 1.1`;
    throw new DroverError("unknown_attempt", text);
  }
  return found;
}

/**
 * Answers a request for log bytes from the stored bytes. Throws `unknown_task`, `unknown_attempt`, or
 * `expired_logs` if the logs were deleted.
 */
export function readLog(store: LogStore, state: Existing, request: LogRequest): LogChunk {
  const { record } = state;
  const attempt = attemptOf(record, request);
  const now = droverNow();
  refuseGone(state, now);
  if (attempt === null) return { data: new Uint8Array(), from: 0, size: 0, ended: record.ended, dropped: 0 };
  const streamRecord = (record.logs[attempt.id] ?? NO_LOGS)[request.stream];
  const { stored, size } = streamRecord;
  const from = Math.min(stored, request.from < 0 ? Math.max(0, stored + request.from) : request.from);
  const position = { attempt: attempt.id, stream: request.stream, from, maxBytes: request.maxBytes };
  return {
    ...store.read(streamRecord, position),
    from,
    attempt: shortName(attempt.id),
    size: stored,
    ended: isLogOver(record, attempt, now),
    dropped: Math.max(0, size - MAX_LOG_BYTES),
  };
}

/** Throws `expired_logs` if the logs of a run were deleted. */
export function refuseGone(state: Existing, now: Instant): void {
  const gone = logsGoneSince(state, now);
  if (gone === undefined) return;
  const text =
    `the logs of run "${state.record.id}" were deleted at ${iso(gone)}, because its pool keeps ` +
    "logs for a shorter time than runs (`retention.logs`); the run itself can still be read";
  throw new DroverError("expired_logs", text);
}

/** The last part of an attempt's id. */
export function shortName(attempt: string): string {
  return attempt.slice(attempt.lastIndexOf("/") + 1);
}

/**
 * Whether the answer to a request need not wait: there are bytes, the stream has ended, or the request counts
 * from the end.
 */
export function hasNews(chunk: LogChunk, request: LogRequest): boolean {
  return chunk.data.length > 0 || chunk.object !== undefined || chunk.ended || request.from < 0;
}
