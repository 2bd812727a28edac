// How a log is streamed at the client's pace, from objects and from the bucket.
import type { LogBucket, LogChunk } from "../../objects/rpc.ts";
import { MAX_LOG_READ_BYTES } from "../../shared/limits.ts";
import { withRetries } from "../http/retry.ts";

/** How long an object may hold one read of a followed log. */
const FOLLOW_HOLD_MS = 20_000;

/** The part of a log to stream. */
export interface LogSource {
  /** The chunk at `from`, already read. */
  first: LogChunk;
  from: number;
  /** Offset after the last byte. With `follow`, the offset may lie beyond the current end of the log. */
  to: number;
  follow: boolean;
  read: (from: number, maxBytes: number, waitMs: number) => Promise<LogChunk>;
  /** The bucket. Instead of bytes, a read may return the name of an object in the bucket. */
  bucket: Pick<LogBucket, "get">;
}

/**
 * Streams a log. Each read waits until the client has taken the previous bytes, and reading ends if the
 * client disconnects. A final failure aborts the stream, so that a partial log never looks complete.
 */
export function logStream(source: LogSource): ReadableStream<Uint8Array> {
  const { readable, writable } = newPipe();
  void copy(source, writable)
    .then(
      () => writable.close(),
      (error) => writable.abort(error),
    )
    // The client has disconnected.
    .catch(() => undefined);
  return readable;
}

/**
 * A pipe. The runtime's own class passes the bucket's bytes without copying them into our heap, where a large
 * log would stay for a while.
 */
function newPipe(): TransformStream<Uint8Array, Uint8Array> {
  // Only workerd has this class, and not all type definitions declare it.
  const runtime = globalThis as { IdentityTransformStream?: typeof TransformStream }; // see above
  const Native = runtime.IdentityTransformStream;
  return Native === undefined ? new TransformStream() : new Native();
}

async function copy(source: LogSource, to: WritableStream<Uint8Array>): Promise<void> {
  const { follow, read } = source;
  let offset = source.from;
  let ready: LogChunk | undefined = source.first;
  while (offset < source.to) {
    const at = offset;
    const left = source.to - at;
    const maxBytes = Math.min(left, MAX_LOG_READ_BYTES);
    const chunk = ready ?? (await withRetries(() => read(at, maxBytes, follow ? FOLLOW_HOLD_MS : 0)));
    ready = undefined;
    offset += await pass(chunk, left, source.bucket, to);
    if (offset >= chunk.size && chunk.ended) return;
    if (offset === at && !follow) throw new Error("the log has become shorter while it was read");
  }
}

/** Writes the bytes of a read, or of the bucket object that the read names. Returns the number of bytes. */
async function pass(
  { data, object }: LogChunk,
  maxBytes: number,
  bucket: LogSource["bucket"],
  to: WritableStream<Uint8Array>,
): Promise<number> {
  if (object !== undefined) {
    const part = { ...object, length: Math.min(object.length, maxBytes) };
    const body = await withRetries(() => bucket.get(part));
    await body.pipeTo(to, { preventClose: true });
    return part.length;
  }
  const bytes = data.subarray(0, maxBytes);
  const writer = to.getWriter();
  // Even without bytes, this notices a client that has disconnected.
  await writer.ready;
  if (bytes.length > 0) await writer.write(bytes);
  writer.releaseLock();
  return bytes.length;
}
