// How is an archive unpacked safely below a directory?
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { extract, list, type ReadEntry } from "tar";
import { FileCount } from "./count.ts";
import { entryFault } from "./entries.ts";
import { ArchiveFault, isSystemError } from "./faults.ts";
import { openDecompressed } from "./gzip/compression.ts";
import { isDirectory, Modes } from "./modes.ts";
import { ALL_ENTRIES, type EntryFilter } from "./result.ts";

/** How much an archive may contain. */
export interface UnpackBounds {
  /** The total size of its files. */
  bytes: number;
  entries: number;
}

export interface UnpackOptions {
  /** The umask for directories that the archive does not list; absent: the umask of this process. */
  umask?: number;
  filter?: EntryFilter;
}

export interface UnpackResult {
  /** Files, links and empty directories. */
  files: number;
  /** The first few paths that were skipped. */
  skipped: string[];
}

const MAX_SKIPPED_SHOWN = 10;

/** An archive ends with at least two blocks of zeros. */
const BLOCK_BYTES = 512;
const END_BYTES = 2 * BLOCK_BYTES;

/** The most bytes that an entry adds to its content: headers, long names, padding. */
const MOST_AROUND_ENTRY = 16 * 1024;

/**
 * Unpacks a tar archive (plain, gzip or zstd) into an existing directory. The whole archive is checked first:
 * if it is truncated or too large, or if an entry leads out of the directory, nothing is unpacked. Owners and
 * set-id bits are not restored. Throws an `ArchiveFault`, the system's error if the disk is full, or the
 * reason of the signal.
 */
export async function unpack(
  file: string,
  into: string,
  signal: AbortSignal,
  bounds: UnpackBounds,
  { umask, filter = ALL_ENTRIES }: UnpackOptions = {},
): Promise<UnpackResult> {
  const { entries, ...unpacked } = await survey(file, signal, bounds, filter);
  if (entries === 0) return unpacked;
  const modes = new Modes(into, umask);
  // When the library unpacks, the second argument is always an entry.
  const chosen = (_path: string, entry: unknown) => !filter.skips(entry as ReadEntry);
  const onReadEntry = (entry: ReadEntry) => modes.note(entry);
  const how = {
    sync: true,
    cwd: into,
    strict: true,
    preserveOwner: false,
    filter: chosen,
    onReadEntry,
  } as const;
  const unpacking = extract(how);
  await feed(file, unpacking, signal, new StreamMeter(bounds));
  await modes.apply(signal);
  return unpacked;
}

interface Survey extends UnpackResult {
  entries: number;
}

async function survey(
  file: string,
  signal: AbortSignal,
  bounds: UnpackBounds,
  filter: EntryFilter,
): Promise<Survey> {
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  const seen = new StreamMeter(bounds);
  let entries = 0;
  let bytes = 0;
  const count = new FileCount();
  const skipped: string[] = [];
  /**
   * `entryFault` comes first, since it bounds the length of names: the other checks are slow for long names.
   */
  const faultOf = (entry: ReadEntry) => {
    const fault = entryFault(entry);
    if (fault !== undefined) return fault;
    if (!filter.skips(entry)) {
      count.add(entry.path, isDirectory(entry));
      return filter.fault(entry);
    }
    if (skipped.length < MAX_SKIPPED_SHOWN) skipped.push(entry.path);
    return undefined;
  };
  const onReadEntry = (entry: ReadEntry) => {
    entries += 1;
    bytes += entry.size;
    const fault =
      faultOf(entry) ??
      (entries > bounds.entries ? `it has more than ${bounds.entries} entries` : undefined) ??
      (bytes > bounds.bytes ? tooLarge(bounds) : undefined);
    if (fault !== undefined) stop.abort(new ArchiveFault(fault));
    entry.resume();
  };
  try {
    await feed(file, list({ strict: true, onReadEntry }), both, seen);
  } catch (error) {
    // The library rejects an archive without entries, but a command that made no file leaves such an archive.
    if (seen.isEmpty && error instanceof ArchiveFault) return { entries: 0, files: 0, skipped };
    throw error;
  }
  return { entries, files: count.files, skipped };
}

/** Pipes the decompressed archive into a reader of tar, and turns errors of the archive into faults. */
async function feed(
  file: string,
  reader: NodeJS.WritableStream,
  signal: AbortSignal,
  seen: StreamMeter,
): Promise<void> {
  try {
    await pipeline(await openDecompressed(file), seen, reader, { signal });
    signal.throwIfAborted();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ArchiveFault || isSystemError(error, "ENOSPC", "EDQUOT")) throw error;
    throw new ArchiveFault(error instanceof Error ? error.message : String(error));
  }
}

/** Counts the bytes that pass, and stops an archive that is larger than its bounds allow. */
class StreamMeter extends Transform {
  readonly #bounds: UnpackBounds;
  #bytes = 0;
  #onlyZeros = true;

  constructor(bounds: UnpackBounds) {
    super();
    this.#bounds = bounds;
  }

  /** Whether nothing but the end mark of an archive has passed. */
  get isEmpty(): boolean {
    return this.#onlyZeros && this.#bytes >= END_BYTES && this.#bytes % BLOCK_BYTES === 0;
  }

  override _transform(part: Buffer, _: string, done: (error: Error | null, part?: Buffer) => void): void {
    this.#bytes += part.length;
    this.#onlyZeros &&= part.every((byte) => byte === 0);
    const most = this.#bounds.bytes + this.#bounds.entries * MOST_AROUND_ENTRY;
    if (this.#bytes > most) done(new ArchiveFault(tooLarge(this.#bounds)));
    else done(null, part);
  }
}

function tooLarge({ bytes }: UnpackBounds): string {
  return `it would unpack to more than ${bytes} bytes`;
}
