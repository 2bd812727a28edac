// How does a list of files become a reproducible tar archive?
import { createHash } from "node:crypto";
import { open, rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { Beneath } from "./beneath.ts";
import { compressed } from "./compression/compress.ts";
import { Pieces } from "./compression/pieces.ts";
import { FileCount } from "./count.ts";
import { ArchiveFault } from "./faults.ts";
import { choiceOf, readGlobs } from "./globs.ts";
import { type ContentBounds, Packer } from "./tar/packer.ts";
import { Turns } from "./turns.ts";
import { type Found, walk } from "./walk.ts";

/** The archive is compressed in pieces of this size. */
const PIECE_BYTES = 1024 * 1024;
/** How large an archive may become. */
export interface PackBounds extends ContentBounds {
  /** The size of the archive itself. */
  bytes: number;
}

/**
 * What to pack below `root`: either all matches of the globs with everything below them, or exactly the
 * files, links and directories in a list. Paths use slashes.
 */
export type Packable = { root: string } & ({ globs: readonly string[] } | { files: readonly Found[] });

/** A new archive. `files` counts links and empty directories, too. */
export interface PackResult {
  sha256: string;
  bytes: number;
  files: number;
}

/**
 * Packs files, links and directories into a new archive (tar, compressed as this Node best can): in a fixed
 * order, with modes and times, without owners, so that the same files give the same archive. Whatever is
 * packed can be unpacked: a link that leads out of the directory is a fault. Nothing is read through a link.
 * `onProgress` is called for each piece. Throws an `ArchiveFault`, the system's error, or the reason of the
 * signal, and then leaves no file.
 */
export async function pack(
  what: Packable,
  intoFile: string,
  signal: AbortSignal,
  bounds: PackBounds,
  onProgress: () => void = () => undefined,
): Promise<PackResult> {
  const hash = createHash("sha256");
  let bytes = 0;
  const count = new FileCount();
  async function* measure(source: AsyncIterable<Buffer>) {
    for await (const part of source) {
      bytes += part.length;
      if (bytes > bounds.bytes) {
        throw new ArchiveFault(`the archive would be larger than ${bounds.bytes} bytes`);
      }
      hash.update(part);
      yield part;
    }
  }
  try {
    // A file that is still being opened could come to be after it was removed below.
    const out = await open(intoFile, "w", 0o600);
    await pipeline(compressed(archiveOf(what)), measure, out.createWriteStream(), { signal });
  } catch (error) {
    await rm(intoFile, { force: true });
    signal.throwIfAborted();
    throw error;
  }
  return { sha256: hash.digest("hex"), files: count.files, bytes };

  async function* archiveOf(packable: Packable): AsyncGenerator<Buffer> {
    const top = Beneath.open(packable.root);
    try {
      const pieces = new Pieces(PIECE_BYTES);
      const packer = new Packer(top, pieces, bounds, count);
      const turns = new Turns(signal);
      for await (const found of foundOf(packable, top, signal)) {
        const wait = turns.next();
        if (wait !== undefined) await wait;
        const large = packer.add(found);
        if (large !== undefined) {
          for await (const _ of packer.readLarge(large)) yield* taken(pieces);
        }
        yield* taken(pieces);
      }
      packer.end();
      yield* taken(pieces);
      if (pieces.rest.length > 0) yield pieces.rest;
    } finally {
      top.close();
    }
  }

  function taken(pieces: Pieces): Buffer[] {
    onProgress();
    return pieces.takeFull();
  }
}

function foundOf(what: Packable, top: Beneath, signal: AbortSignal): AsyncIterable<Found> | Found[] {
  if ("globs" in what) return walk(top, choiceOf(readGlobs(what.globs)), signal);
  const byPath = new Map(what.files.map((one) => [one.path, one]));
  return [...byPath.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}
