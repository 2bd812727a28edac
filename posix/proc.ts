// What does the kernel say about a process?
import { readdirSync, statSync } from "node:fs";
import { errorCode } from "./errors.ts";
import { isThere, readUnlessGone } from "./files.ts";

/** Identifies one process for good: a pid alone is reused. */
export interface ProcId {
  pid: number;
  /** In the kernel's ticks since boot. */
  startTime: number;
}

/** A process at the moment when it was read (`proc_pid_stat(5)`). */
export interface Proc extends ProcId {
  ppid: number;
  session: number;
  /** A zombie: it has ended, and its parent has not collected it yet. */
  ended: boolean;
}

/** Reads one process, zombies included; undefined if there is none. */
export function readProc(pid: number): Proc | undefined {
  return parseStat(readUnlessGone(`/proc/${pid}/stat`));
}

/** Whether this very process lives, not a later process with the same pid. A zombie counts as dead. */
export function lives({ pid, startTime }: ProcId): boolean {
  const proc = readProc(pid);
  return proc !== undefined && !proc.ended && proc.startTime === startTime;
}

/** Reads a line of `/proc/<pid>/stat`; undefined if the text is not such a line. */
export function parseStat(stat: string): Proc | undefined {
  const fields = statFields(stat);
  const [state, ppid, , session] = fields;
  const [pid, startTime] = [Number.parseInt(stat, 10), Number(fields[19])];
  if (!(pid > 0) || !(startTime >= 0)) return undefined;
  // A process whose first thread has ended looks like a zombie while its other threads run.
  const ended = (state === "Z" || state === "X") && Number(fields[17]) <= 1;
  return { pid, ppid: Number(ppid), session: Number(session), startTime, ended };
}

/** How the kernel schedules a process: its nice value and its policy. Empty: there is none. */
export function schedulingOf(pid: number): string {
  const fields = statFields(readUnlessGone(`/proc/${pid}/stat`));
  return [fields[16], fields[38]].join(" ");
}

/** The fields of such a line from the state on. */
function statFields(stat: string): string[] {
  // The program's name is in parentheses, and may contain any character, even parentheses.
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** All pids of this machine. */
export function listPids(): number[] {
  return readdirSync("/proc").map(Number).filter(Number.isInteger);
}

/** All processes of this machine, zombies included. Not a snapshot: processes come and go meanwhile. */
export function listProcs(): Proc[] {
  return readProcs(listPids());
}

/** Reads the processes with these pids, except those that no longer exist. */
export function readProcs(pids: number[]): Proc[] {
  return pids.flatMap((pid) => (isThere(`/proc/${pid}`) ? (readProc(pid) ?? []) : []));
}

/** The living children of a process. */
export function childrenOf(pid: number): Proc[] {
  return listProcs().filter(({ ppid, ended }) => ppid === pid && !ended);
}

/** The environment that a process was started with, as `NAME=value`; empty if this user may not read it. */
export function environmentOf(pid: number): string[] {
  const text = readUnlessGone(`/proc/${pid}/environ`);
  return text === "" ? [] : text.split("\0");
}

/** In the flags of a thread of the kernel, which has no environment ever. */
const KERNEL_THREAD = 0x0020_0000;

/**
 * Whether a process without an environment may have one soon: it runs, or waits for a disk, as one does that
 * executes another program just then. Never one whose environment this user may not read.
 */
export function mayBeExecuting(pid: number): boolean {
  const fields = statFields(readUnlessGone(`/proc/${pid}/stat`));
  const [state = "", flags] = [fields[0], Number(fields[6])];
  if (!["R", "D"].includes(state) || (flags & KERNEL_THREAD) !== 0) return false;
  const user = process.geteuid?.() ?? 0;
  return user === 0 || statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid === user;
}

/** Signals a process. Does nothing if it is gone, or if this user may not signal it. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (errorCode(error) !== "ESRCH" && errorCode(error) !== "EPERM") throw error;
  }
}
