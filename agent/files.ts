import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { makeDirs } from "../disk/make-dirs.ts";

/** Only the agent's own user may read what it keeps: the secret of the host, and the logs of tasks. */
const PRIVATE_FILE = 0o600;
const PRIVATE_DIR = 0o700;

/** Writes a file whole or not at all, also across a crash of the machine. */
export function writeAtomically(path: string, text: string): void {
  const draft = `${path}.new`;
  const fd = openSync(draft, "w", PRIVATE_FILE);
  try {
    writeSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(draft, path);
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
  const draft = `${path}.new`;
  writeFileSync(draft, text, { mode: PRIVATE_FILE });
  renameSync(draft, path);
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

/** The system's name for what went wrong (`ENOENT`), if it was the system that said so. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** Whether nothing more can be written, because the disk or what we may use of it is full. */
export function isDiskFull(error: unknown): boolean {
  return errorCode(error) === "ENOSPC" || errorCode(error) === "EDQUOT";
}

/** The text of anything that was thrown. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
