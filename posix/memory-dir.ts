// Where is a private directory in memory, and how is it found again and removed?
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readlinkSync,
  rmSync,
  statfsSync,
  symlinkSync,
} from "node:fs";
import { join } from "node:path";
import { errorCode } from "./errors.ts";

/** File systems of Linux that are in memory: tmpfs and ramfs, by their magic numbers. */
const MEMORY_FILE_SYSTEMS = new Set([0x01021994, 0x858458f6]);
/** Where most machines have such a file system. `/run` is for root, and survives every session. */
export const MEMORY_ROOTS: readonly string[] = ["/run", "/dev/shm"];

const PRIVATE_DIR = 0o700;
const OTHERS_WRITE = 0o022;

/** A directory that only this user can change. `onDisk`: the machine has no memory for it. */
export interface MemoryDir {
  path: string;
  onDisk: boolean;
}

/**
 * Creates a directory in memory, mode 0700, and a link to it, or finds the directory of an earlier call by
 * the link. If no directory can be created in memory, `link` itself becomes a directory.
 */
export function openMemoryDir(link: string, roots = MEMORY_ROOTS): MemoryDir {
  const known = findMemoryDir(link);
  if (known !== undefined) return known;
  rmSync(link, { recursive: true, force: true });
  for (const root of roots) {
    const path = makeIn(root);
    if (path === undefined) continue;
    symlinkSync(path, link);
    return { path, onDisk: false };
  }
  mkdirSync(link, { mode: PRIVATE_DIR });
  return { path: link, onDisk: true };
}

/** The directory of an earlier call; undefined if there is none, or if it is not this user's own. */
export function findMemoryDir(link: string): MemoryDir | undefined {
  const found = lstatSync(link, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  try {
    const isLink = found.isSymbolicLink();
    const path = isLink ? readlinkSync(link) : link;
    const { mode, uid, isDir } = statOf(path);
    // Anybody can make a directory where a former one was, once the machine has booted again.
    if (!isDir || uid !== process.geteuid?.() || (mode & OTHERS_WRITE) !== 0) return undefined;
    return { path, onDisk: !isLink };
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Deletes the directory with all that is in it, and the link. A directory that is not there is fine. */
export function removeMemoryDir(link: string): void {
  const known = findMemoryDir(link);
  if (known !== undefined) rmSync(known.path, { recursive: true, force: true });
  rmSync(link, { recursive: true, force: true });
}

function statOf(path: string) {
  const stat = lstatSync(path);
  return { mode: stat.mode, uid: stat.uid, isDir: stat.isDirectory() };
}

function makeIn(root: string): string | undefined {
  try {
    if (!existsSync(root) || !MEMORY_FILE_SYSTEMS.has(statfsSync(root).type)) return undefined;
    return mkdtempSync(join(root, "drover-"));
  } catch {
    return undefined; // this user may not write there, or it is full
  }
}
