// How is a directory created with its parents, even where Node's own `mkdir` never ends?
import { mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

/**
 * Creates a directory and its missing parents. Throws the system's error. Node's recursive `mkdir` is not
 * used: it treats each ENOENT as a missing parent, so it never ends below `/proc`, where an existing parent
 * answers ENOENT.
 */
export function makeDirs(path: string, mode?: number): void {
  const dir = resolve(path);
  try {
    mkdirSync(dir, { mode });
  } catch (error) {
    if (isDirectory(dir)) return;
    const parent = dirname(dir);
    if (parent === dir || isDirectory(parent)) throw error;
    makeDirs(parent, mode);
    makeBelow(dir, mode);
  }
}

/** Creates a directory whose parent was there a moment ago. */
function makeBelow(dir: string, mode: number | undefined): void {
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
