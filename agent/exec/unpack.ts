import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { extract, list, type ReadEntry } from "tar";
import { entryFault } from "../core/archive.ts";
import { MAX_ARCHIVE_ENTRIES, MAX_UNPACKED_BYTES } from "../core/bounds.ts";
import { errorText, isDiskFull } from "../files.ts";

const ARCHIVE = /\.(tar|tar\.gz|tgz)$/i;

/** Whether a file of this name is unpacked, and not only fetched. */
export function isArchive(name: string): boolean {
  return ARCHIVE.test(name);
}

/** What an archive may bring. */
export interface UnpackBounds {
  bytes: number;
  entries: number;
}

const BOUNDS: UnpackBounds = { bytes: MAX_UNPACKED_BYTES, entries: MAX_ARCHIVE_ENTRIES };

/** What is wrong with an archive: with these bytes it will never be another thing. */
export class ArchiveFault extends Error {}

/**
 * Unpacks an archive into a directory. It is read to its end first, so that one which would leave the
 * directory, or is cut or too large, leaves nothing behind. No file gets an owner, or the right to act as
 * one, from the archive. Throws an `ArchiveFault`, what the disk says, or the reason of the signal.
 */
export async function unpack(
  archive: string,
  into: string,
  signal: AbortSignal,
  bounds: UnpackBounds = BOUNDS,
): Promise<void> {
  await survey(archive, signal, bounds);
  const onReadEntry = (entry: ReadEntry) => {
    if (entry.mode !== undefined) entry.mode &= 0o777;
  };
  const unpacking = extract({ cwd: into, strict: true, preserveOwner: false, onReadEntry });
  await feed(archive, unpacking, signal);
}

async function survey(archive: string, signal: AbortSignal, bounds: UnpackBounds): Promise<void> {
  const stop = new AbortController();
  let entries = 0;
  let bytes = 0;
  const onReadEntry = (entry: ReadEntry) => {
    entries += 1;
    bytes += entry.size;
    const fault =
      entryFault(entry) ??
      (entries > bounds.entries ? `it has more than ${bounds.entries} entries` : undefined) ??
      (bytes > bounds.bytes ? `it would unpack to more than ${bounds.bytes} bytes` : undefined);
    if (fault !== undefined) stop.abort(new ArchiveFault(fault));
    entry.resume();
  };
  await feed(archive, list({ strict: true, onReadEntry }), AbortSignal.any([signal, stop.signal]));
}

async function feed(archive: string, reader: NodeJS.WritableStream, signal: AbortSignal): Promise<void> {
  try {
    await pipeline(createReadStream(archive), reader, { signal });
    signal.throwIfAborted();
  } catch (error) {
    signal.throwIfAborted();
    if (isDiskFull(error)) throw error;
    throw new ArchiveFault(errorText(error));
  }
}
