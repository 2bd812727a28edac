// How a directory becomes a stored snapshot, for `--upload` and `drover snapshots upload`.
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { packBounds } from "../../archive/bounds.ts";
import { ArchiveFault, isOfSystem } from "../../archive/faults.ts";
import { pack } from "../../archive/pack.ts";
import type { Found } from "../../archive/walk.ts";
import type { Client } from "../../client/client.ts";
import type { Stored } from "../../client/snapshots.ts";
import { MAX_SNAPSHOT_BYTES } from "../../src/shared/limits.ts";
import { formatSize } from "../../src/shared/size.ts";
import { CliError } from "../errors.ts";
import type { Io } from "../terminal/io.ts";
import { watchWork } from "../terminal/progress.ts";
import { counted, printable } from "../terminal/text.ts";
import { filesToSend } from "./files.ts";
import { recall, remember } from "./known.ts";
import { withScratchFile } from "./scratch.ts";
import { type Stamps, stampsOf } from "./stamps.ts";

/**
 * Packs a directory and stores it, unless the same files are stored already. Reads no file if none has
 * changed since the latest upload. If this takes long, shows the progress on stderr.
 */
export async function uploadDirectory(io: Io, client: Client, directory: string): Promise<Stored> {
  const root = resolve(io.cwd, directory);
  await checkDirectory(root, directory);
  const shown = printable(directory);
  let text = `Looking for the files of ${shown}`;
  const work = watchWork(io, () => text);
  try {
    return await withScratchFile(async (file, signal) => {
      const files: Found[] = [];
      for await (const found of filesToSend(root, signal)) {
        files.push(found);
        text = `Looking for the files of ${shown}: ${files.length} so far`;
      }
      if (files.length === 0) throw nothingToSend(directory);
      const stamps = await stampsOf(root, files, signal);
      const stored = await storedBefore(io, client, root, stamps, signal);
      if (stored !== undefined) return stored;
      text = `Packing ${shown}`;
      const made = await pack({ root, files }, file, signal, packBounds(MAX_SNAPSHOT_BYTES));
      const { sha256, bytes } = made;
      const count = counted(made.files, "file");
      const progress = (sent: number) => {
        text = `Uploading ${shown}: ${count}, ${formatSize(sent)} of ${formatSize(bytes)}`;
      };
      progress(0);
      const uploaded = await client.snapshots.upload(
        file,
        { sha256, bytes },
        { signal, onProgress: progress },
      );
      if (stamps.isSettled) remember(io, root, { stamps: stamps.digest, sha256, bytes });
      return uploaded;
    });
  } catch (error) {
    throw packingFault(error, directory);
  } finally {
    await work.stop();
  }
}

/** The snapshot of the latest upload, if no file has changed since, and if it is still stored. */
async function storedBefore(
  io: Io,
  client: Client,
  root: string,
  { digest }: Stamps,
  signal: AbortSignal,
): Promise<Stored | undefined> {
  const known = recall(io, root);
  if (known?.stamps !== digest) return undefined;
  const id = `sha256:${known.sha256}`;
  const isStored = await client.snapshots.isStored(id, { signal });
  return isStored ? { id, bytes: known.bytes, found: true } : undefined;
}

async function checkDirectory(root: string, directory: string): Promise<void> {
  const found = await stat(root).catch((error: unknown) => {
    throw packingFault(error, directory);
  });
  if (!found.isDirectory()) throw new CliError(`${directory} is not a directory.`);
}

function nothingToSend(directory: string): CliError {
  return new CliError(`There is nothing to upload in "${directory}".`, [
    "It is empty, or .gitignore and .droverignore exclude everything in it.",
  ]);
}

const REASONS: Record<string, string> = {
  ENOENT: "there is no such file or directory",
  ENOTDIR: "there is no such file or directory",
  EACCES: "permission denied",
  EPERM: "permission denied",
  ENOSPC: "the disk for temporary files is full",
};

/** Puts an error of the upload into words. */
export function packingFault(error: unknown, directory: string): unknown {
  if (error instanceof ArchiveFault) {
    return new CliError(`${directory} cannot be uploaded: ${printable(error.message)}.`, [
      "To leave files out, list them in a .droverignore there, in the syntax of .gitignore.",
    ]);
  }
  if (!isOfSystem(error)) return error;
  const { code = "", path = directory, message } = error;
  return new CliError(`${printable(path)} cannot be read: ${REASONS[code] ?? message}.`);
}
