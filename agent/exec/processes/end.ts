// How did the main process of an attempt end?
import type { Group } from "../../../posix/cgroup.ts";
import type { TaskEnd } from "../../drivers/driver.ts";
import { outOfMemoryKills } from "./group.ts";
import { readShimEnd, type ShimFiles } from "./shim.ts";

/**
 * How the main process of an attempt ended, according to its shim and its cgroup. A failed command counts as
 * out of memory if the kernel has killed any of its processes for lack of memory, whatever its exit status.
 */
export function readEnd(
  files: ShimFiles,
  group: Group | undefined,
  shellReportsSignals: boolean,
  code: number | null = null,
): TaskEnd {
  const end = readShimEnd(files, shellReportsSignals, code);
  const failed = "exit" in end && end.exit.code !== 0;
  if (!failed || group === undefined || outOfMemoryKills(group) === 0) return end;
  return { exit: { ...end.exit, oomKilled: true, message: "It ran out of memory." } };
}
