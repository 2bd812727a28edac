// Can a file be trusted to say where tokens and commands go? `context.ts` uses this.
import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, type Stats } from "node:fs";
import { basename, dirname } from "node:path";
import { trackedIn } from "../disk/tracked.ts";
import { errorText } from "../src/shared/words.ts";
import { CliError } from "./errors.ts";

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
/** Mode bits that let users other than the owner write. */
const OTHERS_WRITE = 0o022;
/** Mode bits that let users other than the owner do anything. */
const OTHERS = 0o077;
/** Files of root are trusted, since root can act as the caller anyway. */
const ROOT = 0;

/**
 * Reads a file that decides where tokens and commands go; undefined if the file does not exist. The file and
 * its directory must belong to the caller or to root, must not be links, and must not be writable by others.
 * A file of the caller must not be readable by others, and Git must not track it: a checkout or a parent
 * directory may come from somebody else. Throws a `CliError` that says what is wrong.
 */
export function readOwnFile(path: string): string | undefined {
  try {
    checkOwn(dirname(path), lstatSync(dirname(path)), "directory");
    // O_NONBLOCK: opening a pipe without a writer would hang.
    const file = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      checkOwn(path, fstatSync(file), "file");
      checkUntracked(path);
      return readFileSync(file, "utf8");
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (error instanceof CliError) throw error;
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    if (code === "ELOOP") throw strange(path, "it is a link");
    throw new CliError(`Cannot read ${path}: ${errorText(error)}`, [
      "It belongs to the user who ran `drover up` there. For another Drover set DROVER_URL and DROVER_TOKEN.",
    ]);
  }
}

function checkOwn(path: string, stats: Stats, kind: "directory" | "file"): void {
  if (stats.isSymbolicLink()) throw strange(path, "it is a link");
  if (kind === "file" && !stats.isFile()) throw strange(path, "it is not a regular file");
  const me = process.geteuid?.();
  if (me === undefined) return; // Windows has neither these owners nor these modes
  if (stats.uid !== me && stats.uid !== ROOT) {
    throw strange(path, `it belongs to user ${stats.uid}, and you are user ${me}`);
  }
  const mode = (stats.mode & 0o7777).toString(8);
  if ((stats.mode & OTHERS_WRITE) !== 0) throw strange(path, `others may write to it (mode ${mode})`);
  // `drover up` makes the file readable only for its user. A file from a repository is readable for others,
  // too.
  if (kind === "file" && stats.uid === me && (stats.mode & OTHERS) !== 0) {
    throw strange(path, `others can read it (mode ${mode}), and so know its token`);
  }
}

/**
 * Throws if Git tracks the file, or if that is unclear. Owner and mode do not reveal a cloned file: the
 * caller owns the file, and a strict umask makes it private.
 */
function checkUntracked(path: string): void {
  const tracked = trackedIn(dirname(path), basename(path));
  if (tracked === undefined) return;
  if ("unclear" in tracked) throw strange(path, tracked.unclear);
  throw strange(path, "Git tracks it, so it came with the repository");
}

function strange(path: string, why: string): CliError {
  return new CliError(`${path} is not trusted: ${why}.`, [
    "This file decides where your token, commands and files go. If you do mean that Drover, set DROVER_URL",
    "and DROVER_TOKEN, or run this as the user who started it. Otherwise change to a directory that is not",
    "below that one.",
  ]);
}
