// How are the artifacts of a task fetched before it starts?
import { createHash } from "node:crypto";
import { chmodSync, renameSync } from "node:fs";
import { basename, join, relative, resolve, sep } from "node:path";
import type { Artifact } from "../../../src/schema/run/run.ts";
import { type Source, shownUrl } from "../files/download.ts";
import { type FetchPlace, fetchOnce, unpackFetched } from "../files/fetch.ts";
import { NoDirectory } from "../files/placing.ts";
import { StartFault } from "../start-fault.ts";

/** How many artifacts of one task are fetched at the same time (tasks.md#prepare-11). */
const ARTIFACTS_AT_ONCE = 3;
/** The longest file name of Linux (`NAME_MAX`). */
const MAX_FILE_NAME_BYTES = 255;

/** Mode of a fetched file: readable by all who can reach it, not executable. An archive has its own modes. */
const FILE_MODE = 0o644;
/** Names of artifacts that are unpacked. */
const ARCHIVE = /\.(tar|tar\.gz|tgz)$/i;

/**
 * Fetches the artifacts of a task, a few at a time. Each artifact is fetched once for a placement, and a
 * partial download is resumed. If one artifact fails, the others are still fetched, since the next attempt
 * needs them. Rejects with the first error (a `StartFault`, or the system's), or with the reason of the
 * signal.
 */
export async function fetchArtifacts(artifacts: Artifact[], place: FetchPlace): Promise<void> {
  const queue = [...artifacts];
  const errors: unknown[] = [];
  const work = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      place.signal.throwIfAborted();
      await fetchArtifact(next, place).catch((error: unknown) => errors.push(error));
    }
  };
  await Promise.all(Array.from({ length: ARTIFACTS_AT_ONCE }, work));
  place.signal.throwIfAborted();
  if (errors.length > 0) throw errors[0];
}

async function fetchArtifact(artifact: Artifact, place: FetchPlace): Promise<void> {
  const { url, sha256, to } = artifact;
  const key = createHash("sha256").update(JSON.stringify(artifact)).digest("hex").slice(0, 32);
  const source: Source = { url, sha256, what: `The artifact ${shownUrl(url)}`, code: "artifact_failed" };
  const name = nameOf(url);
  const makeReady = (part: string, dir: string) => {
    if (ARCHIVE.test(name)) return unpackFetched(part, dir, source, place.signal);
    chmodSync(part, FILE_MODE);
    renameSync(part, join(dir, name));
  };
  try {
    await fetchOnce(key, () => source, partsOf(place.dirs.local, to), place, makeReady);
  } catch (error) {
    if (!(error instanceof NoDirectory)) throw error;
    const text = `No artifact can be put into "${to}": "${error.message}" is not a directory.`;
    throw new StartFault("artifact_failed", text);
  }
}

/** The names of the directories on the path from the task's own directory to an artifact's directory. */
function partsOf(root: string, to: string): string[] {
  const path = relative(root, resolve(root, to));
  if (path === ".." || path.startsWith(`..${sep}`)) {
    throw new StartFault("artifact_failed", `"${to}" is not inside the task's directory.`);
  }
  const parts = path.split(sep).filter((part) => part !== "");
  if (parts.every(fitsDisk)) return parts;
  const text = `A name in the \`to\` of an artifact has more than ${MAX_FILE_NAME_BYTES} bytes`;
  throw new StartFault("artifact_failed", `${text}: no file system allows that.`);
}

function fitsDisk(name: string): boolean {
  return Buffer.byteLength(name) <= MAX_FILE_NAME_BYTES;
}

/** The name under which a file is stored: the last part of its URL. */
function nameOf(url: string): string {
  const name = decodeOrLeave(basename(new URL(url).pathname));
  const isInvalid = name === "" || name === "." || name === ".." || /[/\0]/.test(name);
  if (!isInvalid && fitsDisk(name)) return name;
  const text = `The URL of an artifact does not end with a file name (${shownUrl(url)})`;
  const rule = `it must have 1 to ${MAX_FILE_NAME_BYTES} bytes, without a slash or NUL`;
  throw new StartFault("artifact_failed", `${text}: ${rule}.`);
}

function decodeOrLeave(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
