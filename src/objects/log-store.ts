import { logsComplete, NO_LOGS } from "../core/allocation/logs.ts";
import type { AllocationRecord, LogRow } from "../core/allocation/state.ts";
import { isOver } from "../core/allocation/tasks.ts";
import { DroverError } from "../core/errors.ts";
import { MAX_LOG_BYTES } from "../core/limits.ts";
import type { StreamName } from "../schema/host.ts";
import { meter } from "./meter.ts";
import type { LogChunk, LogRequest } from "./rpc.ts";

/** Decimal digits of an offset in a key: keys are read in their order. */
const OFFSET_DIGITS = 12;

/** The log rows of an allocation: what has outgrown the one value (`AllocationRecord.logs`). */
export class LogStore {
  readonly #kv: SyncKvStorage;

  constructor(kv: SyncKvStorage) {
    this.#kv = kv;
  }

  write(rows: LogRow[]): void {
    for (const { attempt, stream, from, data } of rows) {
      this.#kv.put(key(attempt, stream, from), data);
      meter.rowsWritten += 1;
    }
  }

  /** The bytes of a stream from `from` on, at most `maxBytes`. */
  read(record: AllocationRecord, { attempt, stream, from, maxBytes }: StreamPosition): Uint8Array {
    const { stored, tail } = (record.logs[attempt] ?? NO_LOGS)[stream];
    const bytes = new Uint8Array(Math.min(maxBytes, Math.max(0, stored - from)));
    const copy = (at: number, data: Uint8Array) => {
      const skipped = Math.max(0, from - at);
      bytes.set(data.subarray(skipped, from + bytes.length - at), at + skipped - from);
    };
    for (const [at, data] of this.#rows(attempt, stream, from, from + bytes.length)) copy(at, data);
    const tailFrom = stored - tail.length;
    if (from + bytes.length > tailFrom) copy(tailFrom, tail);
    return bytes;
  }

  /** The rows that hold bytes of [from, to), each with its offset. */
  *#rows(attempt: string, stream: StreamName, from: number, to: number): Generator<[number, Uint8Array]> {
    const prefix = `log/${attempt}/${stream}/`;
    const [first] = this.#kv.list({ prefix, end: key(attempt, stream, from + 1), reverse: true, limit: 1 });
    if (first === undefined || to <= from) return;
    const rows = this.#kv.list<Uint8Array>({ prefix, start: first[0], end: key(attempt, stream, to) });
    for (const [name, data] of rows) yield [Number(name.slice(-OFFSET_DIGITS)), data];
  }
}

/** From where of which stream bytes are wanted. */
export interface StreamPosition {
  attempt: string;
  stream: StreamName;
  from: number;
  maxBytes: number;
}

function key(attempt: string, stream: StreamName, offset: number): string {
  return `log/${attempt}/${stream}/${String(offset).padStart(OFFSET_DIGITS, "0")}`;
}

/** The attempt that a request means: the one it names, or the task's latest; null if there is none yet. */
function attemptMeant(record: AllocationRecord, request: LogRequest): string | null {
  const task = record.tasks.find((one) => one.name === request.task);
  if (task === undefined) {
    const names = record.tasks.map((one) => one.name).join(", ");
    throw new DroverError("unknown_task", `the run has no task called "${request.task}"; it has ${names}`);
  }
  const ids = task.attempts.map((one) => one.id);
  if (request.attempt === undefined) return ids.at(-1) ?? null;
  const meant = ids.find((id) => id.endsWith(`/${request.attempt}`));
  if (meant === undefined) {
    const text = `task "${request.task}" has no attempt ${request.attempt}; they are named like 1.1`;
    throw new DroverError("unknown_task", text);
  }
  return meant;
}

/** Answers a request for log bytes from what is stored now. */
export function readLog(store: LogStore, record: AllocationRecord, request: LogRequest): LogChunk {
  const attempt = attemptMeant(record, request);
  if (attempt === null) return { data: new Uint8Array(), from: 0, size: 0, ended: record.ended, dropped: 0 };
  const { stored, size } = (record.logs[attempt] ?? NO_LOGS)[request.stream];
  const from = Math.min(stored, request.from < 0 ? Math.max(0, stored + request.from) : request.from);
  const position = { attempt, stream: request.stream, from, maxBytes: request.maxBytes };
  const known = record.tasks.flatMap((task) => task.attempts).find((one) => one.id === attempt);
  const ended = record.ended || (known !== undefined && isOver(known) && logsComplete(record, attempt));
  return {
    data: store.read(record, position),
    from,
    size: stored,
    ended,
    dropped: Math.max(0, size - MAX_LOG_BYTES),
  };
}

/**
 * A request that begins beyond what is stored waits for more; one that counts from the end has its answer
 * now.
 */
export function hasNews(chunk: LogChunk, request: LogRequest): boolean {
  return chunk.data.length > 0 || chunk.ended || request.from < 0;
}
