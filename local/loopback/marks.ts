// Which processes belong to an instance?
import { sendSignal } from "../../posix/proc.ts";
import { findTree, type TreeQuery } from "../../posix/tree.ts";
import { pathIn } from "../state/names.ts";

/** The environment variable that marks every process of an instance. */
export const MARK = "DROVER_INSTANCE";

/** The folder with the directories of a cloud's instances. */
export function rootBelow(dir: string): string {
  return pathIn(dir, "instances");
}

/** The mark of the instance with this directory, as an entry of the environment. */
export function markOf(instanceDir: string): string {
  return `${MARK}=${instanceDir}`;
}

/** All processes of the cloud of a directory, except those with a mark in `except`. */
export function instancesBelow(dir: string, except: ReadonlySet<string> = new Set()): TreeQuery {
  const mark = markOf(`${rootBelow(dir)}/`);
  const isMark = (entry: string) => entry.startsWith(mark) && !except.has(entry);
  return { isMarked: (environment) => environment.some(isMark) };
}

/** Sends SIGKILL once to all processes of the cloud of a directory, without waiting for their end. */
export function killInstancesBelow(dir: string): void {
  for (const { pid } of findTree(instancesBelow(dir))) sendSignal(pid, "SIGKILL");
}
