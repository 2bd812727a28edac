// How the artifacts of a task are downloaded, verified and unpacked before it starts.
import { createHash } from "node:crypto";
import { chmodSync, renameSync, rmSync } from "node:fs";
import { basename, join, relative, resolve, sep } from "node:path";
import { readIfThere, replaceFile } from "../../../posix/files.ts";
import type { Artifact } from "../../../src/schema/run/run.ts";
import { ARTIFACTS_AT_ONCE, MAX_FILE_NAME_BYTES } from "../../core/bounds.ts";
import { StartFault } from "../start-fault.ts";
import { type Source, shownUrl } from "./download.ts";
import { type FetchPlace, fetchVerified, placeFetched, unpackFetched } from "./fetched.ts";
import { NoDirectory } from "./placing.ts";

/** A fetched file is for whoever may reach it; an archive says itself what may be executed. */
const FILE_MODE = 0o644;
/** An artifact of such a name is unpacked, and not only fetched. */
const ARCHIVE = /\.(tar|tar\.gz|tgz)$/i;

/**
 * Fetches the artifacts of a task, three at a time. Each is done once for a placement: what is done is not
 * done again, and what is fetched in part is gone on with. One that cannot be had keeps no other from being
 * fetched: the next attempt needs them all the same. Throws the first `StartFault`, what the disk says, or
 * the reason of the signal.
 */
export async function fetchArtifacts(artifacts: Artifact[], place: FetchPlace): Promise<void> {
  const left = [...artifacts];
  const errors: unknown[] = [];
  const work = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      place.signal.throwIfAborted();
      await fetchOnce(next, place).catch((error: unknown) => errors.push(error));
    }
  };
  await Promise.all(Array.from({ length: ARTIFACTS_AT_ONCE }, work));
  place.signal.throwIfAborted();
  if (errors.length > 0) throw errors[0];
}

async function fetchOnce(artifact: Artifact, place: FetchPlace): Promise<void> {
  const { dirs, boot } = place;
  const key = createHash("sha256").update(JSON.stringify(artifact)).digest("hex").slice(0, 32);
  const [part, done] = [join(dirs.private, `${key}.part`), join(dirs.private, `${key}.done`)];
  if (readIfThere(done) === boot) return;
  const name = nameOf(artifact.url);
  await fetchVerified({ source: sourceOf(artifact), sha256: artifact.sha256 }, part, place);
  await putInPlace(artifact, name, part, place);
  rmSync(part, { force: true });
  replaceFile(done, boot);
}

function sourceOf({ url }: Pick<Artifact, "url">): Source {
  return { url, what: `The artifact ${shownUrl(url)}`, code: "artifact_failed" };
}

async function putInPlace(
  { url, to }: Artifact,
  name: string,
  part: string,
  { dirs, signal }: FetchPlace,
): Promise<void> {
  const makeReady = (dir: string) => {
    if (ARCHIVE.test(name)) return unpackFetched(part, dir, sourceOf({ url }), signal);
    chmodSync(part, FILE_MODE);
    renameSync(part, join(dir, name));
  };
  try {
    await placeFetched(part, dirs.local, partsOf(dirs.local, to), makeReady);
  } catch (error) {
    if (!(error instanceof NoDirectory)) throw error;
    const text = `No artifact can be put into "${to}": "${error.message}" is no directory.`;
    throw new StartFault("artifact_failed", text);
  }
}

/** The directories on the way from the task's own directory to the one that an artifact goes into. */
function partsOf(root: string, to: string): string[] {
  const path = relative(root, resolve(root, to));
  if (path === ".." || path.startsWith(`..${sep}`)) {
    throw new StartFault("artifact_failed", `"${to}" is not inside of the task's directory.`);
  }
  const parts = path.split(sep).filter((part) => part !== "");
  if (parts.every(fitsDisk)) return parts;
  const text = `a part of its \`to\` has more than ${MAX_FILE_NAME_BYTES} bytes`;
  throw new StartFault("artifact_failed", `An artifact has no place: ${text}, which no disk takes.`);
}

function fitsDisk(name: string): boolean {
  return Buffer.byteLength(name) <= MAX_FILE_NAME_BYTES;
}

/** The name under which a file is stored: the last part of its URL. */
function nameOf(url: string): string {
  const name = decodeOrLeave(basename(new URL(url).pathname));
  const odd = name === "" || name === "." || name === ".." || /[/\0]/.test(name);
  if (!odd && fitsDisk(name)) return name;
  const what = `it must have 1 to ${MAX_FILE_NAME_BYTES} bytes, and no slash or NUL in them`;
  throw new StartFault(
    "artifact_failed",
    `An artifact has no file name at its end: ${what}. ${shownUrl(url)}`,
  );
}

function decodeOrLeave(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
