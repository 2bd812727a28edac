import { MAX_LOG_READ_BYTES } from "../core/limits.ts";
import type { LogChunk } from "../objects/rpc.ts";
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
}

/**
 * The bytes of a log as a stream: the next are read only when the client has taken the last, and a client
 * that goes away ends the reading. A read that fails for good breaks the stream off, so that a part never
 * looks like the whole.
 */
export function logStream({ first, from, to, follow, read }: LogSource): ReadableStream<Uint8Array> {
  let offset = from;
  let ready: LogChunk | undefined = first;
  let gone = false;
  const next = async (): Promise<LogChunk> => {
    const chunk = ready;
    ready = undefined;
    const maxBytes = Math.min(to - offset, MAX_LOG_READ_BYTES);
    return chunk ?? patiently(() => read(offset, maxBytes, follow ? FOLLOW_HOLD_MS : 0));
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        while (offset < to) {
          const chunk = await next();
          if (gone) return;
          const bytes = chunk.data.subarray(0, to - offset);
          offset += bytes.length;
          if (bytes.length > 0) controller.enqueue(bytes);
          if (offset >= chunk.size && chunk.ended) break;
          if (bytes.length > 0 && offset < to) return;
          if (bytes.length === 0 && !follow) throw new Error("the log has become shorter while it was read");
        }
        controller.close();
      },
      cancel() {
        gone = true;
      },
    },
    { highWaterMark: 0 },
  );
}
