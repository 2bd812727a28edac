// How is a tree of processes killed, with proof that no process lives?
import { setTimeout as sleep } from "node:timers/promises";
import type { Instant, Millis } from "../src/shared/machine.ts";
import { type Group, killGroup, membersOf, removeGroup } from "./cgroup.ts";
import { isStarved } from "./errors.ts";
import { sendSignal } from "./proc.ts";
import { findTree, type TreeQuery } from "./tree.ts";

/** Time between two scans of a tree that is being killed. It doubles from the first value to the last. */
const FIRST_LOOK_MS: Millis = 2;
const LAST_LOOK_MS: Millis = 500;

export interface KillOutcome {
  /** It is proved that no process lives. */
  empty: boolean;
  /** A process was alive. */
  killed: boolean;
  /** Pids that the last scan has found. */
  alive: number[];
}

/**
 * Sends SIGKILL to all processes of a tree, until no process is left or `waitMs` have passed. The signal is
 * repeated, since processes can fork in between. If there is a cgroup, the cgroup and the tree must both be
 * empty: a task that runs as root can leave the cgroup, and any task can leave the tree. Throws if `waitMs`
 * have passed and the system lacks file descriptors or memory even for a scan
 * (faults-below.md#no-open-files-no-processes).
 */
export async function killTree(
  query: TreeQuery,
  group: Group | undefined,
  waitMs: Millis,
  now: () => Instant,
): Promise<KillOutcome> {
  const until = now() + waitMs;
  let killed = false;
  for (let lookMs = FIRST_LOOK_MS; ; lookMs = Math.min(LAST_LOOK_MS, lookMs * 2)) {
    try {
      const tree = findTree(query).map(({ pid }) => pid);
      if (tree.length === 0 && (group === undefined || removeGroup(group))) {
        return { empty: true, killed, alive: [] };
      }
      const alive = [...new Set([...(group === undefined ? [] : membersOf(group)), ...tree])];
      killed ||= alive.length > 0;
      if (group !== undefined) killGroup(group);
      for (const pid of alive) sendSignal(pid, "SIGKILL");
      if (now() >= until) return { empty: false, killed, alive };
    } catch (error) {
      if (!isStarved(error) || now() >= until) throw error;
    }
    await sleep(lookMs);
  }
}
