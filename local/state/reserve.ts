// How does `drover up` continue when its disk is full?
import { randomBytes } from "node:crypto";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Free, freeBelow, fullDiskText, isFull } from "../../disk/free.ts";
import { makeDirs } from "../../disk/make-dirs.ts";
import type { Millis } from "../../src/shared/machine.ts";
import { pathIn } from "./names.ts";

/**
 * The reserve consists of many files, since a disk can also run out of inodes. It has 16 MiB in all, since a
 * chunk of a log (4 MiB) that is being moved exists four times: in its command's file, in the journal and the
 * pages of a database, and in the bucket.
 */
const RESERVE_FILES = 64;
const RESERVE_FILE_BYTES = 256 * 1024;
/** A smaller reserve is not worth keeping. */
const MIN_RESERVE_FILES = 16;

/** The space that must be free besides the reserve. */
const ROOM_BYTES = 4 * 1024 * 1024;
const ROOM_FILES = 64;

const LOOK_EVERY_MS: Millis = 500;
/** How long the disk must have room before the reserve is taken again: delayed writes come first. */
const SETTLED_MS: Millis = 5_000;

/** How many files the reserve may have without nearly filling the disk. `current`: how many it has now. */
function affordable({ bytes, files = Number.POSITIVE_INFINITY }: Free, current: number): number {
  const byBytes = Math.floor((bytes - ROOM_BYTES) / RESERVE_FILE_BYTES);
  return Math.min(RESERVE_FILES, current + Math.min(byBytes, files - ROOM_FILES));
}

/** Releases the reserve if the disk of a state directory is full, so that a start can write. */
export function makeRoom(dir: string): void {
  const free = freeBelow(dir);
  if (free !== undefined && isFull(free)) release(dir);
}

export interface RoomOptions {
  dir: string;
  /** Called once when the disk is full. */
  onFull(text: string): void;
  /** Called once when there is room again. */
  onRoom(): void;
}

/**
 * Keeps a reserve in a state directory, and checks the free space twice a second. When the disk is full, the
 * reserve is released: the state of runs can still be stored, and the output that fills the disk can be moved
 * away piece by piece. The reserve is taken again when there is room.
 */
export function keepRoom({ dir, onFull, onRoom }: RoomOptions): { isFull(): boolean; stop(): void } {
  let full = false;
  let reserved = 0;
  let fullAt = Number.NEGATIVE_INFINITY;
  const look = () => {
    const free = freeBelow(dir);
    if (free === undefined) return;
    if (isFull(free)) {
      if (reserved > 0 || !full) release(dir);
      reserved = 0;
      if (!full) onFull(fullDiskText(dir, free));
      full = true;
      fullAt = performance.now();
      return;
    }
    const files = affordable(free, reserved);
    const isSettled = performance.now() - fullAt >= SETTLED_MS;
    if (!isSettled) return;
    // The disk no longer counts as full, even without room for a reserve: errors now have other causes.
    if (full) onRoom();
    full = false;
    if (files > reserved && files >= MIN_RESERVE_FILES) reserved = fill(dir, files);
  };
  look();
  const timer = setInterval(look, LOOK_EVERY_MS).unref();
  const isFullNow = () => {
    look();
    return full;
  };
  return { isFull: isFullNow, stop: () => clearInterval(timer) };
}

/** Removes the reserve. */
function release(dir: string): void {
  try {
    rmSync(pathIn(dir, "reserve"), { recursive: true, force: true });
  } catch {
    // A read-only directory frees nothing. The next write there fails with its own error.
  }
}

/** Adds the missing files of the reserve. Returns the number of its files; 0 if that fails. */
function fill(dir: string, files: number): number {
  const reserve = pathIn(dir, "reserve");
  try {
    makeDirs(reserve, 0o700);
    const existing = new Set(readdirSync(reserve));
    for (let n = 0; n < files; n += 1) {
      // Random bytes, so that no file system compresses them.
      const bytes = () => randomBytes(RESERVE_FILE_BYTES);
      if (!existing.has(String(n))) writeFileSync(join(reserve, String(n)), bytes(), { mode: 0o600 });
    }
    return files;
  } catch {
    release(dir);
    return 0;
  }
}
