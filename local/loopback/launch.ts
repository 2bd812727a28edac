import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { closeSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openFilesLimit } from "../../posix/open-files.ts";
import type { CreateInstance } from "../../src/schema/provider.ts";
import { MARK } from "./marks.ts";

/**
 * Enters the cgroup before anything of the user data runs, so that nothing can be born outside of it. Where
 * that is refused the instance runs all the same: it is ended by its mark.
 */
const ENTER_AND_RUN = '{ echo $$ >"$1"; } 2>/dev/null; ulimit -S -n "$3" 2>/dev/null; exec /bin/sh "$2"';

/**
 * Boots an instance: the user data, run by `sh` as the leader of a new session in a directory of its own,
 * with nothing of our environment but the PATH, and with as many open files as `drover up` was given.
 * `awakeFile`: by it the agent knows when it has slept with us. What it prints is the console of the
 * machine, `console.log`.
 */
export function launch(
  dir: string,
  request: CreateInstance,
  cgroup: string | undefined,
  awakeFile: string,
): ChildProcess {
  const temporary = join(dir, "tmp");
  mkdirSync(temporary, { recursive: true, mode: 0o700 });
  const userData = join(dir, "user-data");
  writeFileSync(userData, request.userData, { mode: 0o600 });
  const consoleLog = openSync(join(dir, "console.log"), "a", 0o600);
  try {
    const limit = String(openFilesLimit());
    const entrance = cgroup === undefined ? "/dev/null" : join(cgroup, "cgroup.procs");
    return spawn("/bin/sh", ["-c", ENTER_AND_RUN, "sh", entrance, userData, limit], {
      cwd: dir,
      detached: true,
      stdio: ["ignore", consoleLog, consoleLog],
      env: {
        PATH: process.env.PATH,
        HOME: dir,
        LANG: "C.UTF-8",
        TMPDIR: temporary,
        [MARK]: dir,
        DROVER_STATE_DIR: join(dir, "agent"),
        DROVER_RESOURCES: JSON.stringify(request.resources),
        DROVER_BOOT_ID: randomUUID(),
        DROVER_AWAKE_FILE: awakeFile,
      },
    });
  } finally {
    closeSync(consoleLog);
  }
}
