// How many files may a command open?
import { readFileSync, readlinkSync } from "node:fs";
import { basename } from "node:path";

/** The soft limit that Linux and systemd give by default. */
const USUAL_LIMIT = 1_024;

let found: number | undefined;

/**
 * The soft limit of open files for a command: the limit of the program that started Drover. Node raises its
 * own soft limit to the hard limit, and children inherit it: programs that close every descriptor up to the
 * limit would become slow, and programs that use `select` would break.
 */
export function openFilesLimit(): number {
  found ??= limitAbove(process.ppid);
  return found;
}

/** The soft limit of the nearest ancestor that is not a Node process, else the usual one. */
function limitAbove(pid: number): number {
  // Pid 1 is a service manager, whose limits are for itself.
  if (pid <= 1) return USUAL_LIMIT;
  try {
    if (basename(readlinkSync(`/proc/${pid}/exe`)).startsWith("node")) return limitAbove(parentOf(pid));
    const soft = /^Max open files +(\d+) /m.exec(readFileSync(`/proc/${pid}/limits`, "utf8"))?.[1];
    return soft === undefined ? USUAL_LIMIT : Number(soft);
  } catch {
    // The process is another user's, or has just ended.
    return USUAL_LIMIT;
  }
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
}
