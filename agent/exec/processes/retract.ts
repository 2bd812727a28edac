// Has a command begun whose start an agent has not survived? If not, it never will (see `shim.sh`).
import { renameSync, rmSync } from "node:fs";
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
  const hasBegun = (readIfThere(join(away, exit)) ?? "") !== "";
  if (hasBegun) renameSync(away, folder);
  else rmSync(away, { recursive: true, force: true });
  return !hasBegun;
}
