// How are log bytes stored in an allocation?
import type { StoredStretch } from "../../core/allocation/output/arrivals.ts";
import { logObjectKey, offsetText } from "../../core/allocation/output/chunks.ts";
import { type LineStretch, linesBeforeTail } from "../../core/allocation/output/lines.ts";
import type { LogSegment, StreamRecord } from "../../core/allocation/state.ts";
import type { StreamName } from "../../schema/host.ts";
import type { PackedStamps } from "../../shared/time/stamps.ts";
import { meter } from "../meter.ts";
import type { LogObject, LogRequest } from "../rpc.ts";

/**
 * A stored segment: its bytes or, if its bytes are in the object store, only their number. Bytes with stamps
 * or with a number of lines are in `data`.
 */
type StoredSegment =
  | Uint8Array
  | { length: number; data?: Uint8Array; stamps?: PackedStamps; lines?: number };

/** At most `maxBytes` of a stream, from `from` on. */
export type LogPosition = Pick<LogRequest, "stream" | "from" | "maxBytes"> & { attempt: string };

/** How many rows are in memory while logs are deleted: each may have megabytes. */
export const CLEARED_AT_ONCE = 8;

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
      this.#kv.put(key(segment.attempt, segment.stream, segment.from), storedForm(segment));
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
    for (let names = this.#someNames(); names.length > 0; names = this.#someNames()) {
      for (const name of names) this.#kv.delete(name);
      meter.rowsWritten += names.length;
    }
  }

  /** The names of some rows. A list brings their bytes, too, and all of them may be more than memory has. */
  #someNames(): string[] {
    return [...this.#kv.list({ prefix: "log/", limit: CLEARED_AT_ONCE })].map(([name]) => name);
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
      const data = segment instanceof Uint8Array ? segment : segment.data;
      const { length } = segment;
      if (data !== undefined) take(begin, data);
      else if (at > from) return { data: concat(parts) };
      else return { data: concat([]), object: objectAt({ attempt, stream, from: begin, length }, from) };
    }
    if (at < to) take(stored - tail.length, tail);
    return { data: concat(parts) };
  }

  /**
   * The stretches of a stream from offset `from` on, each with its stamps. Rows are read one by one, since a
   * second list would end the first one.
   */
  *stretches(
    { stored, tail, stamps }: StreamRecord,
    attempt: string,
    stream: StreamName,
    from: number,
  ): Generator<StoredStretch> {
    let at = from;
    while (at < stored - tail.length) {
      const [begin, segment] = this.#segmentAt(attempt, stream, at) ?? [at, undefined];
      if (segment === undefined || begin + segment.length <= at) break;
      yield { from: begin, length: segment.length, stamps: "stamps" in segment ? segment.stamps : undefined };
      at = begin + segment.length;
    }
    if (tail.length > 0 && at < stored) yield { from: stored - tail.length, length: tail.length, stamps };
  }

  /** The segment or the tail with the byte at this offset, and how many lines end before it. */
  lineStretchAt(
    record: StreamRecord,
    attempt: string,
    stream: StreamName,
    offset: number,
  ): LineStretch | undefined {
    const { stored, tail } = record;
    const begin = stored - tail.length;
    if (offset >= begin)
      return stored === 0 ? undefined : { from: begin, length: tail.length, lines: linesBeforeTail(record) };
    const found = this.#segmentAt(attempt, stream, offset);
    if (found === undefined) return undefined;
    const [from, segment] = found;
    const lines = "lines" in segment ? segment.lines : from === 0 ? 0 : undefined;
    return { from, length: segment.length, lines };
  }

  /** The segments that contain bytes of [from, to), each with its offset. */
  *#segments(
    attempt: string,
    stream: StreamName,
    from: number,
    to: number,
  ): Generator<[number, StoredSegment]> {
    const first = this.#segmentAt(attempt, stream, from);
    if (first === undefined || to <= from) return;
    const prefix = `log/${attempt}/${stream}/`;
    const start = key(attempt, stream, first[0]);
    const rows = this.#kv.list<StoredSegment>({ prefix, start, end: key(attempt, stream, to) });
    for (const [name, segment] of rows) {
      const begin = Number(name.slice(prefix.length));
      if (begin + segment.length > from) yield [begin, segment];
    }
  }

  /** The last segment that begins at this offset or before it. */
  #segmentAt(attempt: string, stream: StreamName, offset: number): [number, StoredSegment] | undefined {
    const prefix = `log/${attempt}/${stream}/`;
    const end = key(attempt, stream, offset + 1);
    const [found] = this.#kv.list<StoredSegment>({ prefix, end, reverse: true, limit: 1 });
    return found && [Number(found[0].slice(prefix.length)), found[1]];
  }
}

function storedForm(segment: LogSegment): StoredSegment {
  const { stamps, lines, from } = segment;
  const counted = from > 0 && lines !== undefined;
  const known = { ...(stamps === undefined ? {} : { stamps }), ...(counted ? { lines } : {}) };
  if (!("data" in segment)) return { length: segment.length, ...known };
  const { data } = segment;
  return stamps === undefined && !counted ? data : { length: data.length, data, ...known };
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
