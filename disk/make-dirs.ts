import { mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

/**
 * Makes a directory and those above it that are missing. Throws what the system says.
 *
 * Node's own recursive `mkdir` takes each ENOENT for a missing parent. Below `/proc` that is the answer
 * to the last name, and it never comes to an end there.
 */
export function makeDirs(path: string, mode?: number): void {
  const dir = resolve(path);
  const parent = dirname(dir);
  if (!isDirectory(parent) && parent !== dir) makeDirs(parent, mode);
  try {
    mkdirSync(dir, { mode });
  } catch (error) {
    if (!isDirectory(dir)) throw error;
  }
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
