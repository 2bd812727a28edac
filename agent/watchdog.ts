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
import script from "./watchdog.sh";

/** Names the watchdog of a state directory by pid and start time, as `agent.lock` names the agent. */
const NAME = "watchdog.lock";

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
      child = spawn("/bin/sh", ["-c", script, "drover-watchdog", ...args], {
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
