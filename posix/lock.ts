// Which process may use this directory?
import { randomBytes } from "node:crypto";
import { linkSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { errorCode } from "./errors.ts";
import { readIfThere } from "./files.ts";
import { lives, type Proc, parseStat } from "./proc.ts";

/** How often to try a lock that other processes take and release meanwhile. */
const TRIES = 10;

/** A lock that this process has taken, or the living process that holds it. */
export type Lock = { holder: Proc } | { holder?: undefined; release(): void };

/**
 * Takes a lock for this process (platform.md#local-crashes): a file with the holder's line of
 * `/proc/<pid>/stat`, which a shell can read too. The line has pid and start time, so the lock of a killed
 * process is recognized and taken over. If two processes take over at the same moment, the check in
 * `moveAway` usually lets only one of them win. If both win, the incarnation decides between agents, and the
 * port between control planes. Throws if the lock keeps changing hands.
 */
export function takeLock(path: string): Lock {
  // A random name: an earlier process with the same pid could have left a file that is linked to the lock.
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

/** `link` creates the lock with its content in one step, and fails if the lock exists. */
function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  }
}

/** The living process that holds a lock, if there is one. */
export function livingHolder(path: string): Proc | undefined {
  const holder = parseStat(readIfThere(path) ?? "");
  return holder !== undefined && lives(holder) ? holder : undefined;
}

/**
 * Removes a lock whose holder is dead. If another process has taken the lock meanwhile, that process gets it
 * back.
 */
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

/** Removes the lock if this process still has it. After a wrong takeover, another process has the lock. */
function release(path: string, text: string): void {
  if (readIfThere(path) === text) rmSync(path, { force: true });
}
