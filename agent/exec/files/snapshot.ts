// How is a task's snapshot unpacked, once for each placement?
import { rmSync } from "node:fs";
import { join } from "node:path";
import { readIfThere, replaceFile } from "../../../posix/files.ts";
import type { Snapshots } from "../../plane/snapshots.ts";
import { StartFault } from "../start-fault.ts";
import { type FetchPlace, fetchVerified, placeFetched, unpackFetched } from "./fetch.ts";

/**
 * Unpacks a snapshot into the directory of its task, once for each placement, so that later changes by the
 * task stay. Rejects with a `StartFault`, the system's error, or the reason of the signal.
 */
export async function fetchSnapshot(
  snapshot: string,
  snapshots: Snapshots | undefined,
  place: FetchPlace,
): Promise<void> {
  const { dirs, boot, signal } = place;
  const sha256 = snapshot.slice(snapshot.indexOf(":") + 1);
  const name = join(dirs.private, `snapshot-${sha256}`);
  const [part, done] = [`${name}.part`, `${name}.done`];
  if (readIfThere(done) === boot) return;
  if (snapshots === undefined) {
    const text = `The snapshot ${snapshot} is not available: the control plane has no bucket (\`LOGS\`).`;
    throw new StartFault("snapshot_failed", text, { recoverable: true });
  }
  const source = snapshots.sourceOf(snapshot);
  await fetchVerified({ source, sha256 }, part, place);
  await placeFetched(part, dirs.local, [], (dir) => unpackFetched(part, dir, source, signal));
  rmSync(part);
  replaceFile(done, boot);
}
