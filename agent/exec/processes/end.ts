import type { Group } from "../../../posix/cgroup.ts";
import type { TaskEnd } from "../../drivers/driver.ts";
import { outOfMemoryKills } from "./group.ts";
import { readShimEnd, type ShimFiles } from "./shim.ts";

/**
 * How the main process of an attempt ended, as its shim and its cgroup tell it. A command of which something
 * was killed for lack of memory, and that failed, has run out of memory, whatever it made of it.
 */
export function readEnd(
  files: ShimFiles,
  group: Group | undefined,
  shellTells: boolean,
  code: number | null = null,
): TaskEnd {
  const end = readShimEnd(files, shellTells, code);
  const failed = "exit" in end && end.exit.code !== 0;
  if (!failed || group === undefined || outOfMemoryKills(group) === 0) return end;
  return { exit: { ...end.exit, oomKilled: true, message: "It ran out of memory." } };
}
