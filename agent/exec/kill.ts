import { setTimeout as sleep } from "node:timers/promises";
import type { Instant, Millis } from "../../src/core/machine.ts";
import { errorCode } from "../files.ts";
import { findTree, type Proc, type TreeQuery } from "./processes.ts";

/** Between two looks at a tree that is being killed: at first, doubling to the last. */
const FIRST_LOOK_MS: Millis = 2;
const LAST_LOOK_MS: Millis = 500;

/** `left`: what lives on after all. */
export interface KillOutcome {
  killed: boolean;
  left: Proc[];
}

/**
 * Sends SIGKILL to all of a tree until it is empty or `waitMs` are over. Its processes can fork while they
 * are being killed, so it looks again until there is nothing to be seen.
 */
export async function killTree(query: TreeQuery, waitMs: Millis, now: () => Instant): Promise<KillOutcome> {
  const until = now() + waitMs;
  let killed = false;
  for (let lookMs = FIRST_LOOK_MS; ; lookMs = Math.min(LAST_LOOK_MS, lookMs * 2)) {
    const left = findTree(query);
    if (left.length === 0) return { killed, left };
    killed = true;
    for (const { pid } of left) sendSignal(pid, "SIGKILL");
    if (now() >= until) return { killed, left };
    await sleep(lookMs);
  }
}

/**
 * Signals a process. One that is gone, or that this user may not signal, changes nothing: a look will tell.
 */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (errorCode(error) !== "ESRCH" && errorCode(error) !== "EPERM") throw error;
  }
}
