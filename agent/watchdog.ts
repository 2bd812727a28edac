// How is the watchdog of the lease started?
import { join } from "node:path";
import { replaceFile } from "../disk/atomic.ts";
import { readIfThere } from "../posix/files.ts";
import { lives, parseStat } from "../posix/proc.ts";
import type { Millis } from "../src/shared/machine.ts";
import { errorText } from "../src/shared/words.ts";
import { WATCHDOG_LEAD_MS } from "./core/bounds.ts";
import { baseEnvironment } from "./exec/environment.ts";
import { spawnScript } from "./exec/shims/spawn.ts";
import { say } from "./say.ts";
import script from "./watchdog.sh";

/**
 * How long before the end of the lease the watchdog acts if the agent seems to run. Unless the agent hangs,
 * it has ended its attempts long before.
 */
export const WATCHDOG_LAST_LEAD_MS: Millis = 20_000;
/**
 * If only this much of the lease is left, the watchdog kills without Node, because Node takes time to start.
 */
export const WATCHDOG_BARE_LEAD_MS: Millis = 15_000;
/** How often the watchdog checks the lease: several times within each lead. */
export const WATCHDOG_LOOK_MS: Millis = 2_000;

/** A file with the pid and start time of the watchdog, like `agent.lock` for the agent. */
const NAME = "watchdog.lock";

export interface WatchdogOptions {
  stateDir: string;
  /**
   * The command that ends all attempts of this host. Its exit status is 0 if none of their processes lives.
   */
  endLease: string[];
  /**
   * Environment variables that mark every process of this host, so that the watchdog ends with its machine.
   */
  marks: Record<string, string | undefined>;
  powerOff: string | undefined;
}

/**
 * Starts the watchdog of the lease unless a watchdog lives for this state directory (rule R4). The watchdog
 * is a shell in its own session, outside the tasks' cgroups, and outlives the agent. Without it, the tasks of
 * a killed agent would run on after the end of the lease. A failure is only logged, because the agent obeys
 * the lease, too.
 */
export function ensureWatchdog({ stateDir, endLease, marks, powerOff = "" }: WatchdogOptions): void {
  try {
    const lockFile = join(stateDir, NAME);
    const running = parseStat(readIfThere(lockFile) ?? "");
    if (running !== undefined && lives(running)) return;
    const seconds = [WATCHDOG_LOOK_MS, WATCHDOG_LEAD_MS, WATCHDOG_LAST_LEAD_MS, WATCHDOG_BARE_LEAD_MS];
    const args = [stateDir, ...seconds.map((ms) => String(ms / 1_000)), powerOff, ...endLease];
    const log = join(stateDir, "watchdog.log");
    const env = { ...baseEnvironment(), ...marks };
    const child = spawnScript(script, ["drover-watchdog", ...args], env, ["/dev/null", log, log]);
    child.once("error", (error) => say(`cannot start the watchdog of its lease: ${errorText(error)}`));
    child.unref();
    if (child.pid !== undefined) replaceFile(lockFile, readIfThere(`/proc/${child.pid}/stat`) ?? "");
  } catch (error) {
    say(`cannot start the watchdog of its lease: ${errorText(error)}`);
  }
}
