// What does the kernel say of a process?
import { readdirSync, readFileSync } from "node:fs";
import { errorCode, isStarved } from "./errors.ts";

/** Names one process for good: a pid alone is given out again. */
export interface ProcId {
  pid: number;
  /** In the kernel's own units since boot. */
  startTime: number;
}

/** A process as it was when it was looked at (`proc_pid_stat(5)`). */
export interface Proc extends ProcId {
  ppid: number;
  session: number;
  /** It runs nothing any more, and waits for its parent to collect it. */
  ended: boolean;
}

/** Reads one process, as long as it has not been collected; undefined if there is none. */
export function readProc(pid: number): Proc | undefined {
  return parseStat(readProcFile(pid, "stat"));
}

/** Whether this very process lives, and not a later one with its pid. Zombies do not. */
export function lives({ pid, startTime }: ProcId): boolean {
  const proc = readProc(pid);
  return proc !== undefined && !proc.ended && proc.startTime === startTime;
}

/** Reads a line as `/proc/<pid>/stat` has it; undefined if it is none. */
export function parseStat(stat: string): Proc | undefined {
  // The name of the program stands in parentheses and may contain any character, parentheses too.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, ppid, , session] = fields;
  const [pid, startTime] = [Number.parseInt(stat, 10), Number(fields[19])];
  if (!(pid > 0) || !(startTime >= 0)) return undefined;
  // One whose first thread has ended looks like a zombie, but its other threads run.
  const ended = (state === "Z" || state === "X") && Number(fields[17]) <= 1;
  return { pid, ppid: Number(ppid), session: Number(session), startTime, ended };
}

/** All pids of this machine at about this moment. */
export function listPids(): number[] {
  return readdirSync("/proc").map(Number).filter(Number.isInteger);
}

/** All processes of this machine at about this moment, zombies too. */
export function listProcs(): Proc[] {
  return readProcs(listPids());
}

/** Those of these processes that there are. */
export function readProcs(pids: number[]): Proc[] {
  return pids.flatMap((pid) => readProc(pid) ?? []);
}

/** The living children of a process. */
export function childrenOf(pid: number): Proc[] {
  return listProcs().filter(({ ppid, ended }) => ppid === pid && !ended);
}

/** The environment that a process was started with, as `NAME=value`; empty if it may not be read. */
export function environmentOf(pid: number): string[] {
  return readProcFile(pid, "environ").split("\0");
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

/**
 * Empty if the process is gone, or is another user's. Throws if this process may open no file: nobody is dead
 * for that.
 */
function readProcFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch (error) {
    if (isStarved(error)) throw error;
    return "";
  }
}
