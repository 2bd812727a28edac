import { readdirSync, readFileSync } from "node:fs";

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

/** How to know the processes of one attempt. */
export interface TreeQuery {
  /** Entries that all of its processes have in their environment, unless they have changed it. */
  markers: string[];
  /** Its shim, if it is known: leader of its session. It is not part of the tree. */
  shim?: Proc | undefined;
}

/** Scans in a row without a fork in between that are tried for before an answer is believed anyway. */
const QUIET_SCANS = 8;

/**
 * Reads one process; undefined if it is gone, or a zombie, which process 1 may reap late (`architecture.md`
 * §10). A process whose first thread has ended looks like a zombie too, but has other threads.
 */
export function readProc(pid: number): Proc | undefined {
  const stat = readProcFile(pid, "stat");
  // The name of the program stands in parentheses and may contain any character, parentheses too.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, ppid, , session] = fields;
  const ended = (state === "Z" || state === "X") && Number(fields[17]) <= 1;
  if (state === undefined || state === "" || ended) return undefined;
  return { pid, ppid: Number(ppid), session: Number(session), startTime: Number(fields[19]) };
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
    found = scanTree(query);
    // A child forked meanwhile can be missed if its parent ended before it was looked at. No fork, no doubt.
    if (found.length > 0 || lastPid() === before) return found;
  }
  return found;
}

function scanTree({ markers, shim }: TreeQuery): Proc[] {
  const all = listProcs();
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

/** The living children of a process. */
export function childrenOf(pid: number): Proc[] {
  return listProcs().filter((proc) => proc.ppid === pid);
}

function listProcs(): Proc[] {
  const procs: Proc[] = [];
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    const proc = Number.isInteger(pid) && pid !== process.pid ? readProc(pid) : undefined;
    if (proc !== undefined) procs.push(proc);
  }
  return procs;
}

function hasMarkers(pid: number, markers: string[]): boolean {
  const entries = `\0${readProcFile(pid, "environ")}\0`;
  return markers.every((marker) => entries.includes(`\0${marker}\0`));
}

/** The pid that was given out last: it changes with every fork. */
function lastPid(): string {
  return readFileSync("/proc/loadavg", "utf8").trim().split(" ").at(-1) ?? "";
}

/** Empty if the process is gone, or is none of ours to look into. */
function readProcFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return "";
  }
}
