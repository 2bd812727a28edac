// Which processes belong to one tree, such as all processes of an attempt?
import { readFileSync } from "node:fs";
import { uptime } from "node:os";
import type { Millis } from "../src/shared/machine.ts";
import { environmentOf, listPids, mayBeExecuting, type Proc, type ProcId, readProcs } from "./proc.ts";

/** How the processes of a tree are recognized. */
export interface TreeQuery {
  /** Whether a process with this environment (`NAME=value`) belongs to the tree. */
  isMarked(environment: string[]): boolean;
  /** The first process of the tree. */
  root?: ProcId | undefined;
  /** The process that has started the tree in this boot and leads its session; not part of the tree. */
  shim?: ProcId | undefined;
  /** The first process that the shim has started for the tree, where it had others before. */
  main?: ProcId | undefined;
  /** The tree has only marked processes, not their unmarked children. */
  isMarkedOnly?: boolean;
}

/** Units of `startTime` in a second: Linux shows hundredths on every machine. */
const TICKS_PER_SECOND = 100;
/** No machine can use up its pids (at least 32,768) in less time than this. */
const NO_WRAP_SECONDS = 1;
/** Up to this many pids, trying each one is cheaper than listing all processes. */
const FEW_PIDS = 256;

/**
 * The most scans of a search. A scan that finds nothing is repeated if any process has forked during it, and,
 * after pauses of 127 ms in all, while one may be executing another program.
 */
const MAX_SCANS = 8;
/** Looks at a process without an environment. One that keeps starting programs has none in 5 % of looks. */
const UNSURE_SCANS = 4;

/**
 * All living processes of a tree, except this process (tools.md#processes-and-cgroups). A child that has
 * forked twice and left its session is found by its environment; a child without that environment is found by
 * its session or its parent. A child that has left its session and its parent, and has another environment,
 * escapes unless it is in a cgroup.
 */
export function findTree(query: TreeQuery): Proc[] {
  let last = lastPid();
  const first = query.main ?? query.shim;
  const shim = query.shim === undefined ? [] : [query.shim.pid];
  let pids = [...new Set([...shim, ...candidates(first, first?.pid, last)])];
  for (let scan = 1; ; scan += 1) {
    const { found, unsure } = scanTree(query, pids);
    if (found.length > 0 || scan === MAX_SCANS) return found;
    const latest = lastPid();
    const isExecuting = unsure.some(mayBeExecuting);
    if (latest === last && !isExecuting && (unsure.length === 0 || scan >= UNSURE_SCANS)) return found;
    if (isExecuting) pause(2 ** (scan - 1));
    // A scan can miss a child if its parent forks it during the scan and then ends. The next scan looks at
    // what was forked meanwhile, and again at what did not show its environment. The shim tells its children.
    const fresh = latest === last ? [] : candidates(first, last + 1, latest);
    pids = [...new Set([...shim, ...unsure, ...fresh])];
    last = latest;
  }
}

/**
 * What these pids have of a tree. `unsure`: processes that showed no environment, as other users' processes
 * do, and those that execute another program just then.
 */
function scanTree(query: TreeQuery, pids: number[]): { found: Proc[]; unsure: number[] } {
  const unsure: number[] = [];
  const isMarked = ({ pid, ended }: Proc) => {
    // What has ended has no environment any more.
    if (ended) return false;
    const environment = environmentOf(pid);
    if (environment.length === 0) unsure.push(pid);
    return query.isMarked(environment);
  };
  const procs = readProcs(pids);
  if (query.isMarkedOnly) {
    return { found: procs.filter((proc) => proc.pid !== process.pid && isMarked(proc)), unsure: [] };
  }
  const seen = new Set(procs.map(({ pid }) => pid));
  const leaders = new Set(procs.map(({ session }) => session).filter((leader) => !seen.has(leader)));
  const found = selectTree([...procs, ...readProcs([...leaders])], isMarked, query);
  return { found: found.filter(({ ended }) => !ended), unsure };
}

/**
 * Selects the tree among these processes: the marked processes, the root, all their descendants, and all
 * processes in sessions that a process of the tree has begun.
 */
export function selectTree(
  procs: Proc[],
  isMarked: (proc: Proc) => boolean,
  { root, shim }: Pick<TreeQuery, "root" | "shim">,
): Proc[] {
  const is = (proc: Proc, id?: ProcId) => proc.pid === id?.pid && proc.startTime === id.startTime;
  const byPid = new Map(procs.map((proc) => [proc.pid, proc]));
  const eligible = procs.filter(
    ({ pid, startTime }) => pid !== process.pid && startTime >= (shim?.startTime ?? 0),
  );
  const seeds = eligible.filter((proc) => is(proc, shim) || is(proc, root) || isMarked(proc));
  const tree = new Map(seeds.map((proc) => [proc.pid, proc]));
  for (let size = -1; size < tree.size; ) {
    size = tree.size;
    const sessions = new Set([...tree.values()].map(({ session }) => session));
    // A session's number is not reused while one of its processes lives.
    if (shim !== undefined) sessions.add(shim.pid);
    // No process can join a session, so a session that a member has begun has only members. Without the check
    // of the leader, a marked process in a user's terminal would add the whole terminal to the tree. Session
    // 0 has all processes from outside the container.
    const begun = (session: number) =>
      session !== 0 && sessions.has(session) && (tree.has(session) || !byPid.has(session));
    for (const proc of eligible) if (tree.has(proc.ppid) || begun(proc.session)) tree.set(proc.pid, proc);
  }
  return [...tree.values()].filter((proc) => !is(proc, shim));
}

/**
 * The pids that a process of this tree can have. The kernel assigns pids in order, so just after the start of
 * its first process these are the few pids from that one's to the latest one, of which those before `from`
 * are known already. So a scan for a short command need not read all processes of the machine.
 */
function candidates(first: ProcId | undefined, from: number | undefined, last: number): number[] {
  if (first === undefined || from === undefined) return listPids();
  const count = last - from + 1;
  const ageSeconds = uptime() - first.startTime / TICKS_PER_SECOND;
  // Some containers have their own uptime. Then the age is far off, in either direction.
  const fresh = Math.abs(ageSeconds) <= NO_WRAP_SECONDS;
  if (!fresh || from < first.pid || count < 1 || count > FEW_PIDS) return listPids();
  return Array.from({ length: count }, (_, index) => from + index);
}

/**
 * Lets other processes run. On a busy machine one may stand still in the middle of an `exec` for longer than
 * all scans take.
 */
function pause(ms: Millis): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** The pid that was assigned last. Every fork changes it. */
function lastPid(): number {
  return Number(readFileSync("/proc/loadavg", "utf8").trim().split(" ").at(-1));
}
