// How far has the fetching for a task come? It resumes after a restart of the agent.
import { createHash } from "node:crypto";
import { createReadStream, existsSync, rmSync } from "node:fs";
import { pipeline } from "node:stream/promises";
import { UNPACK_BOUNDS } from "../../../archive/bounds.ts";
import { ArchiveFault } from "../../../archive/faults.ts";
import type { Wanted } from "../../../archive/result.ts";
import { unpack } from "../../../archive/unpack.ts";
import { makePrivateDir } from "../../../posix/files.ts";
import { errorText } from "../../../src/shared/words.ts";
import { StartFault } from "../start-fault.ts";
import type { TaskDirs } from "./alloc-dirs.ts";
import { DOWNLOAD_BOUNDS, type DownloadBounds, download, type Source, Spoilt } from "./download.ts";
import { placeAll } from "./placing.ts";
import { removeTree } from "./tree.ts";

/** Directories that an archive does not list are as open as its files are. */
const DIRECTORY_UMASK = 0o022;

/** Where what is fetched goes, and what has been done of it. */
export interface FetchPlace {
  dirs: Pick<TaskDirs, "local" | "private">;
  /** This boot of the machine: what another one has done may not be on the disk. */
  boot: string;
  signal: AbortSignal;
  bounds?: DownloadBounds;
}

/**
 * Fetches what has the right digest into the file `part`, and goes on with what is there of it. That is
 * fetched anew before its digest is blamed: the file may have changed in between, or a crash of the machine
 * may have left holes. Bytes of a signed source are not signed, so wrong ones are as good as a try that was
 * interrupted: who was asked may not have sent them.
 */
export async function fetchVerified(
  { source, sha256 }: { source: Source; sha256: string },
  part: string,
  { signal, bounds = DOWNLOAD_BOUNDS }: Pick<FetchPlace, "signal" | "bounds">,
): Promise<void> {
  const wrong = async () => {
    const actual = await digestOf(part, signal);
    return actual === sha256 ? undefined : `its sha256 is ${actual}, not ${sha256}`;
  };
  if (source.sign !== undefined) {
    return download(source, part, signal, bounds, async () => {
      const why = await wrong();
      if (why !== undefined) throw new Spoilt(`what came is something else: ${why}`);
    });
  }
  for (;;) {
    const resumed = existsSync(part);
    await download(source, part, signal, bounds);
    const why = await wrong();
    if (why === undefined) return;
    rmSync(part);
    if (resumed) continue;
    const text = `${source.what} is not what the run asks for: ${why}.`;
    const recoverable = { recoverable: true };
    throw new StartFault(source.code, `${text} Correct the digest, or the file.`, recoverable);
  }
}

async function digestOf(file: string, signal: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash, { signal });
  return hash.digest("hex");
}

/**
 * Makes what was fetched ready where nobody but the agent gets, and moves it from there into the task's
 * directory, or one below: others may change names in there while it comes.
 */
export async function placeFetched(
  part: string,
  local: string,
  parts: readonly string[],
  makeReady: (dir: string) => Promise<void> | void,
): Promise<void> {
  const dir = `${part}.ready`;
  await removeTree(dir);
  makePrivateDir(dir);
  try {
    await makeReady(dir);
    await placeAll(dir, local, parts);
  } finally {
    await removeTree(dir);
  }
}

/**
 * Unpacks what was fetched into a directory that nobody but the agent can change. With the same bytes another
 * try would fail, too.
 */
export async function unpackFetched(
  part: string,
  into: string,
  { what, code }: Source,
  signal: AbortSignal,
  wanted?: Wanted,
): Promise<void> {
  try {
    await unpack(part, into, signal, UNPACK_BOUNDS, { umask: DIRECTORY_UMASK, wanted });
  } catch (error) {
    if (!(error instanceof ArchiveFault)) throw error;
    throw new StartFault(code, `${what} cannot be unpacked: ${errorText(error)}.`);
  }
}
