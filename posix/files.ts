// How is a small file read that may not be there, and how is a private folder made?
import { readFileSync, statSync } from "node:fs";
import { makeDirs } from "../disk/make-dirs.ts";
import { errorCode, isStarved } from "./errors.ts";

/** Only this user may read Drover's files: there are secrets among them, and logs of tasks. */
export const PRIVATE_DIR = 0o700;

/** The text of a file; undefined if there is none, which is cheaper to ask than to learn by an error. */
export function readIfThere(path: string): string | undefined {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** The text of a file; undefined if it cannot be read, for whatever reason. */
export function tryReadText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

/**
 * The text of a file of the kernel; empty if the file cannot be read, because its process or group is gone or
 * belongs to another user. Throws if the system is starved, which proves nothing.
 */
export function readUnlessGone(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (isStarved(error)) throw error;
    return "";
  }
}

/** Whether the kernel has such a file. Throws if the system is starved, which proves nothing. */
export function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    if (isStarved(error)) throw error;
    return false;
  }
}

/** The JSON in a file; undefined if it cannot be read, or is not JSON. */
export function tryReadJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}

/** Creates a folder and its missing parents, closed to other users. */
export function makePrivateDir(path: string): void {
  makeDirs(path, PRIVATE_DIR);
}
