import { readdirSync, readFileSync } from "node:fs";
import { uptime } from "node:os";
import { isStarved } from "../../../disk/starved.ts";

/** One process as the system shows it. */
export interface Proc {
  pid: number;
  ppid: number;
  session: number;
  /**
   * When it was started, in the system's own units since boot. Together with the pid it names a process for
   * good.
   */
  startTime: number;
}

/** A process as it was when it was looked at. `ended`: it waits to be waited for. */
export type Look = Proc & { ended: boolean };

/** How to know the processes of one attempt. */
export interface TreeQuery {
  /** Entries that all of its processes have in their environment, unless they have changed it. */
  markers: string[];
  /** Its shim, if it is known: leader of its session. It is not part of the tree. */
  shim?: Proc | undefined;
}

/** Units of `startTime` in a second: Linux shows it in hundredths on every machine. */
const TICKS_PER_SECOND = 100;
/** In less than this a machine cannot have given out all of its pids, of which there are 32,768 at least. */
const NO_WRAP_SECONDS = 1;
/** Up to so many pids it is cheaper to try each one than to list what there is. */
const FEW_PIDS = 256;

/** Scans in a row without a fork in between that are tried for before an answer is believed anyway. */
const QUIET_SCANS = 8;

/** Reads one process, as long as it has not been waited for; undefined if there is none. */
export function readProc(pid: number): Look | undefined {
  return parseStat(readProcFile(pid, "stat"));
}

/** Whether this very process lives: not one that has its number by now. */
export function lives(proc: Proc): boolean {
  const look = readProc(proc.pid);
  return look !== undefined && !look.ended && look.startTime === proc.startTime;
}

/** Reads a line as `/proc/<pid>/stat` has it (`proc_pid_stat(5)`); undefined if it is none. */
export function parseStat(stat: string): Look | undefined {
  // The name of the program stands in parentheses and may contain any character, parentheses too.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, ppid, , session] = fields;
  if (state === undefined || state === "") return undefined;
  // One whose first thread has ended looks like a zombie, but has other threads.
  const ended = (state === "Z" || state === "X") && Number(fields[17]) <= 1;
  const [pid, startTime] = [Number.parseInt(stat, 10), Number(fields[19])];
  if (!(pid > 0) || !(startTime >= 0)) return undefined;
  return { pid, ppid: Number(ppid), session: Number(session), startTime, ended };
}

/**
 * Reads one process that lives: zombies do not, and process 1 may reap late
 * (tools.md#processes-and-cgroups).
 */
function readLiving(pid: number): Proc[] {
  const proc = readProc(pid);
  return proc === undefined || proc.ended ? [] : [proc];
}

/**
 * All living processes of an attempt but its shim: those with its markers, those of its session, and
 * whatever descends from one of them. So a child that has forked twice and left its session is found by its
 * environment, one that has cleaned its environment by its session or its parent; only one that has done
 * all of it escapes.
 */
export function findTree(query: TreeQuery): Proc[] {
  let found: Proc[] = [];
  for (let scan = 0; scan < QUIET_SCANS; scan += 1) {
    const before = lastPid();
    found = treeAmong(candidates(query.shim, before).flatMap(readLiving), query);
    // A child forked meanwhile can be missed if its parent ended before it was looked at. No fork, no doubt.
    if (found.length > 0 || lastPid() === before) return found;
  }
  return found;
}

function treeAmong(all: Proc[], { markers, shim }: TreeQuery): Proc[] {
  const tree = new Map<number, Proc>();
  // As long as one process of a session lives, its number names no other: unless somebody else has it by now.
  const holder = shim === undefined ? undefined : all.find(({ pid }) => pid === shim.pid);
  const shimLives = holder !== undefined && holder.startTime === shim?.startTime;
  const session = holder === undefined || shimLives ? shim?.pid : undefined;
  for (const proc of all) {
    const young = proc.startTime >= (shim?.startTime ?? 0);
    if (young && (proc.session === session || hasMarkers(proc.pid, markers))) tree.set(proc.pid, proc);
  }
  for (let size = -1; size !== tree.size; ) {
    size = tree.size;
    for (const proc of all) if (tree.has(proc.ppid)) tree.set(proc.pid, proc);
  }
  if (shimLives) tree.delete(holder.pid);
  return [...tree.values()];
}

/**
 * The pids that a process of this tree can have. Pids are given out in order, so just after its start these
 * are the few from the shim's up to the last one: a look at a short command does not read the whole
 * machine.
 */
function candidates(shim: Proc | undefined, last: number): number[] {
  const ageSeconds = shim === undefined ? Infinity : uptime() - shim.startTime / TICKS_PER_SECOND;
  const count = shim === undefined ? 0 : last - shim.pid + 1;
  // In some containers the uptime is their own and says nothing of the age: it is far off then, either way.
  const fresh = Math.abs(ageSeconds) <= NO_WRAP_SECONDS;
  if (shim === undefined || !fresh || count < 1 || count > FEW_PIDS) return allPids();
  return Array.from({ length: count }, (_, index) => shim.pid + index);
}

function allPids(): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid !== process.pid);
}

/** The living children of a process. */
export function childrenOf(pid: number): Proc[] {
  return allPids()
    .flatMap(readLiving)
    .filter(({ ppid }) => ppid === pid);
}

function hasMarkers(pid: number, markers: string[]): boolean {
  const entries = `\0${readProcFile(pid, "environ")}\0`;
  return markers.every((marker) => entries.includes(`\0${marker}\0`));
}

/** The pid that was given out last: it changes with every fork. */
function lastPid(): number {
  return Number(readFileSync("/proc/loadavg", "utf8").trim().split(" ").at(-1));
}

/**
 * Empty if the process is gone, or is none of ours to look into. Throws if this process may open no file:
 * nobody is dead for that.
 */
function readProcFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch (error) {
    if (isStarved(error)) throw error;
    return "";
  }
}
