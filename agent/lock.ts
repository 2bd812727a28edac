import { linkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lives, type Proc, parseStat } from "./exec/processes/processes.ts";
import { errorCode, readIfThere } from "./files.ts";

/** Takes over a lock of the dead this often; another start that is as quick may come between. */
const TRIES = 5;

/**
 * Makes this process the one agent of a state directory. Undefined if it is; else the agent that has it and
 * lives. Two of them would end each other's tasks: the one whose incarnation is older stops all that it
 * holds. The lock names a process by pid and start time, so one that was killed holds nothing. It is for
 * the second start by accident; two that begin in the same instant are told apart by their incarnations.
 */
export function lockState(stateDir: string): Proc | undefined {
  const file = join(stateDir, "agent.lock");
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, readIfThere("/proc/self/stat") ?? "", { mode: 0o600 });
  try {
    for (let tries = 0; tries < TRIES; tries += 1) {
      try {
        linkSync(draft, file);
        return undefined;
      } catch (error) {
        if (errorCode(error) !== "EEXIST") throw error;
      }
      const holder = parseStat(readIfThere(file) ?? "");
      if (holder !== undefined && lives(holder)) return holder;
      rmSync(file, { force: true });
    }
    throw new Error(`Other agents that start at the same time keep taking ${file}.`);
  } finally {
    rmSync(draft, { force: true });
  }
}
