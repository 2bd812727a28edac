import { readdirSync, readFileSync } from "node:fs";
import { isStarved } from "../../disk/starved.ts";

/** A process as the kernel lists it (`man 5 proc`). */
export interface ProcessInfo {
  pid: number;
  parent: number;
  session: number;
  /** Ended, but not yet collected by its parent: it runs nothing and holds nothing. */
  zombie: boolean;
  /** Clock ticks from the boot of the kernel to its start. With the pid it names one process for ever. */
  startTicks: number;
}

/** Which process it was: a pid alone is given to others again. */
export interface ProcessIdentity {
  pid: number;
  startTicks: number;
}

/** Reads one process; undefined if there is none with this pid (any more). */
export function readProcess(pid: number): ProcessInfo | undefined {
  const stat = readOrNothing(`/proc/${pid}/stat`);
  // The second field is the name in parentheses, and may itself contain spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields.length < 20) return undefined;
  return {
    pid,
    parent: Number(fields[1]),
    session: Number(fields[3]),
    zombie: fields[0] === "Z" || fields[0] === "X",
    startTicks: Number(fields[19]),
  };
}

/** All processes of this machine at about this moment. */
export function listProcesses(): ProcessInfo[] {
  const found: ProcessInfo[] = [];
  for (const name of readdirSync("/proc")) {
    const process = /^\d+$/.test(name) ? readProcess(Number(name)) : undefined;
    if (process !== undefined) found.push(process);
  }
  return found;
}

/** The environment that a process was started with, as `NAME=value`; empty if it may not be read. */
export function environmentOf(pid: number): string[] {
  return readOrNothing(`/proc/${pid}/environ`).split("\0");
}

/** Whether this very process, and not a later one with its pid, is still running. */
export function isAlive(identity: ProcessIdentity): boolean {
  const process = readProcess(identity.pid);
  return process !== undefined && !process.zombie && process.startTicks === identity.startTicks;
}

/**
 * Processes come and go while they are read: what is gone, or belongs to others, reads as nothing. Throws if
 * this process may open no file: nobody is dead for that.
 */
function readOrNothing(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (isStarved(error)) throw error;
    return "";
  }
}
