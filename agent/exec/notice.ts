// Is this machine about to be taken away?
import { join } from "node:path";
import { tryReadText } from "../../posix/files.ts";
import { runBootProbe } from "./boot-probe.ts";

/** A file with which an operator can announce that the machine will go away: its text is the notice. */
const NOTICE_FILE = "draining";

/**
 * Looks for a notice: the text of the file in `stateDir`, or else the output of the command that asks the
 * provider. Null: there is none. Undefined: the command has failed, so nothing is known.
 */
export async function lookForNotice(
  stateDir: string,
  command: string | undefined,
  instance: string | undefined,
): Promise<string | null | undefined> {
  const text = tryReadText(join(stateDir, NOTICE_FILE));
  // An empty file is a notice, too.
  if (text !== undefined) return text.trim() || "an operator at the machine";
  if (command === undefined) return null;
  const { ok, output } = await runBootProbe(command, join(stateDir, "notice.log"), instance);
  if (!ok) return undefined;
  return output.trim() === "" ? null : output;
}
