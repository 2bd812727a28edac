// How are directories used safely while tasks may change them? Each directory is opened once, without
// following links, and then addressed by its descriptor (`/proc/self/fd/…`, like openat(2)).
import { chmodSync, closeSync, constants, type Dirent, fstatSync, openSync, readdirSync } from "node:fs";
import { errorCode } from "../../../posix/errors.ts";

/** `O_PATH` (Linux) opens a directory even if this process may not read it. */
const O_PATH = 0o10000000;
const OPEN_DIR = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** Errors that appear if a task renames or replaces entries at the same time. */
const CHANGED = ["ENOENT", "ENOTDIR", "ELOOP", "EISDIR", "EEXIST", "ENOTEMPTY"];

/**
 * Opens a directory. Undefined if the path names no directory, or a link. The caller closes the descriptor.
 */
export function openDir(path: string | Buffer): number | undefined {
  let dir: number | undefined;
  ignoringErrors(["ENOENT", "ENOTDIR", "ELOOP"], () => {
    dir = openSync(path, OPEN_DIR);
  });
  return dir;
}

/** Opens a directory for `act`, and closes it afterwards; undefined if there is no such directory. */
export function withDir<Result>(path: string | Buffer, act: (dir: number) => Result): Result | undefined {
  const dir = openDir(path);
  if (dir === undefined) return undefined;
  try {
    return act(dir);
  } finally {
    closeSync(dir);
  }
}

/**
 * Gives the owner all rights to a directory, in case a task took them away. Later steps fail if this fails.
 */
export function allowOwner(dir: number): void {
  if ((fstatSync(dir).mode & 0o700) === 0o700) return;
  ignoringErrors(["EPERM", "EROFS"], () => chmodSync(pathOf(dir), 0o700));
}

/** The path of an open directory, which leads to it wherever it is moved. */
export function pathOf(dir: number): string {
  return `/proc/self/fd/${dir}`;
}

/** The entries of an open directory. Their names need not be UTF-8. */
export function entriesOf(dir: number): Dirent<Buffer>[] {
  return readdirSync(`/proc/self/fd/${dir}`, { withFileTypes: true, encoding: "buffer" });
}

/** The path of an entry, through the descriptor of its directory. */
export function inside(dir: number, name: string | Buffer): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${dir}/`), Buffer.from(name)]);
}

/** Whether a step succeeds. False if a task has renamed or replaced entries; throws any other error. */
export function succeeds(step: () => void): boolean {
  let done = false;
  ignoringErrors(CHANGED, () => {
    step();
    done = true;
  });
  return done;
}

/** Takes a step, and ignores errors with these codes. */
export function ignoringErrors(codes: readonly string[], step: () => void): void {
  try {
    step();
  } catch (error) {
    if (!codes.includes(errorCode(error) ?? "")) throw error;
  }
}
