// How are the outputs of a task, or the data of a placement, packed and stored?
import { rmSync } from "node:fs";
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { packBounds } from "../../../archive/bounds.ts";
import { ArchiveFault } from "../../../archive/faults.ts";
import { type PackBounds, pack } from "../../../archive/pack.ts";
import { isDiskFull } from "../../../posix/errors.ts";
import { makePrivateDir } from "../../../posix/files.ts";
import type { OutputsOutcome } from "../../../src/schema/host.ts";
import { MAX_SNAPSHOT_BYTES, STORE_OUTPUTS_MS } from "../../../src/shared/limits.ts";
import type { Millis } from "../../../src/shared/machine.ts";
import { errorText } from "../../../src/shared/words.ts";
import { type Snapshots, unlessStalled } from "../../plane/snapshots.ts";
import { MAX_ERROR_CHARS } from "../start-fault.ts";
import type { TaskDirs } from "./alloc-dirs.ts";

const PACK_BOUNDS = packBounds(MAX_SNAPSHOT_BYTES);

/** Where outputs are, and where they are to be stored. */
export interface OutputsPlace {
  dirs: Pick<TaskDirs, "local" | "private">;
  /** Undefined: the control plane has no bucket. */
  snapshots: Snapshots | undefined;
  signal: AbortSignal;
  bounds?: PackBounds;
  /** Packing is given up after this long without progress. Tests use a shorter time. */
  stallsMs?: Millis;
}

/**
 * Packs the files of a task's directory that match the globs, and stores them. A failure is an outcome, too:
 * the promise rejects only with the reason of the signal.
 */
export async function collectOutputs(globs: string[], place: OutputsPlace): Promise<OutputsOutcome> {
  const { dirs } = place;
  return packSafely("The outputs", place, async () => {
    // Only these two directories are needed. The task may have deleted them, or put something else in their
    // place.
    for (const dir of [dirs.private, dirs.local]) makePrivateDir(dir);
    // A link to another directory is refused, too.
    if (!(await lstat(dirs.local)).isDirectory())
      throw new ArchiveFault("the task's directory is no longer a directory");
    // The name is fixed, since a task has only one collection at a time. The new file replaces a file that a
    // killed agent has left.
    return { root: dirs.local, globs, file: join(dirs.private, "outputs.tar.gz") };
  });
}

/** Packs and stores the data of the sticky placement whose directory is `root`, like `collectOutputs`. */
export function storeData(
  root: string,
  globs: readonly string[],
  place: Omit<OutputsPlace, "dirs">,
): Promise<OutputsOutcome> {
  return packSafely("The data", place, async () => ({ root, globs, file: join(root, ".data.tar.gz") }));
}

/** What to pack, into which file. */
interface PackJob {
  root: string;
  globs: readonly string[];
  file: string;
}

async function packSafely(
  what: string,
  { snapshots, signal, bounds = PACK_BOUNDS, stallsMs = STORE_OUTPUTS_MS }: Omit<OutputsPlace, "dirs">,
  prepare: () => Promise<PackJob>,
): Promise<OutputsOutcome> {
  if (snapshots === undefined) {
    return failure(`${what} cannot be stored: the control plane has no bucket (\`LOGS\`).`);
  }
  try {
    const { file, ...job } = await prepare();
    try {
      const why = `packing them made no progress for ${stallsMs / 1_000} s`;
      const packed = await unlessStalled(stallsMs, why, signal, (both, onProgress) =>
        pack(job, file, both, bounds, onProgress),
      );
      await snapshots.store({ file, ...packed }, signal);
      return { snapshot: `sha256:${packed.sha256}`, files: packed.files, bytes: packed.bytes };
    } finally {
      rmSync(file, { force: true });
    }
  } catch (error) {
    signal.throwIfAborted();
    return failure(errorFor(what, error));
  }
}

function errorFor(what: string, error: unknown): string {
  const text = errorText(error);
  if (error instanceof ArchiveFault)
    return `${what} cannot be packed: ${text}. Name fewer files, or other ones.`;
  if (isDiskFull(error)) return `No space is left on this machine's disk to pack ${what.toLowerCase()}.`;
  return `${what} could not be collected: ${text}`;
}

function failure(error: string): OutputsOutcome {
  return { error: error.slice(0, MAX_ERROR_CHARS) };
}
