// How is the output of an attempt read, so that no byte is doubled or missing, whatever breaks?
import { ApiError, UnreachableError } from "../../../client/errors.ts";
import { isTemporary } from "../../api/temporary.ts";

/** Which bytes to read: those at the end, or those from an offset on, up to `to` if it is given. */
export type LogSpan = { tail: number } | { from: number; to?: number | undefined };

/** What becomes known while a log is read. */
export type LogNews =
  /** The bytes will begin at this offset. */
  | { is: "begun"; at: number }
  | { is: "bytes"; at: number; bytes: Uint8Array }
  /** No answer, or half of one: reading goes on at this byte. Undefined: nothing has been read. */
  | { is: "broken"; at: number | undefined; error: unknown }
  /** There is nothing more: of the span, or of the attempt if it is followed. */
  | { is: "ended"; at: number };

/** Opens a span of the log of one attempt. Rejects with the errors of `send`. */
export type OpenLog = (span: LogSpan, signal: AbortSignal) => Promise<Response>;

/** What reading needs from outside. */
export interface Reading {
  open: OpenLog;
  signal: AbortSignal;
  /** Waits before the try after so many failures in a row. */
  pause: (failures: number) => Promise<void>;
}

/**
 * Reads a span (ui.md#d5). A break is reported, and reading goes on at the exact byte for as long as the
 * reader wants. Throws what is final, such as `expired_logs`, and the signal's reason.
 */
export async function* readLog(span: LogSpan, { open, signal, pause }: Reading): AsyncGenerator<LogNews> {
  let at = "from" in span ? span.from : undefined;
  const to = "to" in span ? span.to : undefined;
  let failures = 0;
  for (;;) {
    try {
      const response = await open(at === undefined ? span : { from: at, to }, signal);
      let offset = firstByte(response);
      at ??= offset;
      if (offset > at)
        throw new Error(`bytes from ${at} on were asked for, and the answer begins at ${offset}`);
      yield { is: "begun", at };
      for await (const bytes of piecesOf(response)) {
        // A cache may answer with more than the range.
        const fresh = bytes.subarray(Math.max(0, at - offset));
        offset += bytes.length;
        if (fresh.length === 0) continue;
        failures = 0;
        yield { is: "bytes", at, bytes: fresh };
        at += fresh.length;
      }
      yield { is: "ended", at };
      return;
    } catch (error) {
      signal.throwIfAborted();
      if (at !== undefined && isBehindTheEnd(error)) {
        yield { is: "ended", at };
        return;
      }
      if (!isTemporary(error)) throw error;
      failures += 1;
      yield { is: "broken", at, error };
      await pause(failures);
    }
  }
}

/** The offset of an answer's first byte, as its `Content-Range` says. Without one it has all bytes. */
export function firstByte(response: Response): number {
  const range = /^bytes (\d+)-/.exec(response.headers.get("content-range") ?? "");
  return range === null ? 0 : Number(range[1]);
}

/** Whether an error says that there is nothing from this byte on. */
export function isBehindTheEnd(error: unknown): boolean {
  return error instanceof ApiError && error.status === 416;
}

async function* piecesOf(response: Response): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } catch (error) {
    throw new UnreachableError(response.url, error);
  } finally {
    reader.cancel().catch(() => {});
  }
}
