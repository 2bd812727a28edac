import { randomBytes } from "node:crypto";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Free, freeBelow, fullDiskText, isFull } from "../../disk/free.ts";
import { makeDirs } from "../../disk/make-dirs.ts";
import type { Millis } from "../../src/shared/machine.ts";
import { pathIn } from "./names.ts";

/**
 * The reserve: so many files of so many bytes, 16 MiB in all, since it holds file names as well as space.
 * A chunk of a log (4 MiB) is for a while in the file of its command, in the journal and the pages of a
 * database, and in the bucket: with less it could not be moved away.
 */
const RESERVE_FILES = 64;
const RESERVE_FILE_BYTES = 256 * 1024;
/** A smaller reserve than this is none. */
const FEWEST_RESERVE_FILES = 16;

/** There is room again when so much is free beside the reserve. */
const ROOM_BYTES = 4 * 1024 * 1024;
const ROOM_FILES = 64;

const LOOK_EVERY_MS: Millis = 500;
/** For how long there must have been room before the reserve is taken back: what waited needs some of it. */
const SETTLED_MS: Millis = 5_000;

/** How many files the reserve may have, if it has so many now. The disk must not be nearly full with it. */
function affordable({ bytes, files = Number.POSITIVE_INFINITY }: Free, now: number): number {
  const byBytes = Math.floor((bytes - ROOM_BYTES) / RESERVE_FILE_BYTES);
  return Math.min(RESERVE_FILES, now + Math.min(byBytes, files - ROOM_FILES));
}

/**
 * Makes room in a state directory whose disk is full by giving up its reserve, so that a start can write what
 * it must. Does nothing where there is room.
 */
export function makeRoom(dir: string): void {
  const free = freeBelow(dir);
  if (free !== undefined && isFull(free)) release(dir);
}

export interface RoomOptions {
  dir: string;
  /** Told once when the disk is full. */
  onFull(text: string): void;
  /** Told once when there is room again. */
  onRoom(): void;
}

/**
 * Keeps a reserve in a state directory, and looks twice a second how much is free. When the disk is full the
 * reserve is given up: what is known of runs can still be stored, and the output that fills the disk can be
 * moved away piece by piece. It is taken back when there is room. Returns how to ask whether the disk is
 * full, and what ends it.
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
    // There may be room for all but a reserve for long: then errors have other causes.
    if (full) onRoom();
    full = false;
    if (files > reserved && files >= FEWEST_RESERVE_FILES) reserved = take(dir, files);
  };
  look();
  const timer = setInterval(look, LOOK_EVERY_MS).unref();
  const isFullNow = () => {
    look();
    return full;
  };
  return { isFull: isFullNow, stop: () => clearInterval(timer) };
}

/** Gives the reserve up. */
function release(dir: string): void {
  try {
    rmSync(pathIn(dir, "reserve"), { recursive: true, force: true });
  } catch {
    // A directory that nobody may write to has nothing to give. Whoever writes next is told so.
  }
}

/** Makes what is missing of a reserve of so many files. Returns how many it has; none if that fails. */
function take(dir: string, files: number): number {
  const reserve = pathIn(dir, "reserve");
  try {
    makeDirs(reserve, 0o700);
    const there = new Set(readdirSync(reserve));
    for (let n = 0; n < files; n += 1) {
      // Random, so that no file system makes less of it.
      const bytes = () => randomBytes(RESERVE_FILE_BYTES);
      if (!there.has(String(n))) writeFileSync(join(reserve, String(n)), bytes(), { mode: 0o600 });
    }
    return files;
  } catch {
    release(dir);
    return 0;
  }
}
