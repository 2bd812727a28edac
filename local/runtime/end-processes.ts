// How does `drover up` end what it has started?
import type { Group } from "../../posix/cgroup.ts";
import { killTree } from "../../posix/kill.ts";
import type { TreeQuery } from "../../posix/tree.ts";

/** How long to repeat the kill before giving up. */
const END_WITHIN_MS = 10_000;

/** Ends a process tree and its cgroup, with proof (waits.md#the-waits). Throws if that takes too long. */
export async function endTree(tree: TreeQuery, group?: Group): Promise<void> {
  const { empty, alive } = await killTree(tree, group, END_WITHIN_MS, () => performance.now());
  if (!empty) throw new UnendedError(alive);
}

/** SIGKILL has not ended these processes in time. */
class UnendedError extends Error {
  override readonly name = "UnendedError";
  constructor(pids: number[]) {
    const what = pids.length === 0 ? "The processes of a cgroup" : `Processes ${pids.join(", ")}`;
    super(
      `${what} did not end ${END_WITHIN_MS / 1_000} s after SIGKILL. ` +
        "They are stuck in the kernel, usually in a read or write: check the file systems that they use.",
    );
  }
}
