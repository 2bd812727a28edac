// How does an instance of the loopback cloud boot?
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { closeSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openFilesLimit } from "../../posix/open-files.ts";
import type { CreateInstance } from "../../src/schema/provider.ts";
import { consoleLogIn } from "./console-log.ts";
import { MARK } from "./marks.ts";

/**
 * Enters the cgroup before any user data runs, so that no process starts outside of it. If the kernel refuses
 * that, the instance still runs, and its processes are found by their mark.
 */
const ENTER_AND_RUN = '{ echo $$ >"$1"; } 2>/dev/null; ulimit -S -n "$3" 2>/dev/null; exec /bin/sh "$2"';

/**
 * Boots an instance: `sh` runs the user data as the leader of a new session in its own directory, with only
 * the PATH of our environment, and with the limit of open files that `drover up` was given. Its output goes
 * to `console.log`. Through `awakeFile` the agent learns that this machine has slept (`beat.ts`).
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
  const consoleLog = openSync(consoleLogIn(dir), "a", 0o600);
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
        // The hosts share this machine: a plug-in can tell them apart, and `nvidia-smi` is not asked.
        DROVER_DEVICES_PLUGIN: process.env.DROVER_DEVICES_PLUGIN,
        // Absent: the agent looks for podman's socket, and for Docker's (containers.md#engines).
        DROVER_ENGINE: process.env.DROVER_ENGINE,
        // The tests set this to have each step checked (shell.md#assertions).
        DROVER_CHECK_EVERY: process.env.DROVER_CHECK_EVERY,
      },
    });
  } finally {
    closeSync(consoleLog);
  }
}
