import type { LogBucket, LogChunk } from "../../objects/rpc.ts";
import { MAX_LOG_READ_BYTES } from "../../shared/limits.ts";
import { patiently } from "../http/retry.ts";

/** How long one read of a followed log is held by its object. */
const FOLLOW_HOLD_MS = 20_000;

/** What of a log to stream. */
export interface LogSource {
  /** What was read already, at `from`. */
  first: LogChunk;
  from: number;
  /** Offset behind the last byte wanted. With `follow` it may lie beyond what there is. */
  to: number;
  follow: boolean;
  read: (from: number, maxBytes: number, waitMs: number) => Promise<LogChunk>;
  /** Where the objects lie that a read may name in place of bytes. */
  bucket: Pick<LogBucket, "get">;
}

/**
 * The bytes of a log as a stream: the next are read only when the client has taken the last, and a client
 * that goes away ends the reading. A read that fails for good breaks the stream off, so that a part never
 * looks like the whole.
 */
export function logStream(source: LogSource): ReadableStream<Uint8Array> {
  const { readable, writable } = newPipe();
  void copy(source, writable)
    .then(
      () => writable.close(),
      (error) => writable.abort(error),
    )
    // A client that has gone away needs no end.
    .catch(() => undefined);
  return readable;
}

/**
 * A stream from one end to the other. The runtime's own one lets what comes from the bucket pass without
 * touching our heap: a large log would leave as much of it there as it is long, for a while.
 */
function newPipe(): TransformStream<Uint8Array, Uint8Array> {
  // Only workerd has it, which not every type of these files knows.
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
    const chunk = ready ?? (await patiently(() => read(at, maxBytes, follow ? FOLLOW_HOLD_MS : 0)));
    ready = undefined;
    offset += await pass(chunk, left, source.bucket, to);
    if (offset >= chunk.size && chunk.ended) return;
    if (offset === at && !follow) throw new Error("the log has become shorter while it was read");
  }
}

/** Passes on what a read has brought: bytes, or those of the object that it names. Returns how many. */
async function pass(
  { data, object }: LogChunk,
  maxBytes: number,
  bucket: LogSource["bucket"],
  to: WritableStream<Uint8Array>,
): Promise<number> {
  if (object !== undefined) {
    const part = { ...object, length: Math.min(object.length, maxBytes) };
    const body = await patiently(() => bucket.get(part));
    await body.pipeTo(to, { preventClose: true });
    return part.length;
  }
  const bytes = data.subarray(0, maxBytes);
  const writer = to.getWriter();
  // Without bytes it still hears whether anybody reads.
  await writer.ready;
  if (bytes.length > 0) await writer.write(bytes);
  writer.releaseLock();
  return bytes.length;
}
