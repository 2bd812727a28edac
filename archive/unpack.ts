// How an archive is unpacked safely below a directory.
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { extract, list, type ReadEntry } from "tar";
import { openDecompressed } from "./compression.ts";
import { FileCount } from "./count.ts";
import { entryFault } from "./entries.ts";
import { ArchiveFault, isSystemError } from "./faults.ts";
import { isDirectory, Modes } from "./modes.ts";
import { EVERYTHING, type Wanted } from "./result.ts";

/** What an archive may bring. */
export interface UnpackBounds {
  /** Of all its files together. */
  bytes: number;
  entries: number;
}

export interface UnpackOptions {
  /** Of directories that the archive does not list; that of this process if absent. */
  umask?: number;
  /** What it may bring; absent: whatever stays inside. */
  wanted?: Wanted;
}

/** What was unpacked. */
export interface Unpacked {
  /** How many files, links and empty directories among them. */
  files: number;
  /** Paths that stayed in the archive, the first few of them. */
  leftOut: string[];
}

const MAX_LEFT_OUT = 10;

/** An archive ends with two blocks of zeros at least. */
const BLOCK_BYTES = 512;
const END_BYTES = 2 * BLOCK_BYTES;

/** The most that an entry takes in an archive beside its contents: headers, long names, and what fills up. */
const MOST_AROUND_ENTRY = 16 * 1024;

/**
 * Unpacks a tar archive, plain or by gzip or zstd, into a directory that is there. It is read to its end
 * first, so that one which would leave the directory, or is cut or too large, leaves nothing behind. No file
 * gets an owner, or the right to act as one, from the archive. Throws an `ArchiveFault`, what the disk says
 * when it is full, or the reason of the signal.
 */
export async function unpack(
  file: string,
  into: string,
  signal: AbortSignal,
  bounds: UnpackBounds,
  { umask, wanted = EVERYTHING }: UnpackOptions = {},
): Promise<Unpacked> {
  const { entries, ...unpacked } = await survey(file, signal, bounds, wanted);
  if (entries === 0) return unpacked;
  const modes = new Modes(into, umask);
  // Only who packs gets stats here.
  const filter = (_path: string, entry: unknown) => !wanted.leavesOut(entry as ReadEntry);
  const onReadEntry = (entry: ReadEntry) => modes.note(entry);
  const unpacking = extract({ cwd: into, strict: true, preserveOwner: false, filter, onReadEntry });
  await feed(file, unpacking, signal, new Seen(bounds));
  await modes.apply(signal);
  return unpacked;
}

interface Surveyed extends Unpacked {
  entries: number;
}

async function survey(
  file: string,
  signal: AbortSignal,
  bounds: UnpackBounds,
  wanted: Wanted,
): Promise<Surveyed> {
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  const seen = new Seen(bounds);
  let entries = 0;
  let bytes = 0;
  const count = new FileCount();
  const leftOut: string[] = [];
  /** Looks at where it goes before anything that takes longer for a longer name. */
  const faultOf = (entry: ReadEntry) => {
    const fault = entryFault(entry);
    if (fault !== undefined) return fault;
    if (!wanted.leavesOut(entry)) {
      count.add(entry.path, isDirectory(entry));
      return wanted.fault(entry);
    }
    if (leftOut.length < MAX_LEFT_OUT) leftOut.push(entry.path);
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
    // One without entries is no archive to the reader, but the result of a command that has made nothing.
    if (seen.isEmpty && error instanceof ArchiveFault) return { entries: 0, files: 0, leftOut };
    throw error;
  }
  return { entries, files: count.files, leftOut };
}

/** Reads the archive into a reader of tar. */
async function feed(
  file: string,
  reader: NodeJS.WritableStream,
  signal: AbortSignal,
  seen: Seen,
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

/** Looks at what passes, and ends what does so without end, also where no entry says so. */
class Seen extends Transform {
  readonly #bounds: UnpackBounds;
  #bytes = 0;
  #onlyZeros = true;

  constructor(bounds: UnpackBounds) {
    super();
    this.#bounds = bounds;
  }

  /** It is nothing but the end of an archive. */
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
