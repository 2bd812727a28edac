// How are log bytes stored in an allocation, and how are they read?
import { logsGoneSince } from "../../core/allocation/forget.ts";
import { logObjectKey, offsetText } from "../../core/allocation/output/chunks.ts";
import { NO_LOGS } from "../../core/allocation/output/logs.ts";
import type { AllocationRecord, Existing, LogSegment, StreamRecord } from "../../core/allocation/state.ts";
import { isLogOver } from "../../core/allocation/time/order-deadlines.ts";
import type { StreamName } from "../../schema/host.ts";
import { DroverError } from "../../shared/errors.ts";
import { MAX_LOG_BYTES } from "../../shared/limits.ts";
import { iso } from "../../shared/time/instant.ts";
import { droverNow } from "../clock.ts";
import { meter } from "../meter.ts";
import type { LogChunk, LogObject, LogRequest } from "../rpc.ts";

/** A stored segment: its bytes or, if its bytes are in the object store, only their number. */
type StoredSegment = Uint8Array | { length: number };

/** At most `maxBytes` of a stream, from `from` on. */
export type LogPosition = Pick<LogRequest, "stream" | "from" | "maxBytes"> & { attempt: string };

/** The segments of an allocation's logs, which do not fit into its value (`AllocationRecord.logs`). */
export class LogStore {
  readonly #kv: SyncKvStorage;
  readonly #bucket: R2Bucket | undefined;
  readonly #run: string;

  constructor(kv: SyncKvStorage, bucket: R2Bucket | undefined, run: string) {
    this.#kv = kv;
    this.#bucket = bucket;
    this.#run = run;
  }

  write(segments: LogSegment[]): void {
    for (const segment of segments) {
      const value: StoredSegment = "data" in segment ? segment.data : { length: segment.length };
      this.#kv.put(key(segment.attempt, segment.stream, segment.from), value);
      meter.rowsWritten += 1;
    }
  }

  /**
   * Deletes all logs of a run as long as `may()` is true: first the objects in the bucket, then the rows. A
   * repeated call does no harm.
   */
  async clear(may: () => boolean): Promise<void> {
    while (may()) {
      const { objects = [] } = (await this.#bucket?.list({ prefix: `logs/${this.#run}/` })) ?? {};
      if (objects.length === 0) break;
      await this.#bucket?.delete(objects.map(({ key }) => key));
    }
    if (!may()) return;
    for (const [name] of [...this.#kv.list({ prefix: "log/" })]) {
      this.#kv.delete(name);
      meter.rowsWritten += 1;
    }
  }

  /**
   * Reads the bytes of a stream at a position from the rows and the tail, up to the next object in the
   * bucket. If the position is within an object, returns the name of this object instead.
   */
  read({ stored, tail }: StreamRecord, position: LogPosition): { data: Uint8Array; object?: LogObject } {
    const { attempt, stream, from } = position;
    const to = Math.min(stored, from + position.maxBytes);
    const parts: Uint8Array[] = [];
    let at = from;
    const take = (begin: number, bytes: Uint8Array) => {
      const part = bytes.subarray(at - begin, to - begin);
      parts.push(part);
      at += part.length;
    };
    for (const [begin, segment] of this.#segments(attempt, stream, from, to)) {
      if (segment instanceof Uint8Array) take(begin, segment);
      else if (at > from) return { data: concat(parts) };
      else return { data: concat([]), object: objectAt({ attempt, stream, from: begin, ...segment }, from) };
    }
    if (at < to) take(stored - tail.length, tail);
    return { data: concat(parts) };
  }

  /** The segments that contain bytes of [from, to), each with its offset. */
  *#segments(
    attempt: string,
    stream: StreamName,
    from: number,
    to: number,
  ): Generator<[number, StoredSegment]> {
    const prefix = `log/${attempt}/${stream}/`;
    const [first] = this.#kv.list<StoredSegment>({
      prefix,
      end: key(attempt, stream, from + 1),
      reverse: true,
      limit: 1,
    });
    if (first === undefined || to <= from) return;
    const rows = this.#kv.list<StoredSegment>({ prefix, start: first[0], end: key(attempt, stream, to) });
    for (const [name, segment] of rows) {
      const begin = Number(name.slice(prefix.length));
      if (begin + segment.length > from) yield [begin, segment];
    }
  }
}

function objectAt(stretch: Parameters<typeof logObjectKey>[0], from: number): LogObject {
  const offset = from - stretch.from;
  return { key: logObjectKey(stretch), offset, length: stretch.length - offset };
}

function concat(parts: Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function key(attempt: string, stream: StreamName, offset: number): string {
  return `log/${attempt}/${stream}/${offsetText(offset)}`;
}

/**
 * The id of the requested attempt: the named, the latest or the oldest attempt. Null: the task has no attempt
 * yet.
 */
function attemptOf(record: AllocationRecord, request: LogRequest): string | null {
  const task = record.tasks.find((one) => one.name === request.task);
  if (task === undefined) {
    const names = record.tasks.map((one) => one.name).join(", ");
    throw new DroverError("unknown_task", `the run has no task called "${request.task}"; it has ${names}`);
  }
  const ids = task.attempts.map((one) => one.id);
  if (request.attempt === undefined) return ids.at(request.oldest ? 0 : -1) ?? null;
  const found = ids.find((id) => id.endsWith(`/${request.attempt}`));
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
  const gone = logsGoneSince(state, now);
  if (gone !== undefined) {
    const text =
      `the logs of run "${record.id}" were deleted at ${iso(gone)}, because its pool keeps ` +
      "logs for a shorter time than runs (`retention.logs`); the run itself can still be read";
    throw new DroverError("expired_logs", text);
  }
  if (attempt === null) return { data: new Uint8Array(), from: 0, size: 0, ended: record.ended, dropped: 0 };
  const streamRecord = (record.logs[attempt] ?? NO_LOGS)[request.stream];
  const { stored, size } = streamRecord;
  const from = Math.min(stored, request.from < 0 ? Math.max(0, stored + request.from) : request.from);
  const position = { attempt, stream: request.stream, from, maxBytes: request.maxBytes };
  const known = record.tasks.flatMap((task) => task.attempts).find((one) => one.id === attempt);
  const ended = known !== undefined && isLogOver(record, known, now);
  return {
    ...store.read(streamRecord, position),
    from,
    attempt: attempt.slice(attempt.lastIndexOf("/") + 1),
    size: stored,
    ended,
    dropped: Math.max(0, size - MAX_LOG_BYTES),
  };
}

/**
 * Whether the answer to a request need not wait: there are bytes, the stream has ended, or the request counts
 * from the end.
 */
export function hasNews(chunk: LogChunk, request: LogRequest): boolean {
  return chunk.data.length > 0 || chunk.object !== undefined || chunk.ended || request.from < 0;
}
