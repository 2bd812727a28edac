// How does `drover up` continue when its disk is full?
import { randomBytes } from "node:crypto";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Free, freeBelow, fullDiskText, isFull } from "../../disk/free.ts";
import { makeDirs } from "../../disk/make-dirs.ts";
import type { Millis } from "../../src/shared/machine.ts";
import { pathIn } from "./names.ts";

/**
 * The reserve consists of many files, since a disk can also run out of inodes. A part has 16 MiB, since a
 * chunk of a log (4 MiB) that is being moved exists four times: in its command's file, in the journal and the
 * pages of a database, and in the bucket. There are two parts, since a command may take the first
 * (faults-below.md#full-disk).
 */
const PART_FILES = 64;
const RESERVE_FILES = 2 * PART_FILES;
const RESERVE_FILE_BYTES = 256 * 1024;
/** A smaller reserve is not worth keeping. */
const MIN_RESERVE_FILES = 16;

/** The space that must be free besides the reserve. */
const ROOM_BYTES = 4 * 1024 * 1024;
const ROOM_FILES = 64;

const LOOK_EVERY_MS: Millis = 500;
/** How long the disk must have room before the reserve is taken again, and how far releases are apart. */
const SETTLED_MS: Millis = 5_000;

/** How many files the reserve may have without nearly filling the disk. `current`: how many it has now. */
function affordable({ bytes, files = Number.POSITIVE_INFINITY }: Free, current: number): number {
  const byBytes = Math.floor((bytes - ROOM_BYTES) / RESERVE_FILE_BYTES);
  return Math.min(RESERVE_FILES, current + Math.min(byBytes, files - ROOM_FILES));
}

/** Whether less is free now than before, so that somebody is still writing. */
function isShrinking(now: Free, before: Free): boolean {
  return now.bytes < before.bytes || (now.files ?? 0) < (before.files ?? 0);
}

/** Releases a part of the reserve if the disk of a state directory is full, so that a start can write. */
export function makeRoom(dir: string): void {
  const free = freeBelow(dir);
  if (free !== undefined && isFull(free)) releasePart(dir);
}

export interface RoomOptions {
  dir: string;
  /** Called once when the disk is full. */
  onFull(text: string): void;
  /** Called once when there is room again. */
  onRoom(): void;
}

/**
 * Keeps a reserve in a state directory, and checks the free space twice a second. When the disk is full, a
 * part of the reserve is released: the state of runs can still be stored, and the output that fills the disk
 * can be moved away piece by piece. The reserve is taken again when there is room.
 *
 * A part is released only when nothing was taken since the last look. Whoever fills the disk has then been
 * refused, and does not get what is released unless it tries again (faults-below.md#full-disk).
 */
export function keepRoom({ dir, onFull, onRoom }: RoomOptions): { isFull(): boolean; stop(): void } {
  let full = false;
  let fullAt = Number.NEGATIVE_INFINITY;
  let releasedAt = Number.NEGATIVE_INFINITY;
  let last: Free | undefined;
  const look = () => {
    const free = freeBelow(dir);
    if (free === undefined) return;
    const before = last;
    last = free;
    if (isFull(free)) {
      if (!full) onFull(fullDiskText(dir, free));
      full = true;
      fullAt = performance.now();
      const isRefused = before !== undefined && !isShrinking(free, before);
      // Some file systems free the space of removed files later.
      if (!isRefused || performance.now() - releasedAt < SETTLED_MS) return;
      releasePart(dir);
      releasedAt = performance.now();
      return;
    }
    const isSettled = performance.now() - fullAt >= SETTLED_MS;
    if (!isSettled) return;
    // The disk no longer counts as full, even without room for a reserve: errors now have other causes.
    if (full) onRoom();
    full = false;
    const reserved = reservedIn(dir).length;
    const files = affordable(free, reserved);
    if (files > reserved && files >= MIN_RESERVE_FILES) fill(dir, files);
  };
  look();
  const timer = setInterval(look, LOOK_EVERY_MS).unref();
  const isFullNow = () => {
    const free = freeBelow(dir);
    return full || (free !== undefined && isFull(free));
  };
  return { isFull: isFullNow, stop: () => clearInterval(timer) };
}

/** The numbers of the files of the reserve, lowest first. */
function reservedIn(dir: string): number[] {
  try {
    return readdirSync(pathIn(dir, "reserve"))
      .map(Number)
      .sort((a, b) => a - b);
  } catch {
    return [];
  }
}

/** Removes a part of the reserve, or what is left of it. */
function releasePart(dir: string): void {
  release(dir, reservedIn(dir).slice(-PART_FILES));
}

/** Removes these files of the reserve. */
function release(dir: string, files: readonly number[]): void {
  try {
    for (const file of files) rmSync(join(pathIn(dir, "reserve"), String(file)), { force: true });
  } catch {
    // A read-only directory frees nothing. The next write there fails with its own error.
  }
}

/** Adds files, until the reserve has so many. If there is no room for all of them, none is added. */
function fill(dir: string, count: number): void {
  const reserve = pathIn(dir, "reserve");
  const existing = new Set(reservedIn(dir));
  const added: number[] = [];
  try {
    makeDirs(reserve, 0o700);
    for (let file = 0; existing.size + added.length < count; file += 1) {
      if (existing.has(file)) continue;
      added.push(file);
      // Random bytes, so that no file system compresses them.
      writeFileSync(join(reserve, String(file)), randomBytes(RESERVE_FILE_BYTES), { mode: 0o600 });
    }
  } catch {
    release(dir, added);
  }
}
