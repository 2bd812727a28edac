// How is one chunk of a large log uploaded, and which event does the answer become?

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { Millis } from "../../src/shared/machine.ts";
import { errorText } from "../../src/shared/words.ts";
import { SENT_AT_ONCE_BYTES } from "../core/bounds.ts";
import type { HostEvent } from "../core/events.ts";
import type { MessageOf } from "../core/messages.ts";
import { say } from "../say.ts";
import { type ControlPlane, membersOf, Refusal } from "./control-plane.ts";

/** A chunk without an answer after this time has failed. */
const CHUNK_TIMEOUT_MS: Millis = 60_000;

/** Uploads one chunk of a log and returns the answer as the event to apply. Never rejects. */
export async function shipLog(
  plane: ControlPlane,
  message: MessageOf<"ship_log">,
  file: string,
): Promise<HostEvent> {
  const { id, stream, from, bytes } = message;
  try {
    // The announced length must be true, but a task can truncate its file.
    const { size } = await stat(file);
    if (size < from + bytes) throw new Error(`${stream} of ${id} has become shorter`);
    const url = `${message.url}/${encodeURIComponent(id)}/${stream}?offset=${from}`;
    const end = from + bytes - 1;
    const open = () => createReadStream(file, { start: from, end, highWaterMark: SENT_AT_ONCE_BYTES });
    const signal = AbortSignal.timeout(CHUNK_TIMEOUT_MS);
    const stored = storedIn(await plane.put(url, "log", { bytes, open }, signal));
    return { type: "chunk_stored", id, stream, stored };
  } catch (error) {
    const { isFinal: refused = false, retryAfterMs } = error instanceof Refusal ? error : {};
    if (refused)
      say(`a chunk of ${stream} of ${id} is refused, so it goes into reports: ${errorText(error)}`);
    return { type: "chunk_failed", id, stream, random: Math.random(), refused, retryAfterMs };
  }
}

function storedIn(answer: unknown): number {
  const { stored } = membersOf(answer);
  if (typeof stored === "number" && Number.isSafeInteger(stored) && stored >= 0) return stored;
  throw new Error("The answer to a chunk of a log is incomplete: is this the control plane?");
}
