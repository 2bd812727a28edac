// Has a command begun whose start an agent has not survived? If not, it never will (see `shim.sh`).
import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { readIfThere } from "../../../posix/files.ts";

/**
 * Takes back a start during which the agent died. True if the command never began and never will: the shim
 * first writes its identity to the file `exit`, and then ends if its folder is gone. If true, nothing of the
 * folder is left. `away`: a place for the folder on the same file system.
 */
export function retractStart(folder: string, exit: string, away: string): boolean {
  rmSync(away, { recursive: true, force: true });
  renameSync(folder, away);
  return !putBack(folder, exit, away);
}

/**
 * Puts a folder back whose command has begun, and deletes any other: also if the agent died while it took the
 * start back. True: the command has begun.
 */
export function putBack(folder: string, exit: string, away: string): boolean {
  const hasBegun = (readIfThere(join(away, exit)) ?? "") !== "";
  if (hasBegun && !existsSync(folder)) renameSync(away, folder);
  else rmSync(away, { recursive: true, force: true });
  return hasBegun;
}
