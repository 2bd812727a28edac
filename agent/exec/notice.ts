import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runBootProbe } from "./boot-probe.ts";

/** Where whoever works on the machine can say that it is about to go: its text is the notice. */
const NOTICE_FILE = "draining";

/** How a host hears of its machine's near end. `command`: what asks the provider, where one is given. */
export interface NoticeSource {
  stateDir: string;
  command: string | undefined;
  instance: string | undefined;
}

/**
 * Looks for a notice: the text of a file, or else what the provider's command prints. Returns null if there
 * is none, and undefined if the command has failed: then nobody knows.
 */
export async function lookForNotice(source: NoticeSource): Promise<string | null | undefined> {
  const { stateDir, command, instance } = source;
  const written = readNoticeFile(join(stateDir, NOTICE_FILE));
  if (written !== null || command === undefined) return written;
  const { ok, output } = await runBootProbe(command, join(stateDir, "notice.log"), instance);
  if (!ok) return undefined;
  return output.trim() === "" ? null : output;
}

/** A file that is there says something, though it be empty. */
function readNoticeFile(file: string): string | null {
  try {
    return readFileSync(file, "utf8").trim() || "an operator at the machine";
  } catch {
    return null;
  }
}
