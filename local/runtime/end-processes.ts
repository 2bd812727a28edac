// How does `drover up` end what it has started?
import type { Group } from "../../posix/cgroup.ts";
import { killTree } from "../../posix/kill.ts";
import type { TreeQuery } from "../../posix/tree.ts";

/** How long to look again and again for what is left, before saying that it cannot be ended. */
const END_WITHIN_MS = 10_000;

/**
 * Ends a whole tree and its cgroup, with proof (waits.md#the-waits). Throws if something is still there after
 * ten seconds.
 */
export async function endTree(tree: TreeQuery, group?: Group): Promise<void> {
  const { empty, left } = await killTree(tree, group, END_WITHIN_MS, () => performance.now());
  if (!empty) throw new UnendedError(left);
}

/** What SIGKILL has not ended in time. */
class UnendedError extends Error {
  override readonly name = "UnendedError";
  constructor(pids: number[]) {
    const what = pids.length === 0 ? "The processes of a cgroup" : `Processes ${pids.join(", ")}`;
    super(
      `${what} did not end ${END_WITHIN_MS / 1_000} s after SIGKILL. ` +
        "The kernel holds them, usually in a read or write that hangs: look at the file systems they use.",
    );
  }
}
