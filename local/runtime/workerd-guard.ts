import { chmodSync } from "node:fs";
import { writeAtomically } from "../../posix/files.ts";
import { quoteArgv } from "../../src/shared/shell-words.ts";
import { ENTRY } from "./entry.ts";

/**
 * Writes the program that is started in the place of workerd, and makes it executable.
 *
 * Miniflare ends workerd when it is told to; a Node process that dies by SIGKILL cannot, and workerd would
 * stay and go on firing alarms on the same state (platform.md#local-crashes). So a watcher waits at the other
 * end of workerd's control pipe, on which Node never says anything: it ends at the moment in which Node does,
 * however that happens. The watcher is workerd's child (`exec` keeps the pid), so as long as its parent is
 * still that pid, that pid is still workerd.
 *
 * Miniflare's entry, for which it knows only ports, is moved to a socket below the state directory
 * (`entry.ts`).
 *
 * SIGINT is ignored: on a terminal Ctrl-C reaches the whole foreground group, and who stops workerd is
 * `drover up`.
 */
export function writeGuard(path: string, workerd: string): void {
  writeAtomically(
    path,
    `#!/bin/sh
trap '' INT
(
  exec <&- >/dev/null 2>&1
  read -r _ <&3
  read -r _ _ _ parent _ </proc/self/stat
  [ "$parent" = "$$" ] && kill -9 "$$"
) &
cd "$(dirname "$0")" && rm -f ${ENTRY} || exit 1
exec ${quoteArgv([workerd])} "$@" --socket-addr=entry=unix:${ENTRY}
`,
  );
  chmodSync(path, 0o700);
}
