// How is a file of our own written whole or not at all?
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { makeDirs } from "../disk/make-dirs.ts";
import { errorCode } from "./errors.ts";

/** Only our own user may read what we keep: secrets, and the logs of tasks. */
const PRIVATE_FILE = 0o600;
const PRIVATE_DIR = 0o700;

/** How the name of a file ends that a crash may leave beside the one that was being written. */
export const DRAFT_ENDING = ".new";

/** Writes a file whole or not at all, also across a crash of the machine. */
export function writeAtomically(path: string, text: string): void {
  write(path, text, true);
  const folder = openSync(dirname(path), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/**
 * Writes a file whole or not at all, whatever happens to this process. After a crash of the machine it may
 * be empty: for what nobody needs then, since waiting for the disk takes longer than starting a command.
 */
export function replaceFile(path: string, text: string): void {
  write(path, text, false);
}

/** A file has one writer. What else may lie in the draft's place, a link for one, is never written to. */
function write(path: string, text: string, flush: boolean): void {
  const draft = path + DRAFT_ENDING;
  rmSync(draft, { force: true });
  try {
    writeFileSync(draft, text, { mode: PRIVATE_FILE, flag: "wx", flush });
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/** The text of a file; undefined if there is none. */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Makes a folder and those above it, for nobody else to look into. */
export function makePrivateDir(path: string): void {
  makeDirs(path, PRIVATE_DIR);
}
