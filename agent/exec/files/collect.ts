// How the outputs of a task are packed and stored.
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
import type { Snapshots } from "../../plane/snapshots.ts";
import type { TaskDirs } from "./alloc-dirs.ts";

const PACK_BOUNDS = packBounds(MAX_SNAPSHOT_BYTES);

/** Room for it in every report. */
const MAX_ERROR_CHARS = 1_024;

/** Where outputs are, and where they go. */
export interface OutputsPlace {
  dirs: Pick<TaskDirs, "local" | "private">;
  /** Absent: there is nowhere to store them. */
  snapshots: Snapshots | undefined;
  signal: AbortSignal;
  bounds?: PackBounds;
  /** Packing that gets no further for so long is given up, as storing is. Tests have a shorter time. */
  stallsMs?: Millis;
}

/**
 * Packs what globs name of a task's directory, and stores it. What keeps that from being done is an outcome,
 * too, whatever the task has left there; only when the signal ends it this rejects, with its reason.
 */
export async function collectOutputs(globs: string[], place: OutputsPlace): Promise<OutputsOutcome> {
  const { dirs } = place;
  return stored("The outputs", place, async () => {
    // What it needs, and no more: a task can delete its directories, and put other things in their place.
    for (const dir of [dirs.private, dirs.local]) makePrivateDir(dir);
    // Also a link to another directory.
    if (!(await lstat(dirs.local)).isDirectory())
      throw new ArchiveFault("the task's directory is none any more");
    // One at a time of a task: an earlier agent that was killed while it wrote this has left nothing of use.
    return { root: dirs.local, globs, file: join(dirs.private, "outputs.tar.gz") };
  });
}

/**
 * Packs the data of a sticky placement, whose directory is `root`, and stores them, as `collectOutputs` does.
 */
export function storeData(
  root: string,
  globs: readonly string[],
  place: Omit<OutputsPlace, "dirs">,
): Promise<OutputsOutcome> {
  return stored("The data", place, async () => ({ root, globs, file: join(root, ".data.tar.gz") }));
}

/** What is packed, and the file that it is packed into. */
interface Parcel {
  root: string;
  globs: readonly string[];
  file: string;
}

async function stored(
  what: string,
  place: Omit<OutputsPlace, "dirs">,
  make: () => Promise<Parcel>,
): Promise<OutputsOutcome> {
  const { snapshots, signal } = place;
  if (snapshots === undefined) {
    return lost(`${what} cannot be stored: the control plane has no bucket (\`LOGS\`).`);
  }
  try {
    return await packAndStore(await make(), place, snapshots);
  } catch (error) {
    signal.throwIfAborted();
    return lost(wordsOf(what, error));
  }
}

async function packAndStore(
  { file, ...what }: Parcel,
  { signal, bounds = PACK_BOUNDS, stallsMs = STORE_OUTPUTS_MS }: Omit<OutputsPlace, "dirs">,
  snapshots: Snapshots,
): Promise<OutputsOutcome> {
  try {
    const made = await unlessStalled(stallsMs, signal, (both, onProgress) =>
      pack(what, file, both, bounds, onProgress),
    );
    await snapshots.store({ file, ...made }, signal);
    return { snapshot: `sha256:${made.sha256}`, files: made.files, bytes: made.bytes };
  } finally {
    rmSync(file, { force: true });
  }
}

/**
 * Ends work that says nothing of progress for too long. It is not waited for then: a file system that hangs
 * keeps also what is told to stop.
 */
async function unlessStalled<Result>(
  stallsMs: Millis,
  signal: AbortSignal,
  work: (signal: AbortSignal, onProgress: () => void) => Promise<Result>,
): Promise<Result> {
  const stop = new AbortController();
  const timer = setTimeout(() => {
    stop.abort(new Error(`packing them got no further for ${stallsMs / 1_000} s`));
  }, stallsMs);
  try {
    const both = AbortSignal.any([signal, stop.signal]);
    const stopped = new Promise<never>((_, reject) => {
      both.addEventListener("abort", () => reject(both.reason), { once: true });
    });
    return await Promise.race([work(both, () => void timer.refresh()), stopped]);
  } finally {
    clearTimeout(timer);
  }
}

function wordsOf(what: string, error: unknown): string {
  const text = errorText(error);
  if (error instanceof ArchiveFault) return `${what} cannot be packed: ${text}. Name less, or other files.`;
  if (isDiskFull(error)) return `No space is left on this machine's disk to pack ${what.toLowerCase()}.`;
  return `${what} could not be collected: ${text}`;
}

function lost(error: string): OutputsOutcome {
  return { error: error.slice(0, MAX_ERROR_CHARS) };
}
