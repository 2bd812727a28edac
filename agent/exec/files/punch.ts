// How is the disk space of stored log bytes given back while the log is still being written?
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { errorText } from "../../../src/shared/words.ts";
import type { HostEvent } from "../../core/events.ts";
import type { MessageOf } from "../../core/messages.ts";
import { say } from "../../say.ts";

const run = promisify(execFile);

/**
 * Punches a hole into the file of a log (`fallocate(2)`), which frees disk space: all other bytes keep their
 * offsets, and output that is appended meanwhile is kept. `punch_failed` if this machine cannot do that.
 */
export async function punchLog(
  { id, stream, from, end }: MessageOf<"punch">,
  file: string,
): Promise<HostEvent> {
  const punched: HostEvent = { type: "punched", id, stream, from, end };
  if (!existsSync(file)) return punched;
  try {
    await freeSpace(file, from, end);
    return punched;
  } catch (error) {
    say(`cannot free the disk space of stored logs, and keeps them whole: ${errorText(error)}`);
    return { type: "punch_failed" };
  }
}

/** Gives back the disk space of a part of a file, whose other bytes keep their offsets. */
export async function freeSpace(file: string, from: number, end: number): Promise<void> {
  await run("fallocate", ["--punch-hole", "--offset", `${from}`, "--length", `${end - from}`, file]);
}
