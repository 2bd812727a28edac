// How is a task's snapshot unpacked, once for each placement?
import { digestIn, type Snapshots } from "../../plane/snapshots.ts";
import { type FetchPlace, fetchOnce, unpackFetched } from "../files/fetch.ts";
import { StartFault } from "../start-fault.ts";

/**
 * Unpacks a snapshot into the directory of its task, once for each placement, so that later changes by the
 * task stay. Rejects with a `StartFault`, the system's error, or the reason of the signal.
 */
export async function fetchSnapshot(
  snapshot: string,
  snapshots: Snapshots | undefined,
  place: FetchPlace,
): Promise<void> {
  const sourceOf = () => {
    if (snapshots !== undefined) return snapshots.sourceOf(snapshot);
    const text = `The snapshot ${snapshot} is not available: the control plane has no bucket (\`LOGS\`).`;
    throw new StartFault("snapshot_failed", text, { recoverable: true });
  };
  await fetchOnce(`snapshot-${digestIn(snapshot)}`, sourceOf, [], place, (part, dir, source) =>
    unpackFetched(part, dir, source, place.signal),
  );
}
