// How is a file of Drover written whole or not at all?
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** Only this user may read Drover's files: there are secrets among them, and logs of tasks. */
const PRIVATE_FILE = 0o600;

/** Ending of the temporary file that a crash can leave beside the file that was being written. */
export const TEMPORARY_ENDING = ".new";

/** Writes a file whole or not at all, also across a crash of the machine. */
export function writeAtomically(path: string, content: string | Uint8Array): void {
  write(path, content, true);
  const folder = openSync(dirname(path), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/**
 * Writes a file whole or not at all, whatever happens to this process. A crash of the machine can leave the
 * file empty, so use this only for files that are not needed after a boot. A flush would take longer than the
 * start of a command.
 */
export function replaceFile(path: string, text: string): void {
  write(path, text, false);
}

/**
 * A file must have only one writer. `wx` never writes through a link that somebody has put at the temporary
 * path.
 */
function write(path: string, content: string | Uint8Array, flush: boolean): void {
  const temporary = path + TEMPORARY_ENDING;
  try {
    writeNew(temporary, content, flush);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** Writes a file that is not there. One that a crash has left is deleted first. */
function writeNew(path: string, content: string | Uint8Array, flush: boolean): void {
  const options = { mode: PRIVATE_FILE, flag: "wx", flush };
  try {
    writeFileSync(path, content, options);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    rmSync(path, { force: true });
    writeFileSync(path, content, options);
  }
}
