// Which processes belong together?
import { readFileSync } from "node:fs";
import { uptime } from "node:os";
import { environmentOf, listPids, type Proc, type ProcId, readProcs } from "./proc.ts";

/** How to know the processes of a tree. */
export interface TreeQuery {
  /** Whether these entries `NAME=value` of an environment mark its process as one of the tree. */
  isMarked(environment: string[]): boolean;
  /** The first process of all. */
  root?: ProcId | undefined;
  /** What has started the tree, in this boot, as the leader of its session; not part of the tree. */
  shim?: ProcId | undefined;
  /** Only what is marked belongs to the tree, whatever it has started. */
  isMarkedOnly?: boolean;
}

/** Units of `startTime` in a second: Linux shows it in hundredths on every machine. */
const TICKS_PER_SECOND = 100;
/** In less than this a machine cannot have given out all of its pids, of which there are 32,768 at least. */
const NO_WRAP_SECONDS = 1;
/** Up to so many pids it is cheaper to try each one than to list what there is. */
const FEW_PIDS = 256;

/** Scans in a row without a fork in between that are tried for before an answer is believed anyway. */
const QUIET_SCANS = 8;

/**
 * All living processes of a tree, but for this process itself (tools.md#processes-and-cgroups). A child that
 * has forked twice and left its session is found by its environment, one that has cleaned its environment by
 * its session or its parent; only one that has done all of it escapes, and a cgroup finds that.
 */
export function findTree(query: TreeQuery): Proc[] {
  let found: Proc[] = [];
  for (let scan = 0; scan < QUIET_SCANS; scan += 1) {
    const before = lastPid();
    found = look(query, before).filter(({ ended }) => !ended);
    // A child forked meanwhile can be missed if its parent ended before it was looked at. No fork, no doubt.
    if (found.length > 0 || lastPid() === before) return found;
  }
  return found;
}

function look(query: TreeQuery, last: number): Proc[] {
  const isMarked = ({ pid }: Proc) => query.isMarked(environmentOf(pid));
  const procs = readProcs(candidates(query.shim, last));
  if (query.isMarkedOnly) return procs.filter((proc) => proc.pid !== process.pid && isMarked(proc));
  const seen = new Set(procs.map(({ pid }) => pid));
  const leaders = new Set(procs.map(({ session }) => session).filter((leader) => !seen.has(leader)));
  return selectTree([...procs, ...readProcs([...leaders])], isMarked, query);
}

/**
 * The tree among these processes: those with its mark, its root, all that descends from them, and the
 * sessions that they have begun.
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
    // As long as one process of a session lives, its number is given to no other process.
    if (shim !== undefined) sessions.add(shim.pid);
    // A session cannot be joined from outside, so one that was begun by a member has members only. Without
    // this look at its leader, a marked process in somebody's terminal would take the whole terminal with it.
    // Session 0 is one from outside a container, shared by strangers.
    const begun = (session: number) =>
      session !== 0 && sessions.has(session) && (tree.has(session) || !byPid.has(session));
    for (const proc of eligible) if (tree.has(proc.ppid) || begun(proc.session)) tree.set(proc.pid, proc);
  }
  return [...tree.values()].filter((proc) => !is(proc, shim));
}

/**
 * The pids that a process of this tree can have. Pids are given out in order, so just after its start these
 * are the few from the shim's up to the last one: a look at a short command does not read the whole
 * machine.
 */
function candidates(shim: ProcId | undefined, last: number): number[] {
  const ageSeconds = shim === undefined ? Infinity : uptime() - shim.startTime / TICKS_PER_SECOND;
  const count = shim === undefined ? 0 : last - shim.pid + 1;
  // In some containers the uptime is their own and says nothing of the age: it is far off then, either way.
  const fresh = Math.abs(ageSeconds) <= NO_WRAP_SECONDS;
  if (shim === undefined || !fresh || count < 1 || count > FEW_PIDS) return listPids();
  return Array.from({ length: count }, (_, index) => shim.pid + index);
}

/** The pid that was given out last: it changes with every fork. */
function lastPid(): number {
  return Number(readFileSync("/proc/loadavg", "utf8").trim().split(" ").at(-1));
}
