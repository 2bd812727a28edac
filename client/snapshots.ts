// How are archives uploaded and downloaded? No archive is stored twice, a broken download is resumed, and the
// digest is verified.
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

/**
 * An archive to store: the path of a file, or a function that returns the bytes. Each try calls the function.
 */
export type Archive = string | (() => AsyncIterable<Uint8Array>);

/** The name of an archive, which is its digest, and the size of the archive. */
export interface SnapshotName {
  /** SHA-256 of the archive's bytes, in hexadecimal. */
  sha256: string;
  bytes: number;
}

/** A stored snapshot. */
export interface Stored {
  /** `sha256:<hex>`, as a run names it. */
  id: string;
  bytes: number;
  /** Whether the archive was stored already. Then nothing was sent. */
  found: boolean;
}

export interface UploadOptions extends CallOptions {
  /** Called with the number of bytes that this try has sent. */
  onProgress?: (sent: number) => void;
}

/** The routes of snapshots (api.md#snapshots). Each call rejects with `ApiError` or `UnreachableError`. */
export function snapshotsOf(target: Target) {
  return {
    /**
     * Stores an archive, unless it is stored already. Repeating the call is harmless: the same bytes have the
     * same name, which the server verifies.
     */
    async upload(archive: Archive, name: SnapshotName, options: UploadOptions = {}): Promise<Stored> {
      const { onProgress, ...rest } = options;
      const { bytes } = name;
      const id = `sha256:${name.sha256}`;
      if (await isStored(target, id, rest)) return { id, bytes, found: true };
      const content = { bytes, open: () => withProgress(openArchive(archive), onProgress) };
      await callContent(target, { ...callOf("putSnapshot", { path: { snapshot: id } }, rest), content });
      return { id, bytes, found: false };
    },

    /** Whether a snapshot is stored. */
    isStored: (id: string, options: CallOptions = {}): Promise<boolean> => isStored(target, id, options),

    /**
     * Yields the bytes of a snapshot as they come, over as many connections as necessary. Verifies the digest
     * at the end, and throws if it is wrong. So do not use the bytes before the end.
     */
    download: (id: string, options: CallOptions = {}): AsyncGenerator<Uint8Array> =>
      download(target, id, options),
  };
}

function openArchive(archive: Archive): AsyncIterable<Uint8Array> {
  return typeof archive === "string" ? createReadStream(archive, { highWaterMark: 256 * 1024 }) : archive();
}

async function* withProgress(
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

/**
 * Whether the snapshot is stored. A failed HEAD has no body that says why, so a GET of one byte follows.
 */
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
 * Downloads a snapshot. The time limit for retries (`patience`) counts from the first failure after the last
 * received piece. So neither a quiet connection nor a slow reader shortens the time for retries.
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
  const detail = `the server sent the wrong bytes for snapshot ${id}: those of ${found}`;
  throw new ApiError({ status: 200, code: "unexpected_answer", temporary: false, detail });
}

/** Yields the bytes from an offset on, over one connection. Throws if the connection breaks. */
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
    // The connection broke after the last byte.
    if (error instanceof ApiError && error.status === 416 && from > 0) return;
    throw error;
  }
  yield* bytesFrom(target, call, response, { what: `snapshot ${id}`, from });
}
