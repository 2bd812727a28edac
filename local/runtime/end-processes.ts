import { setTimeout as sleep } from "node:timers/promises";
import { isStarved } from "../../disk/starved.ts";
import { environmentOf, listProcesses, type ProcessIdentity, type ProcessInfo } from "./processes.ts";

/** How long to look again and again for what is left, before saying that it cannot be ended. */
const END_WITHIN_MS = 10_000;
const LOOK_EVERY_MS = 10;

/** By what processes are known to belong together. */
export interface Tree {
  /** Whether an entry `NAME=value` of a process's environment marks it as one of these. */
  isMark(entry: string): boolean;
  /** The first process of all. */
  root?: ProcessIdentity;
  /** Whether descendants and whole sessions belong to it too, or only who carries the mark. */
  family: boolean;
}

/**
 * Which of these processes are a family: those that carry the mark, the root, all descendants, and everybody
 * in their sessions. A child that forks twice, begins a session of its own and drops its environment is still
 * found as long as its parent lived when we looked; only a cgroup finds it for certain (`cgroup.ts`).
 */
export function selectFamily(
  processes: ProcessInfo[],
  marked: (process: ProcessInfo) => boolean,
  root: ProcessIdentity | undefined,
): ProcessInfo[] {
  const isRoot = ({ pid, startTicks }: ProcessInfo) => pid === root?.pid && startTicks === root.startTicks;
  const byPid = new Map(processes.map((process) => [process.pid, process]));
  const members = new Set(processes.filter((process) => isRoot(process) || marked(process)));
  const isOurs = (pid: number) => {
    const process = byPid.get(pid);
    return process !== undefined && members.has(process);
  };
  for (let before = -1; before < members.size; ) {
    before = members.size;
    // A session cannot be joined from outside, so one that was begun by a member has members only. Without
    // this look at its leader, a marked process in somebody's terminal would take the whole terminal with it.
    const sessions = new Set([...members].map((member) => member.session));
    // Session 0 is one from outside a container, shared by strangers.
    const ours = new Set(
      [...sessions].filter((leader) => leader !== 0 && (isOurs(leader) || !byPid.has(leader))),
    );
    for (const process of processes) {
      if (isOurs(process.parent) || ours.has(process.session)) members.add(process);
    }
  }
  return [...members];
}

/** The living processes of a tree at this moment; never this process itself. */
export function findTree(tree: Tree): ProcessInfo[] {
  const others = listProcesses().filter(({ pid }) => pid !== process.pid);
  const marked = ({ pid }: ProcessInfo) => environmentOf(pid).some(tree.isMark);
  const found = tree.family ? selectFamily(others, marked, tree.root) : others.filter(marked);
  return found.filter((member) => !member.zombie);
}

/**
 * Sends SIGKILL to a whole tree until a look finds nobody, which is the proof. One round is not enough: a
 * process may fork between the look and the signal. Throws if somebody is still there after ten seconds.
 */
export async function endTree(tree: Tree): Promise<void> {
  const deadline = performance.now() + END_WITHIN_MS;
  for (;;) {
    const left = whoIsLeft(tree, deadline);
    if (left?.length === 0) return;
    if (left !== undefined && performance.now() > deadline) {
      throw new UnendedError(left.map(({ pid }) => pid));
    }
    for (const { pid } of left ?? []) killNow(pid);
    await sleep(LOOK_EVERY_MS);
  }
}

/** Undefined if this process may open no file, and so cannot look now. After the deadline that is thrown. */
function whoIsLeft(tree: Tree, deadline: number): ProcessInfo[] | undefined {
  try {
    return findTree(tree);
  } catch (error) {
    if (!isStarved(error) || performance.now() > deadline) throw error;
    return undefined;
  }
}

/** Processes that SIGKILL has not ended in time. */
export class UnendedError extends Error {
  override readonly name = "UnendedError";
  constructor(pids: number[]) {
    super(
      `Processes ${pids.join(", ")} did not end ${END_WITHIN_MS / 1_000} s after SIGKILL. ` +
        "The kernel holds them, usually in a read or write that hangs: look at the file systems they use.",
    );
  }
}

/** SIGKILL to a process that may have ended already. */
export function killNow(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It is gone, or another user's. The next look tells, and a tree that stays is an error there.
  }
}
