// How a snapshot is fetched and unpacked, for `drover pull` and `drover snapshots get`.
import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { UNPACK_BOUNDS } from "../../archive/bounds.ts";
import { ArchiveFault, isOfSystem } from "../../archive/faults.ts";
import { ALL_BUT_OWN, type EntryFilter } from "../../archive/result.ts";
import { unpack } from "../../archive/unpack.ts";
import type { Client } from "../../client/client.ts";
import { makeDirs } from "../../disk/make-dirs.ts";
import { formatSize } from "../../src/shared/size.ts";
import { CliError } from "../errors.ts";
import type { Io } from "../terminal/io.ts";
import { watchWork } from "../terminal/progress.ts";
import { printable } from "../terminal/text.ts";
import { withScratchFile } from "./scratch.ts";

/**
 * Fetches a snapshot. Unpacks it only after all bytes have arrived and match its id. Creates the directory if
 * necessary. Prints which files were left out, and returns the number of files.
 */
export async function fetchSnapshot(
  io: Io,
  client: Client,
  id: string,
  into: string,
  filter: EntryFilter = ALL_BUT_OWN,
): Promise<number> {
  let text = "Fetching the snapshot";
  const work = watchWork(io, () => text);
  try {
    const { files, skipped } = await withScratchFile(async (file, signal) => {
      let fetched = 0;
      const counted = async function* () {
        for await (const piece of client.snapshots.download(id, { signal })) {
          fetched += piece.length;
          text = `Fetching the snapshot: ${formatSize(fetched)} so far`;
          yield piece;
        }
      };
      await pipeline(counted, createWriteStream(file, { mode: 0o600 }), { signal });
      text = `Unpacking the snapshot into ${printable(into)}`;
      makeDirs(into);
      return await unpack(file, into, signal, UNPACK_BOUNDS, { filter });
    });
    for (const path of skipped)
      await io.say(`${printable(path)} is left out: .git and .drover are never unpacked`);
    return files;
  } catch (error) {
    throw unpackingFault(error, into);
  } finally {
    await work.stop();
  }
}

function unpackingFault(error: unknown, into: string): unknown {
  if (error instanceof ArchiveFault) {
    return new CliError(`The snapshot cannot be unpacked into ${into}: ${printable(error.message)}.`);
  }
  if (isOfSystem(error)) {
    return new CliError(`${into} cannot be written: ${printable(error.message)}.`);
  }
  return error;
}
