// How is one chunk of a large log uploaded, and which event does the answer become?

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { Readable } from "node:stream";
import type { Millis } from "../../src/shared/machine.ts";
import { newlinesIn } from "../../src/shared/output/newlines.ts";
import { MAX_STAMPS } from "../../src/shared/time/stamps.ts";
import { errorText } from "../../src/shared/words.ts";
import { SENT_AT_ONCE_BYTES } from "../core/bounds.ts";
import type { HostEvent } from "../core/events.ts";
import type { MessageOf } from "../core/messages.ts";
import type { Streams } from "../exec/streams.ts";
import { say } from "../say.ts";
import { type ControlPlane, membersOf, Refusal } from "./control-plane.ts";
import type { Bytes } from "./http.ts";

/** A chunk without an answer after this time has failed. */
const CHUNK_TIMEOUT_MS: Millis = 60_000;

/** Uploads one chunk of a log without its secrets, and returns the event of the answer. Never rejects. */
export async function shipLog(
  plane: ControlPlane,
  message: MessageOf<"ship_log">,
  streams: Streams,
): Promise<HostEvent> {
  const { id, stream, from, bytes, startedAt } = message;
  try {
    const body = streams.isMasked(id) ? maskedChunk(message, streams) : await plainChunk(message, streams);
    const stamps = streams.stampsOf(id, stream, { from, bytes, startedAt, most: MAX_STAMPS });
    const { sha256, lines } = await readThrough(body, message.counted === true);
    const stamped = stamps === undefined ? "" : `&stamps=${stamps.join(".")}`;
    const counted = lines === undefined ? "" : `&lines=${lines}`;
    const url = `${message.url}/${encodeURIComponent(id)}/${stream}?offset=${from}${stamped}${counted}`;
    const signal = AbortSignal.timeout(CHUNK_TIMEOUT_MS);
    const stored = storedIn(await plane.put(url, "log", { ...body, sha256 }, signal));
    return { type: "chunk_stored", id, stream, stored };
  } catch (error) {
    const { isFinal: refused = false, retryAfterMs } = error instanceof Refusal ? error : {};
    if (refused)
      say(`a chunk of ${stream} of ${id} is refused, so it goes into reports: ${errorText(error)}`);
    return { type: "chunk_failed", id, stream, random: Math.random(), refused, retryAfterMs };
  }
}

/** The digest of a chunk (base64), and if `counts` the number of its newlines, in one reading. */
async function readThrough(
  body: Bytes,
  counts: boolean,
): Promise<{ sha256: string; lines: number | undefined }> {
  const hash = createHash("sha256");
  let lines = 0;
  for await (const part of body.open()) {
    hash.update(part);
    if (counts) lines += newlinesIn(part);
  }
  return { sha256: hash.digest("base64"), lines: counts ? lines : undefined };
}

/** The bytes of a chunk as they are in the file. The file is read twice: for the digest, and to be sent. */
async function plainChunk(
  { id, stream, from, bytes }: MessageOf<"ship_log">,
  streams: Streams,
): Promise<Bytes> {
  const file = streams.fileOf(id, stream);
  const { size } = await stat(file);
  if (size < from + bytes) throw shorter(id, stream);
  const end = from + bytes - 1;
  return {
    bytes,
    open: () => createReadStream(file, { start: from, end, highWaterMark: SENT_AT_ONCE_BYTES }),
  };
}

/**
 * The bytes of a chunk with secrets masked. Masking costs time, so the bytes stay in memory for both
 * readings.
 */
function maskedChunk({ id, stream, from, bytes }: MessageOf<"ship_log">, streams: Streams): Bytes {
  const content = streams.read(id, stream, from, bytes);
  if (content.length < bytes) throw shorter(id, stream);
  const parts = Array.from({ length: Math.ceil(bytes / SENT_AT_ONCE_BYTES) }, (_, index) =>
    content.subarray(index * SENT_AT_ONCE_BYTES, (index + 1) * SENT_AT_ONCE_BYTES),
  );
  return { bytes, open: () => Readable.from(parts) };
}

/** The error for a file that a task has truncated: the announced length must be true. */
function shorter(id: string, stream: string): Error {
  return new Error(`${stream} of ${id} has become shorter`);
}

function storedIn(answer: unknown): number {
  const { stored } = membersOf(answer);
  if (typeof stored === "number" && Number.isSafeInteger(stored) && stored >= 0) return stored;
  throw new Error("The answer to a chunk of a log is incomplete: is this the control plane?");
}
