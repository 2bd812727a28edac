import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { readIfThere, replaceFile } from "../posix/files.ts";
import { lives, parseStat } from "../posix/proc.ts";
import type { Millis } from "../src/shared/machine.ts";
import { errorText } from "../src/shared/words.ts";
import {
  WATCHDOG_BARE_LEAD_MS,
  WATCHDOG_LAST_LEAD_MS,
  WATCHDOG_LEAD_MS,
  WATCHDOG_LOOK_MS,
} from "./core/bounds.ts";
import { baseEnvironment } from "./exec/environment.ts";
import { say } from "./say.ts";

/**
 * Seconds that are a sleep if nothing was looked at for longer, and for which the agent has the first word
 * then.
 */
const WATCHDOG_ASLEEP_S = 8;

/** Names the watchdog of a state directory by pid and start time, as `agent.lock` names the agent. */
const NAME = "watchdog.lock";

/**
 * Looks every few seconds how much of the lease is left. Near its end it runs "$@", which ends all attempts
 * as the agent would; if that fails to the last it does it itself, as well as a shell can.
 *
 * - `$1` is the state directory, `$2` the pause in seconds, `$3` to `$5` the seconds before the end of the
 *   lease at which it acts for an agent that is dead or stopped, for one that seems to run, and without
 *   Node; `$6` is the command that ends the machine, or nothing.
 * - The times are those of `/proc/uptime`, which the agent's clock counts by: it goes on in sleep.
 * - It ends when the file with its name names another one, or is gone; or when the agent is dead and nothing
 *   is left to guard. Until then it does its work once for each end of a lease: an agent that lives ends by
 *   itself whatever it starts later.
 */
const SCRIPT = `state=$1 pause=$2 dead=$3 last=$4 bare=$5 power_off=$6
shift 6
stat() { read -r pid _ run _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ start _ <"$1"; } 2>/dev/null
see_agent() {
  agent=dead
  stat "$state/agent.lock" || return
  named="$pid $start"
  stat "/proc/$pid/stat" || return
  [ "$pid $start" = "$named" ] || return
  case $run in Z | X) ;; T | t) agent=stopped ;; *) agent=runs ;; esac
}
see_lease() {
  text=
  read -r text <"$state/lease.json"
  until=\${text#*\\"until\\":}
  until=\${until%%[!0-9]*}
  [ -n "$until" ] || return
  read -r now _ </proc/uptime
  left=$((until / 1000 - \${now%.*}))
} 2>/dev/null
kill_bare() {
  seen=
  for file in "$state"/groups/*.json; do
    [ -e "$file" ] && rest=$(cat "$file") || continue
    while path=\${rest#*\\"path\\":\\"} && [ "$path" != "$rest" ]; do
      rest=$path path=\${path%%\\"*}
      for pid in $(cat "$path/cgroup.procs"); do seen=1; kill -9 "$pid"; done
      [ ! -e "$path/cgroup.kill" ] || echo 1 >"$path/cgroup.kill"
    done
  done
  for folder in /proc/[0-9]*; do
    tr '\\0' '\\n' <"$folder/environ" | grep -qF "DROVER_TASK_DIR=$state/" || continue
    seen=1
    kill -9 "\${folder#/proc/}"
  done
  [ -z "$seen" ]
} 2>/dev/null
ended=
while sleep "$pause"; do
  stat "$state/${NAME}" && [ "$pid" = "$$" ] || exit
  see_agent
  if ! see_lease; then
    [ "$agent" != dead ] || exit
    continue
  fi
  # After a sleep of the machine an agent that lives comes first: it may renew the lease.
  now=\${now%.*}
  [ "$((now - \${seen:-$now}))" -le ${WATCHDOG_ASLEEP_S} ] || patience=$((now + ${WATCHDOG_ASLEEP_S}))
  seen=$now
  [ "$agent" != runs ] || [ "$seen" -ge "\${patience:-0}" ] || continue
  lead=$dead
  [ "$agent" != runs ] || lead=$last
  [ "$left" -le "$lead" ] || continue
  if [ "$ended" != "$until" ]; then
    echo "$left s before the end of the lease the agent is $agent (\${now%.*})"
    if "$@" </dev/null; then ended=$until; elif see_lease && [ "$left" -le "$bare" ]; then
      kill_bare && ended=$until
    fi
  fi
  [ "$ended" = "$until" ] || continue
  [ "$agent$power_off" != dead ] || exit
  [ -n "$power_off" ] && [ "$agent" != runs ] && [ "$left" -le 0 ] || continue
  sh -c "$power_off"
  exit
done
`;

/** What the watchdog of a host needs to know. */
export interface WatchdogOptions {
  stateDir: string;
  /** Ends all attempts of this host with proof, or says by its status that it could not. */
  endLease: string[];
  /** What marks every process of this host, so that it ends with its machine. */
  marks: Record<string, string | undefined>;
  powerOff: string | undefined;
}

/**
 * Starts the watchdog of the lease if none lives for this state directory (rule R4): a shell in a session of
 * its own, outside of the tasks' cgroups, that outlives the agent. Without it, what an agent that was killed
 * has left would run on under a lease that is over. Whether it could be started is only said: the agent
 * keeps the lease as well.
 */
export function keepWatchdog({ stateDir, endLease, marks, powerOff = "" }: WatchdogOptions): void {
  try {
    const name = join(stateDir, NAME);
    const known = parseStat(readIfThere(name) ?? "");
    if (known !== undefined && lives(known)) return;
    const set = Object.entries(marks).filter((mark): mark is [string, string] => mark[1] !== undefined);
    const seconds = [WATCHDOG_LOOK_MS, WATCHDOG_LEAD_MS, WATCHDOG_LAST_LEAD_MS, WATCHDOG_BARE_LEAD_MS];
    const args = [stateDir, ...seconds.map(inSeconds), powerOff, ...endLease];
    const log = openSync(join(stateDir, "watchdog.log"), "a", 0o600);
    let child: ChildProcess;
    try {
      child = spawn("/bin/sh", ["-c", SCRIPT, "drover-watchdog", ...args], {
        cwd: "/",
        env: { ...baseEnvironment(), ...Object.fromEntries(set) },
        detached: true,
        stdio: ["ignore", log, log],
      });
    } finally {
      closeSync(log);
    }
    child.once("error", (error) => say(`cannot start the watchdog of its lease: ${errorText(error)}`));
    child.unref();
    if (child.pid !== undefined) replaceFile(name, readIfThere(`/proc/${child.pid}/stat`) ?? "");
  } catch (error) {
    say(`cannot start the watchdog of its lease: ${errorText(error)}`);
  }
}

function inSeconds(ms: Millis): string {
  return String(ms / 1_000);
}
