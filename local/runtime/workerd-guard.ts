// What ends workerd when `drover up` is killed?
import { chmodSync } from "node:fs";
import { writeAtomically } from "../../disk/atomic.ts";
import { quoteArgv } from "../../src/shared/shell-words.ts";
import { ENTRY } from "./entry.ts";

/**
 * Writes the program that runs in place of workerd, and makes it executable.
 *
 * Normally Miniflare ends workerd. A Node process that dies by SIGKILL cannot do that, and workerd would
 * continue to fire alarms on the same state (platform.md#local-crashes). So a watcher reads workerd's control
 * pipe, to which Node never writes: the pipe ends when Node ends, however that happens. The watcher is a
 * child of workerd (`exec` keeps the pid), so the pid still belongs to workerd while the watcher's parent has
 * it.
 *
 * Miniflare can serve its entry only at a port. The guard moves it to a socket in the state directory
 * (`entry.ts`).
 *
 * SIGINT is ignored: on a terminal Ctrl-C reaches the whole foreground group, but only `drover up` ends
 * workerd.
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
