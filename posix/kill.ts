// How is a tree of processes ended, with proof?
import { setTimeout as sleep } from "node:timers/promises";
import type { Instant, Millis } from "../src/shared/machine.ts";
import { type Group, killGroup, membersOf, removeGroup } from "./cgroup.ts";
import { isStarved } from "./errors.ts";
import { sendSignal } from "./proc.ts";
import { findTree, type TreeQuery } from "./tree.ts";

/** Between two looks at a tree that is being killed: at first, doubling to the last. */
const FIRST_LOOK_MS: Millis = 2;
const LAST_LOOK_MS: Millis = 500;

/** `killed`: there was something to kill. `left`: pids of what was seen last. */
export interface KillOutcome {
  /** It is proved that nothing lives. */
  empty: boolean;
  killed: boolean;
  left: number[];
}

/**
 * Sends SIGKILL to all of a tree until it is empty or `waitMs` are over. Its processes can fork while they
 * are being killed, so it looks again until there is nothing to be seen. With a cgroup both must be empty,
 * the cgroup and the tree: a task of the superuser can leave the one, any task can leave the other. Throws if
 * the system is too short of files or memory for a look, and `waitMs` are over
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
      const members = group === undefined ? [] : membersOf(group);
      const left = [...new Set([...members, ...findTree(query).map(({ pid }) => pid)])];
      if (left.length === 0 && (group === undefined || removeGroup(group))) {
        return { empty: true, killed, left };
      }
      killed ||= left.length > 0;
      if (group !== undefined) killGroup(group);
      for (const pid of left) sendSignal(pid, "SIGKILL");
      if (now() >= until) return { empty: false, killed, left };
    } catch (error) {
      if (!isStarved(error) || now() >= until) throw error;
    }
    await sleep(lookMs);
  }
}
