import { createHash } from "node:crypto";
import { chmodSync, createReadStream, existsSync, lstatSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { basename, join, relative, resolve, sep } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Artifact } from "../../src/schema/run.ts";
import { ARTIFACTS_AT_ONCE } from "../core/bounds.ts";
import { errorText, readIfThere, replaceFile } from "../files.ts";
import type { TaskDirs } from "./alloc-dirs.ts";
import { DOWNLOAD_BOUNDS, type DownloadBounds, download, shownUrl } from "./download.ts";
import { StartFault } from "./start-fault.ts";
import { ArchiveFault, isArchive, unpack } from "./unpack.ts";

/** A fetched file is for whoever may reach it; an archive says itself what may be executed. */
const FILE_MODE = 0o644;
const DIR_MODE = 0o755;

/** Where artifacts go, and what has been done of it. */
export interface ArtifactPlace {
  dirs: Pick<TaskDirs, "local" | "private">;
  /** This boot of the machine: what another one has done may not be on the disk. */
  boot: string;
  signal: AbortSignal;
  bounds?: DownloadBounds;
}

/**
 * Fetches the artifacts of a task, three at a time. Each is done once for a placement: what is done is not
 * done again, and what is fetched in part is gone on with. The first that cannot be had stops the others.
 * Throws a `StartFault`, what the disk says, or the reason of the signal.
 */
export async function fetchArtifacts(artifacts: Artifact[], place: ArtifactPlace): Promise<void> {
  const stop = new AbortController();
  const signal = AbortSignal.any([place.signal, stop.signal]);
  const left = [...artifacts];
  const work = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      signal.throwIfAborted();
      await fetchOnce(next, { ...place, signal });
    }
  };
  const workers = Array.from({ length: ARTIFACTS_AT_ONCE }, () =>
    work().catch((error: unknown) => {
      if (!stop.signal.aborted) stop.abort(error);
    }),
  );
  await Promise.all(workers);
  signal.throwIfAborted();
}

async function fetchOnce(artifact: Artifact, place: ArtifactPlace): Promise<void> {
  const { dirs, boot } = place;
  const key = createHash("sha256").update(JSON.stringify(artifact)).digest("hex").slice(0, 32);
  const [part, done] = [join(dirs.private, `${key}.part`), join(dirs.private, `${key}.done`)];
  if (readIfThere(done) === boot) return;
  await fetchVerified(artifact, part, place);
  await putInPlace(artifact, part, place);
  rmSync(part, { force: true });
  replaceFile(done, boot);
}

/**
 * Fetches what has the right digest. What was gone on with is fetched anew before its digest is blamed: the
 * file may have changed in between, or a crash of the machine may have left holes.
 */
async function fetchVerified({ url, sha256 }: Artifact, part: string, place: ArtifactPlace): Promise<void> {
  const { signal, bounds = DOWNLOAD_BOUNDS } = place;
  for (;;) {
    const resumed = existsSync(part);
    await download(url, part, signal, bounds);
    const actual = await digestOf(part, signal);
    if (actual === sha256) return;
    rmSync(part);
    if (resumed) continue;
    const text = `The artifact ${shownUrl(url)} is not what the run asks for: its sha256 is ${actual},`;
    const todo = `not ${sha256}. Correct the digest, or the file.`;
    throw new StartFault("artifact_failed", `${text} ${todo}`, { recoverable: true });
  }
}

async function digestOf(file: string, signal: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash, { signal });
  return hash.digest("hex");
}

async function putInPlace({ url, to }: Artifact, part: string, place: ArtifactPlace): Promise<void> {
  const folder = folderInside(place.dirs.local, to);
  const name = nameOf(url);
  if (!isArchive(name)) {
    chmodSync(part, FILE_MODE);
    rmSync(join(folder, name), { recursive: true, force: true });
    renameSync(part, join(folder, name));
    return;
  }
  try {
    await unpack(part, folder, place.signal);
  } catch (error) {
    if (!(error instanceof ArchiveFault)) throw error;
    const text = `The artifact ${shownUrl(url)} cannot be unpacked: ${errorText(error)}.`;
    throw new StartFault("artifact_failed", text);
  }
}

/**
 * Makes the folder for an artifact, below the task's own directory. An earlier attempt of the task may have
 * put a link there: what the agent writes, which may be root, must not follow it.
 */
function folderInside(root: string, to: string): string {
  const folder = resolve(root, to);
  const path = relative(root, folder);
  if (path === ".." || path.startsWith(`..${sep}`)) {
    throw new StartFault("artifact_failed", `"${to}" is not inside of the task's directory.`);
  }
  let at = root;
  for (const part of path.split(sep).filter((part) => part !== "")) {
    at = join(at, part);
    const found = lstatSync(at, { throwIfNoEntry: false });
    if (found === undefined) mkdirSync(at, DIR_MODE);
    else if (!found.isDirectory()) {
      throw new StartFault(
        "artifact_failed",
        `No artifact can be put into "${to}": "${part}" is no directory.`,
      );
    }
  }
  return folder;
}

/** The name under which a file is stored: the last part of its URL. */
function nameOf(url: string): string {
  const name = decodeOrLeave(basename(new URL(url).pathname));
  if (name !== "" && name !== "." && name !== ".." && !/[/\0]/.test(name)) return name;
  throw new StartFault("artifact_failed", `The artifact ${shownUrl(url)} has no file name at its end.`);
}

function decodeOrLeave(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
