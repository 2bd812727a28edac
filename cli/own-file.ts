// Can a file be trusted to say where tokens and commands go? `context.ts` and `config/config-file.ts` ask.
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
  return read(path, {
    untrusted: [
      "This file decides where your token, commands and files go. If you do mean that Drover, set DROVER_URL",
      "and DROVER_TOKEN, or run this as the user who started it. Otherwise change to a directory that is not",
      "below that one.",
    ],
    unreadable: [
      "It belongs to the user who ran `drover up` there. For another Drover set DROVER_URL and DROVER_TOKEN.",
    ],
    isOfCheckout: true,
  });
}

/**
 * Reads a file with secrets of the caller, at a place that no checkout and no other user has chosen;
 * undefined if it does not exist. What `readOwnFile` asks holds, but for Git. `hints`: what an error advises.
 */
export function readPrivateFile(path: string, hints: readonly string[]): string | undefined {
  return read(path, { untrusted: hints, unreadable: hints, isOfCheckout: false });
}

interface Reading {
  /** What an error advises about a file that is not trusted, and about one that cannot be read. */
  untrusted: readonly string[];
  unreadable: readonly string[];
  /** Whether the file may have come with a repository. */
  isOfCheckout: boolean;
}

function read(path: string, { untrusted, unreadable, isOfCheckout }: Reading): string | undefined {
  const strange = (of: string, why: string) => new CliError(`${of} is not trusted: ${why}.`, untrusted);
  try {
    const folder = distrust(lstatSync(dirname(path)), "directory");
    if (folder !== undefined) throw strange(dirname(path), folder);
    // O_NONBLOCK: opening a pipe without a writer would hang.
    const file = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      const why = distrust(fstatSync(file), "file") ?? (isOfCheckout ? trackedAs(path) : undefined);
      if (why !== undefined) throw strange(path, why);
      return readFileSync(file, "utf8");
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (error instanceof CliError) throw error;
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    if (code === "ELOOP") throw strange(path, "it is a link");
    throw new CliError(`Cannot read ${path}: ${errorText(error)}`, unreadable);
  }
}

/** Why a file or its directory cannot be trusted; undefined if it can. */
function distrust(stats: Stats, kind: "directory" | "file"): string | undefined {
  if (stats.isSymbolicLink()) return "it is a link";
  if (kind === "file" && !stats.isFile()) return "it is not a regular file";
  const me = process.geteuid?.();
  if (me === undefined) return undefined; // Windows has neither these owners nor these modes
  if (stats.uid !== me && stats.uid !== ROOT) {
    return `it belongs to user ${stats.uid}, and you are user ${me}`;
  }
  const mode = (stats.mode & 0o7777).toString(8);
  if ((stats.mode & OTHERS_WRITE) !== 0) return `others may write to it (mode ${mode})`;
  // Drover makes such a file readable only for its user. A file from a repository is readable for others.
  if (kind === "file" && stats.uid === me && (stats.mode & OTHERS) !== 0) {
    return `others can read it (mode ${mode}), and so know its token`;
  }
  return undefined;
}

/**
 * Whether Git tracks the file, or cannot tell, as a reason. Owner and mode do not reveal a cloned file: the
 * caller owns the file, and a strict umask makes it private.
 */
function trackedAs(path: string): string | undefined {
  const tracked = trackedIn(dirname(path), basename(path));
  if (tracked === undefined) return undefined;
  return "unclear" in tracked ? tracked.unclear : "Git tracks it, so it came with the repository";
}
