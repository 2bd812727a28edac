import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { ApiError } from "./errors.ts";
import {
  type CallOptions,
  callContent,
  callStream,
  callStreamPatiently,
  pause,
  type Target,
} from "./transport/http.ts";
import { callOf } from "./transport/operations.ts";
import { bytesFrom } from "./transport/ranges.ts";
import { patienceOf, retryDelayMs } from "./transport/retry.ts";

/** An archive that is to be stored: a file by its path, or what gives its bytes, anew each time. */
export type Archive = string | (() => AsyncIterable<Uint8Array>);

/** What an archive is called, and how long it is. */
export interface SnapshotName {
  /** The SHA-256 of its bytes, in hexadecimal digits. */
  sha256: string;
  bytes: number;
}

/** A snapshot that is stored. */
export interface Stored {
  /** `sha256:<hex>`, as a run names it. */
  id: string;
  bytes: number;
  /** It was there before: nothing was sent. */
  found: boolean;
}

export interface UploadOptions extends CallOptions {
  /** Hears how many bytes this try has sent. */
  onProgress?: (sent: number) => void;
}

/** The routes of snapshots (api.md#snapshots). Each rejects with `ApiError` or `UnreachableError`. */
export function snapshotsOf(target: Target) {
  return {
    /**
     * Stores an archive, unless it is there. Doing it again does no harm: the same bytes have the same name,
     * and the server verifies that they are these.
     */
    async upload(archive: Archive, name: SnapshotName, options: UploadOptions = {}): Promise<Stored> {
      const { onProgress, ...rest } = options;
      const { bytes } = name;
      const id = `sha256:${name.sha256}`;
      if (await isStored(target, id, rest)) return { id, bytes, found: true };
      const content = { bytes, open: () => counted(opened(archive), onProgress) };
      await callContent(target, { ...callOf("putSnapshot", { path: { snapshot: id } }, rest), content });
      return { id, bytes, found: false };
    },

    /**
     * The bytes of a snapshot as they come, over as many connections as it takes. Whether they are the right
     * ones is known only at the end: it throws there if they are not, so that nothing is to be done with them
     * before.
     */
    download: (id: string, options: CallOptions = {}): AsyncGenerator<Uint8Array> =>
      download(target, id, options),
  };
}

function opened(archive: Archive): AsyncIterable<Uint8Array> {
  return typeof archive === "string" ? createReadStream(archive, { highWaterMark: 256 * 1024 }) : archive();
}

async function* counted(
  pieces: AsyncIterable<Uint8Array>,
  onProgress: UploadOptions["onProgress"],
): AsyncGenerator<Uint8Array> {
  let sent = 0;
  for await (const piece of pieces) {
    yield piece;
    sent += piece.length;
    onProgress?.(sent);
  }
}

/** Whether it is there. The answer to a HEAD cannot say what is wrong: of that a GET of one byte is asked. */
async function isStored(target: Target, id: string, options: CallOptions): Promise<boolean> {
  const path = { snapshot: id };
  const one = callOf("getSnapshot", { path, headers: { range: "bytes=0-0" } }, options);
  const missing = (error: unknown) => {
    options.signal?.throwIfAborted();
    return error instanceof ApiError && error.status === 404;
  };
  try {
    await callStream(target, { ...callOf("getSnapshot", { path }, options), method: "HEAD" });
    return true;
  } catch (error) {
    if (missing(error)) return false;
  }
  try {
    await (await callStreamPatiently(target, one)).body?.cancel();
    return true;
  } catch (error) {
    if (missing(error)) return false;
    throw error;
  }
}

/**
 * Patience runs from the first failure since the last piece. How long the connection was quiet before that,
 * or who takes the pieces, was no trouble.
 */
async function* download(target: Target, id: string, options: CallOptions): AsyncGenerator<Uint8Array> {
  const hash = createHash("sha256");
  const patience = patienceOf(target.patience, options.patience);
  let next = 0;
  let failedAt: number | undefined;
  let tries = 0;
  for (let isWhole = false; !isWhole; ) {
    try {
      for await (const piece of rest(target, id, next, options)) {
        hash.update(piece);
        next += piece.length;
        [failedAt, tries] = [undefined, 0];
        yield piece;
      }
      isWhole = true;
    } catch (error) {
      options.signal?.throwIfAborted();
      tries += 1;
      const now = performance.now();
      failedAt ??= now;
      const delayMs = retryDelayMs(error, tries, now - failedAt, patience);
      if (delayMs === undefined) throw error;
      await pause(delayMs, options.signal);
    }
  }
  const found = `sha256:${hash.digest("hex")}`;
  if (found === id) return;
  const detail = `what came as snapshot ${id} are other bytes: those of ${found}`;
  throw new ApiError({ status: 200, code: "unexpected_answer", temporary: false, detail });
}

/** The bytes from this one on, over one connection. Throws if it breaks. */
async function* rest(
  target: Target,
  id: string,
  from: number,
  options: CallOptions,
): AsyncGenerator<Uint8Array> {
  const range = from > 0 ? { range: `bytes=${from}-` } : {};
  const call = callOf("getSnapshot", { path: { snapshot: id }, headers: range }, options);
  call.headers = { ...call.headers, "accept-encoding": "identity" };
  let response: Response;
  try {
    response = await callStream(target, call);
  } catch (error) {
    // The connection broke behind the last byte.
    if (error instanceof ApiError && error.status === 416 && from > 0) return;
    throw error;
  }
  yield* bytesFrom(target, call, response, { what: `snapshot ${id}`, from });
}
