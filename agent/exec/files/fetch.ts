// How is a file fetched with its digest verified, and then unpacked or moved into a task's directory?
import { createHash } from "node:crypto";
import { createReadStream, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { UNPACK_BOUNDS } from "../../../archive/bounds.ts";
import { ArchiveFault } from "../../../archive/faults.ts";
import type { EntryFilter } from "../../../archive/result.ts";
import { unpack } from "../../../archive/unpack.ts";
import { replaceFile } from "../../../disk/atomic.ts";
import { makePrivateDir, readIfThere } from "../../../posix/files.ts";
import { errorText } from "../../../src/shared/words.ts";
import { StartFault } from "../start-fault.ts";
import type { TaskDirs } from "./alloc-dirs.ts";
import { DOWNLOAD_BOUNDS, type DownloadBounds, download, type Source, WrongContent } from "./download.ts";
import { placeAll } from "./placing.ts";
import { removeTree } from "./tree.ts";

/** Umask of directories that an archive does not list: every user can enter and read them. */
const DIRECTORY_UMASK = 0o022;

/** Where a fetched file goes. */
export interface FetchPlace {
  dirs: Pick<TaskDirs, "local" | "private">;
  /** The id of this boot. After a crash, files from an earlier boot may be incomplete on the disk. */
  boot: string;
  signal: AbortSignal;
  bounds?: DownloadBounds;
}

/**
 * Fetches the content of a source into the file `part`, continues after bytes that are already there, and
 * verifies the digest. If resumed content has a wrong digest, it is fetched again from the beginning: the
 * source may have changed, or a crash of the machine may have left holes. For a signed source only the
 * requests are signed, not the answers. Another program may have sent the bytes, so after a wrong digest the
 * download is tried again.
 */
export async function fetchVerified(
  source: Source,
  part: string,
  { signal, bounds = DOWNLOAD_BOUNDS }: Pick<FetchPlace, "signal" | "bounds">,
): Promise<void> {
  const { sha256 } = source;
  const digestFault = async () => {
    const actual = await digestOf(part, signal);
    return actual === sha256 ? undefined : `its sha256 is ${actual}, not ${sha256}`;
  };
  if (source.sign !== undefined) {
    return download(source, part, signal, bounds, async () => {
      const why = await digestFault();
      if (why !== undefined) throw new WrongContent(`its content is wrong: ${why}`);
    });
  }
  for (;;) {
    const resumed = existsSync(part);
    await download(source, part, signal, bounds);
    const why = await digestFault();
    if (why === undefined) return;
    rmSync(part);
    if (resumed) continue;
    const text = `${source.what} is not what the run asks for: ${why}. Correct the digest, or the file.`;
    throw new StartFault(source.code, text, { recoverable: true });
  }
}

async function digestOf(file: string, signal: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash, { signal });
  return hash.digest("hex");
}

/**
 * Fetches a file, once for all attempts of the task on this placement in this boot. `makeReady` prepares the
 * file in a directory that only the agent can access. Then the result is moved into the task's directory, or
 * into the directory `parts` below it. Tasks may rename entries there at the same time. `name`: a name for
 * the agent's files about this fetch.
 */
export async function fetchOnce(
  name: string,
  sourceOf: () => Source,
  parts: readonly string[],
  place: FetchPlace,
  makeReady: (part: string, dir: string, source: Source) => Promise<void> | void,
): Promise<void> {
  const { dirs, boot } = place;
  const [part, done] = [join(dirs.private, `${name}.part`), join(dirs.private, `${name}.done`)];
  if (readIfThere(done) === boot) return;
  const source = sourceOf();
  await fetchVerified(source, part, place);
  const dir = `${part}.ready`;
  await removeTree(dir);
  makePrivateDir(dir);
  try {
    await makeReady(part, dir, source);
    await placeAll(dir, dirs.local, parts);
  } finally {
    await removeTree(dir);
  }
  rmSync(part, { force: true });
  replaceFile(done, boot);
}

/**
 * Unpacks a fetched archive into a directory that only the agent can change. A bad archive is a `StartFault`
 * that is not recoverable: with the same bytes another try would fail, too.
 */
export async function unpackFetched(
  part: string,
  into: string,
  { what, code }: Source,
  signal: AbortSignal,
  filter?: EntryFilter,
): Promise<void> {
  try {
    await unpack(part, into, signal, UNPACK_BOUNDS, { umask: DIRECTORY_UMASK, filter });
  } catch (error) {
    if (!(error instanceof ArchiveFault)) throw error;
    throw new StartFault(code, `${what} cannot be unpacked: ${errorText(error)}.`);
  }
}
