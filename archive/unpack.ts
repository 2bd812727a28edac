// How is an archive unpacked safely below a directory?
import { addAbortSignal } from "node:stream";

import { openDecompressed } from "./compression/decompress.ts";
import { FileCount } from "./count.ts";
import { entryFault, isDirectory, namesOf } from "./entries.ts";
import { ArchiveFault, isSystemError } from "./faults.ts";
import { Modes } from "./modes.ts";
import { Placer } from "./placer.ts";
import { ALL_ENTRIES, type EntryFilter } from "./result.ts";
import { BLOCK_BYTES } from "./tar/fields.ts";
import { type TarEntry, TarReader, type TarSink } from "./tar/reader.ts";
import { Turns } from "./turns.ts";

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
const END_BYTES = 2 * BLOCK_BYTES;

/** So many bytes are unpacked in one step: some 60 small files. */
const STEP_BYTES = 64 * 1024;

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
  const { entries, links, ...unpacked } = await survey(file, signal, bounds, filter);
  if (entries === 0) return unpacked;
  const modes = new Modes(into, umask);
  const placer = new Placer(into, modes, links, (entry) => !filter.skips(entry));
  try {
    await feed(file, placer, signal, bounds);
  } finally {
    placer.close();
  }
  await modes.apply(signal);
  return unpacked;
}

interface Survey extends UnpackResult {
  entries: number;
  /** The paths of symbolic links. */
  links: ReadonlySet<string>;
}

/** Checks the whole archive. Throws an `ArchiveFault` for the first entry that must not be unpacked. */
async function survey(
  file: string,
  signal: AbortSignal,
  bounds: UnpackBounds,
  filter: EntryFilter,
): Promise<Survey> {
  let entries = 0;
  let bytes = 0;
  const count = new FileCount();
  const skipped: string[] = [];
  const links = new Set<string>();
  /**
   * `entryFault` comes first, since it bounds the length of names: the other checks are slow for long names.
   */
  const faultOf = (entry: TarEntry) => {
    const fault = entryFault(entry) ?? detourOf(entry);
    if (fault !== undefined) return fault;
    if (!filter.skips(entry)) {
      count.add(entry.path, isDirectory(entry));
      if (entry.type === "SymbolicLink") links.add(namesOf(entry.path).join("/"));
      return filter.fault(entry);
    }
    if (skipped.length < MAX_SKIPPED_SHOWN) skipped.push(entry.path);
    return undefined;
  };
  const begin = (entry: TarEntry) => {
    entries += 1;
    bytes += entry.size;
    const fault =
      faultOf(entry) ??
      (entries > bounds.entries ? `it has more than ${bounds.entries} entries` : undefined) ??
      (bytes > bounds.bytes ? tooLarge(bounds) : undefined);
    if (fault !== undefined) throw new ArchiveFault(fault);
  };
  await feed(file, { begin, content: () => undefined, end: () => undefined }, signal, bounds);
  return { entries, links, files: count.files, skipped };
}

/** A path that goes up would have to be followed through directories that others can replace. */
function detourOf({ path }: TarEntry): string | undefined {
  return path.includes("..") && namesOf(path).includes("..") ? `"${path}" goes up on its way` : undefined;
}

/** Passes the entries of the archive to a sink, and turns errors of the archive into faults. */
async function feed(file: string, sink: TarSink, signal: AbortSignal, bounds: UnpackBounds): Promise<void> {
  const reader = new TarReader(sink);
  const meter = new Meter(bounds);
  const turns = new Turns(signal);
  try {
    // A file can be long and contain nothing, so that the turns below never come.
    for await (const part of addAbortSignal(signal, await openDecompressed(file))) {
      meter.add(part);
      for (let at = 0; at < part.length; at += STEP_BYTES) {
        const wait = turns.next();
        if (wait !== undefined) await wait;
        reader.write(part.subarray(at, at + STEP_BYTES));
      }
    }
    signal.throwIfAborted();
    // A command that made no file leaves an archive without entries.
    if (!meter.isEmpty) reader.end();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ArchiveFault || isSystemError(error, "ENOSPC", "EDQUOT")) throw error;
    throw new ArchiveFault(error instanceof Error ? error.message : String(error));
  }
}

/** Counts bytes, and stops an archive that is larger than its bounds allow. */
class Meter {
  readonly #bounds: UnpackBounds;
  #bytes = 0;
  #onlyZeros = true;

  constructor(bounds: UnpackBounds) {
    this.#bounds = bounds;
  }

  /** Whether there was nothing but the end mark of an archive. */
  get isEmpty(): boolean {
    return this.#onlyZeros && this.#bytes >= END_BYTES && this.#bytes % BLOCK_BYTES === 0;
  }

  add(part: Buffer): void {
    this.#bytes += part.length;
    this.#onlyZeros &&= part.every((byte) => byte === 0);
    const most = this.#bounds.bytes + this.#bounds.entries * MOST_AROUND_ENTRY;
    if (this.#bytes > most) throw new ArchiveFault(tooLarge(this.#bounds));
  }
}

function tooLarge({ bytes }: UnpackBounds): string {
  return `it would unpack to more than ${bytes} bytes`;
}
