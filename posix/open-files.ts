import { readFileSync, readlinkSync } from "node:fs";
import { basename } from "node:path";

/** What Linux and systemd give to a process that asks for nothing. */
const USUAL_LIMIT = 1_024;

let found: number | undefined;

/**
 * How many files a command may open: as many as if the program that started Drover had started it. Node
 * raises its own soft limit to the hard one when it starts, and children inherit that: programs that close
 * every number up to the limit become slow then, and those that use `select` break.
 */
export function openFilesLimit(): number {
  found ??= limitAbove(process.ppid);
  return found;
}

/** The soft limit of the nearest ancestor that is no Node process; the usual one if there is none. */
function limitAbove(pid: number): number {
  // The first process of a system has limits of its own kind: a service manager's are for itself.
  if (pid <= 1) return USUAL_LIMIT;
  try {
    if (basename(readlinkSync(`/proc/${pid}/exe`)).startsWith("node")) return limitAbove(parentOf(pid));
    const soft = /^Max open files +(\d+) /m.exec(readFileSync(`/proc/${pid}/limits`, "utf8"))?.[1];
    return soft === undefined ? USUAL_LIMIT : Number(soft);
  } catch {
    // Another user's, or it has just ended.
    return USUAL_LIMIT;
  }
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
}
