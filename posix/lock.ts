// Which process may use this directory?
import { randomBytes } from "node:crypto";
import { linkSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { errorCode } from "./errors.ts";
import { readIfThere } from "./files.ts";
import { lives, type Proc, parseStat } from "./proc.ts";

/** How often a lock that goes away under our hands is tried again before giving up. */
const TRIES = 10;

/** `holder`: who has it and lives. */
export type Lock = { holder: Proc } | { holder?: undefined; release(): void };

/**
 * Takes a lock for this process (platform.md#local-crashes): a file with the holder's line of
 * `/proc/<pid>/stat`, which a shell can read too. The line names a process by pid and start time, so one that
 * was killed holds nothing, and its lock is taken over. That two others take over at the same moment is met
 * by looking at what was moved away; what that misses, the incarnations of agents and the port of a control
 * plane tell apart. Throws if others keep taking it.
 */
export function takeLock(path: string): Lock {
  // Unlike a pid, no earlier process can have used this name, and have left it linked to the lock.
  const claim = `${path}.${randomBytes(4).toString("hex")}`;
  const text = readIfThere("/proc/self/stat") ?? "";
  writeFileSync(claim, text, { mode: 0o600, flag: "wx" });
  try {
    for (let tries = 0; tries < TRIES; tries += 1) {
      if (tryLink(claim, path)) return { release: () => release(path, text) };
      const holder = livingHolder(path);
      if (holder !== undefined) return { holder };
      moveAway(path, `${claim}.stale`);
    }
  } finally {
    rmSync(claim, { force: true });
  }
  throw new Error(`The lock ${path} keeps changing hands: others are being started at the same time.`);
}

/** `link` makes the lock with its content in one step, and fails if there is one. */
function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  }
}

function livingHolder(path: string): Proc | undefined {
  const holder = parseStat(readIfThere(path) ?? "");
  return holder !== undefined && lives(holder) ? holder : undefined;
}

/** Removes a lock whose holder is dead. A process that was faster to take it gets it back. */
function moveAway(path: string, aside: string): void {
  try {
    renameSync(path, aside);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return;
    throw error;
  }
  if (livingHolder(aside) !== undefined) tryLink(aside, path);
  rmSync(aside, { force: true });
}

/** Only if it is still ours: after a mistaken takeover it would be somebody else's. */
function release(path: string, text: string): void {
  if (readIfThere(path) === text) rmSync(path, { force: true });
}
