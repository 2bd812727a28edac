// How are task directories used safely, which tasks may change meanwhile? Each is opened once without
// following links, and then addressed by its descriptor (`/proc/self/fd/…`, like openat(2)).
import { chmodSync, closeSync, constants, type Dirent, fstatSync, openSync, readdirSync } from "node:fs";
import { errorCode } from "../../../posix/errors.ts";

/** `O_PATH` of Linux: it needs no right to read the directory. */
const O_PATH = 0o10000000;
const OPEN_DIR = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** What somebody who changes names in between can make of a step: the next round sees what is left. */
const CHANGED = ["ENOENT", "ENOTDIR", "ELOOP", "EISDIR", "EEXIST", "ENOTEMPTY"];

/** A descriptor of a directory; undefined if there is none. Whoever calls this closes it. */
export function openDir(path: string | Buffer): number | undefined {
  let dir: number | undefined;
  unless(["ENOENT", "ENOTDIR", "ELOOP"], () => {
    dir = openSync(path, OPEN_DIR);
  });
  return dir;
}

/** Does something with an open directory, and closes it; undefined if there is none. */
export function withDir<Result>(path: string | Buffer, act: (dir: number) => Result): Result | undefined {
  const dir = openDir(path);
  if (dir === undefined) return undefined;
  try {
    return act(dir);
  } finally {
    closeSync(dir);
  }
}

/** A task may have taken its own rights to a directory away. Who may not give them back is told so later. */
export function allowOwner(dir: number): void {
  if ((fstatSync(dir).mode & 0o700) === 0o700) return;
  unless(["EPERM", "EROFS"], () => chmodSync(`/proc/self/fd/${dir}`, 0o700));
}

/** What lies in an open directory. Names need not be UTF-8. */
export function entriesOf(dir: number): Dirent<Buffer>[] {
  return readdirSync(`/proc/self/fd/${dir}`, { withFileTypes: true, encoding: "buffer" });
}

/** What lies under this name in an open directory, as a path. */
export function inside(dir: number, name: string | Buffer): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${dir}/`), Buffer.from(name)]);
}

/** Whether a step was taken; not if somebody has changed names in between. */
export function isDone(step: () => void): boolean {
  let done = false;
  unless(CHANGED, () => {
    step();
    done = true;
  });
  return done;
}

/** Takes a step that may fail in these ways, by the system's names for them. */
export function unless(codes: readonly string[], step: () => void): void {
  try {
    step();
  } catch (error) {
    if (!codes.includes(errorCode(error) ?? "")) throw error;
  }
}
