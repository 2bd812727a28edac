// How does a task find its payload in its directory, once for each placement?
import { chmodSync, writeFileSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { replaceFile } from "../../../disk/atomic.ts";
import { makePrivateDir, readIfThere } from "../../../posix/files.ts";
import type { TaskSpec } from "../../../src/schema/run/run.ts";
import type { FetchPlace } from "../files/fetch.ts";
import { NoDirectory, placeAll } from "../files/placing.ts";
import { removeTree } from "../files/tree.ts";
import { StartFault } from "../start-fault.ts";

/** Readable by all who can reach it, as an artifact is: nobody but the task can. */
const FILE_MODE = 0o644;

/**
 * Writes the payload into the task's directory, once for all attempts of the task on this placement in this
 * boot, so that later changes by the task stay. What is in its place is replaced, and no link is followed
 * (tasks.md#prepare-16). Rejects with a `StartFault`, or the system's error.
 */
export async function writePayload(
  { path, content }: NonNullable<TaskSpec["payload"]>,
  { dirs, boot }: Pick<FetchPlace, "dirs" | "boot">,
): Promise<void> {
  const done = join(dirs.private, "payload.done");
  if (readIfThere(done) === boot) return;
  const [name, parts] = placeOf(dirs.local, path);
  const dir = join(dirs.private, "payload.ready");
  await removeTree(dir);
  makePrivateDir(dir);
  try {
    writeFileSync(join(dir, name), Buffer.from(content, "base64"), { flag: "wx" });
    chmodSync(join(dir, name), FILE_MODE);
    await placeAll(dir, dirs.local, parts);
  } catch (error) {
    if (!(error instanceof NoDirectory)) throw error;
    const text = `The payload cannot be put into "${path}": "${error.message}" is not a directory.`;
    throw new StartFault("start_failed", text);
  } finally {
    await removeTree(dir);
  }
  replaceFile(done, boot);
}

/** The name of the file, and those of the directories on the path to it from the task's own directory. */
function placeOf(root: string, path: string): [name: string, parts: string[]] {
  const parts = relative(root, resolve(root, path)).split(sep);
  const name = parts.pop() ?? "";
  if (name !== "" && name !== ".." && parts[0] !== "..") return [name, parts];
  throw new StartFault("start_failed", `The payload's "${path}" is no file inside the task's directory.`);
}
