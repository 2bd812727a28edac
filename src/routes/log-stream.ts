import { MAX_LOG_READ_BYTES } from "../core/limits.ts";
import type { LogBucket, LogChunk } from "../objects/rpc.ts";
import { patiently } from "./patience.ts";

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
  const pieces = piecesOf(source);
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel() {
        // What is being read when the client goes is read to its end, and nothing after it.
        void pieces.return(undefined).catch(() => undefined);
      },
    },
    { highWaterMark: 0 },
  );
}

async function* piecesOf({
  first,
  from,
  to,
  follow,
  read,
  bucket,
}: LogSource): AsyncGenerator<Uint8Array, void> {
  let offset = from;
  let ready: LogChunk | undefined = first;
  while (offset < to) {
    const at = offset;
    const maxBytes = Math.min(to - at, MAX_LOG_READ_BYTES);
    const chunk = ready ?? (await patiently(() => read(at, maxBytes, follow ? FOLLOW_HOLD_MS : 0)));
    ready = undefined;
    for await (const part of partsOf(chunk, bucket)) {
      const bytes = part.subarray(0, to - offset);
      offset += bytes.length;
      if (bytes.length > 0) yield bytes;
    }
    if (offset >= chunk.size && chunk.ended) return;
    if (offset === at && !follow) throw new Error("the log has become shorter while it was read");
  }
}

/** What a read has brought: bytes, or those of the object that it names, of which one part is in memory. */
async function* partsOf(
  { data, object }: LogChunk,
  bucket: LogSource["bucket"],
): AsyncGenerator<Uint8Array, void> {
  if (object === undefined) yield data;
  else yield* await patiently(() => bucket.get(object));
}
