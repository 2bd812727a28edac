// How a task's snapshot is unpacked, once for each placement.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { readIfThere, replaceFile } from "../../../posix/files.ts";
import type { Snapshots } from "../../plane/snapshots.ts";
import { StartFault } from "../start-fault.ts";
import { type FetchPlace, fetchVerified, placeFetched, unpackFetched } from "./fetched.ts";

/**
 * Unpacks a snapshot into the directory of its task, once for a placement: what the task has made of it since
 * stays. Throws a `StartFault`, what the disk says, or the reason of the signal.
 */
export async function fetchSnapshot(
  snapshot: string,
  snapshots: Snapshots | undefined,
  place: FetchPlace,
): Promise<void> {
  const { dirs, boot, signal } = place;
  const sha256 = snapshot.slice(snapshot.indexOf(":") + 1);
  const [part, done] = ["part", "done"].map((end) => join(dirs.private, `snapshot-${sha256}.${end}`));
  if (part === undefined || done === undefined || readIfThere(done) === boot) return;
  if (snapshots === undefined) {
    const text = `The snapshot ${snapshot} cannot be had: the control plane has no bucket.`;
    throw new StartFault("snapshot_failed", text, { recoverable: true });
  }
  const source = snapshots.sourceOf(snapshot);
  await fetchVerified({ source, sha256 }, part, place);
  await placeFetched(part, dirs.local, [], (dir) => unpackFetched(part, dir, source, signal));
  rmSync(part);
  replaceFile(done, boot);
}
