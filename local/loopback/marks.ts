import { sendSignal } from "../../posix/proc.ts";
import { findTree, type TreeQuery } from "../../posix/tree.ts";
import { pathIn } from "../state/names.ts";

/** The environment variable by whose value every process of an instance is found. */
export const MARK = "DROVER_INSTANCE";

/** Where the instances of a cloud have their directories. */
export function rootBelow(dir: string): string {
  return pathIn(dir, "instances");
}

/** What the environment of a process of the instance in this directory says. */
export function markOf(instanceDir: string): string {
  return `${MARK}=${instanceDir}`;
}

/** All that runs for the cloud of a directory, but for what carries one of the marks in `except`. */
export function instancesBelow(dir: string, except: ReadonlySet<string> = new Set()): TreeQuery {
  const mark = markOf(`${rootBelow(dir)}/`);
  const isMark = (entry: string) => entry.startsWith(mark) && !except.has(entry);
  return { isMarked: (environment) => environment.some(isMark) };
}

/**
 * Sends SIGKILL once to all that runs for the cloud of a directory, without proof: for who cannot wait for
 * that.
 */
export function killInstancesBelow(dir: string): void {
  for (const { pid } of findTree(instancesBelow(dir))) sendSignal(pid, "SIGKILL");
}
