// How the disk space of stored log bytes is given back while the log is still written.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { errorText } from "../../../src/shared/words.ts";
import type { HostEvent } from "../../core/events.ts";
import type { HostMessage } from "../../core/messages.ts";
import { say } from "../../say.ts";

const run = promisify(execFile);

/**
 * Gives the disk under a part of a log back, by a hole in its file (`fallocate(2)`): all other bytes keep
 * their offsets, and whatever is appended at the same time stays. Where the tool or the file system cannot,
 * it says so.
 */
export async function punchLog(
  { id, stream, from, end }: Extract<HostMessage, { kind: "punch" }>,
  file: string,
): Promise<HostEvent> {
  const punched: HostEvent = { type: "punched", id, stream, from, end };
  if (!existsSync(file)) return punched;
  try {
    await run("fallocate", ["--punch-hole", "--offset", `${from}`, "--length", `${end - from}`, file]);
    return punched;
  } catch (error) {
    say(`cannot give back the disk under logs that are stored, and keeps them whole: ${errorText(error)}`);
    return { type: "punch_failed" };
  }
}
