// Which processes still use a directory?
import { readFileSync, readlinkSync } from "node:fs";
import { listPids } from "../../../posix/proc.ts";

/** So many processes are named; the others are counted. */
const MAX_NAMED = 3;

/** The processes that run in a directory, or below it, in words. Undefined: there are none. */
export function holdersOf(dir: string): string | undefined {
  const pids = listPids().filter((pid) => runsIn(pid, dir));
  if (pids.length === 0) return undefined;
  const named = pids.slice(0, MAX_NAMED).map((pid) => `process ${pid} (${nameOf(pid)})`);
  const more = pids.length > MAX_NAMED ? [`${pids.length - MAX_NAMED} more`] : [];
  return [...named, ...more].join(", ");
}

function runsIn(pid: number, dir: string): boolean {
  try {
    const cwd = readlinkSync(`/proc/${pid}/cwd`);
    return cwd === dir || cwd.startsWith(`${dir}/`);
  } catch {
    return false; // it has ended, or belongs to somebody else
  }
}

function nameOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
  } catch {
    return "ended";
  }
}
