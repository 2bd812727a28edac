// Which files of objects that store nothing can be removed?
import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { errorCode } from "../../posix/errors.ts";
import { pathIn } from "./names.ts";

/** The first page of a database lists its tables, and each table has at least one more page. */
const PAGE_BYTES = 4_096;
/** The runtime's database for a whole class of objects, with their alarms. */
const CLASS_DATABASE = "metadata.sqlite";

/**
 * Removes the databases of objects that store nothing. The runtime creates a database for each object that is
 * called, before any of our code runs. So a refused call under a made-up name creates a database, too (X15).
 * Call this only while no runtime is up.
 */
export function removeEmptyObjects(stateDir: string): void {
  const objects = join(pathIn(stateDir, "objects"), "do");
  for (const kind of namesIn(objects)) {
    for (const name of namesIn(join(objects, kind))) {
      const database = join(objects, kind, name);
      if (!name.endsWith(".sqlite") || name === CLASS_DATABASE || !isEmpty(database)) continue;
      for (const ending of ["-shm", "-wal", ""]) rmSync(database + ending, { force: true });
    }
  }
}

/** Whether a database has no table. The last writes of a killed runtime are still in the `-wal` file. */
function isEmpty(database: string): boolean {
  return sizeOf(database) <= PAGE_BYTES && sizeOf(`${database}-wal`) === 0;
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch (error) {
    if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") return [];
    throw error;
  }
}
