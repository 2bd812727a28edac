import type { AttemptReport, StickySource } from "../../../schema/host.ts";
import { SAVE_DATA_MS } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";
import { formatSize } from "../../../shared/size.ts";
import type { Observed } from "../../messages.ts";
import { addEvent } from "../read/events.ts";
import type { AllocationRecord, PlacementRecord, SavedData } from "../state.ts";
import { groupView } from "../tasks/tasks.ts";

/**
 * Where the data of a sticky run lie (decisions/runs.md#sticky-data; tasks.md#sticky-data): with its latest
 * placement below `epoch` that a worker took. One that was refused has touched nothing, and of an open one
 * nobody knows before something of it has begun: a host that has only heard of it may not have touched them.
 */
function homeBefore(record: AllocationRecord, epoch: number): PlacementRecord | undefined {
  if (record.spec.sticky !== true) return undefined;
  return record.placements.findLast(
    (one) =>
      one.epoch < epoch && one.outcome !== "refused" && (one.to !== null || wasSeen(record, one.epoch)),
  );
}

function wasSeen({ tasks }: AllocationRecord, epoch: number): boolean {
  return tasks.some(({ attempts }) =>
    attempts.some((one) => one.epoch === epoch && one.state !== "preparing"),
  );
}

/**
 * Where the data of a placement come from: what its own worker may have kept, or else the newest that are
 * stored.
 */
export function sourceOf(record: AllocationRecord, { epoch, worker }: PlacementRecord): StickySource {
  const home = homeBefore(record, epoch);
  const from = home?.worker === worker ? home.epoch : null;
  const stored = storedBefore(record, epoch);
  return stored === undefined ? { from } : { from, snapshot: stored.id };
}

function storedBefore({ saved }: AllocationRecord, epoch: number): SavedData["snapshot"] {
  return saved?.snapshot !== undefined && saved.snapshot.epoch < epoch ? saved.snapshot : undefined;
}

/**
 * Whether a sticky run that has failed, and is to be placed again, waits for its data to be stored: another
 * worker may get it, and its own may be gone before that. Only data that something of the run can have
 * written count.
 */
export function isSavingData(record: AllocationRecord, now: Instant): boolean {
  const by = savedBy(record);
  return by !== undefined && now < by;
}

/** When a run that waits for that goes on without; undefined if it does not wait. */
export function savedBy(record: AllocationRecord): Instant | undefined {
  const { spec, outcome, ended, endedEpoch, saved } = record;
  const again = spec.sticky === true && outcome?.again === true && !ended;
  const epoch = endedEpoch + 1;
  if (!again || saved?.epoch === epoch || !wasSeen(record, epoch)) return undefined;
  // An agent that ends stores nothing any more.
  const { hostStop } = groupView(record);
  if (hostStop === "agent" || hostStop === "lease") return undefined;
  return (outcome.heardAt ?? outcome.at) + SAVE_DATA_MS;
}

/** Takes in what became of the data of the open epoch. */
export function withSaved(record: AllocationRecord, report: AttemptReport, now: Instant): AllocationRecord {
  const epoch = record.endedEpoch + 1;
  if (report.saved === undefined || savedBy(record) === undefined) return record;
  const worker = record.placements.at(-1)?.worker ?? "";
  if ("error" in report.saved) {
    const { error } = report.saved;
    const before = record.saved?.snapshot;
    const saved: SavedData = { epoch, error, ...(before === undefined ? {} : { snapshot: before }) };
    const text = `its data could not be stored: ${error}`;
    return addEvent({ ...record, saved }, "Data Not Stored", now, text, {
      details: { epoch: String(epoch) },
    });
  }
  const { snapshot, files, bytes } = report.saved;
  const saved: SavedData = { epoch, snapshot: { id: snapshot, epoch, worker } };
  const what = `${files} ${files === 1 ? "file" : "files"}, ${formatSize(bytes)}`;
  const text = `its data (${what}) are stored as ${snapshot}`;
  const details = { epoch: String(epoch), snapshot };
  return addEvent({ ...record, saved }, "Data Stored", now, text, { details });
}

/**
 * The worker on which a sticky run is to be placed rather than on any other: the one that keeps its data,
 * also where its tasks have failed there. Null after a loss: then it is the machine that has failed, and the
 * data with it.
 */
export function preferredWorker({ spec, placements }: AllocationRecord): string | null {
  if (spec.sticky !== true) return null;
  const last = placements.findLast(({ to, outcome }) => to !== null && outcome !== "refused");
  return last?.outcome === "gone" ? last.worker : null;
}

/**
 * Whether the data that a host keeps of a placement may be needed again. Once they are not, they never will
 * be: the run has ended, or has gone on with others. What is not known to have ended here proves nothing.
 */
export function mayNeedData(record: AllocationRecord, { epoch, worker }: Observed): boolean {
  if (record.ended || record.spec.sticky !== true) return false;
  if (epoch > record.endedEpoch) return true;
  const home = homeBefore(record, Number.POSITIVE_INFINITY);
  return home?.epoch === epoch && home.worker === worker;
}

/** Says once in each placement but the first what has become of the data, as soon as that is known. */
export function withDataEvent(
  record: AllocationRecord,
  epoch: number,
  data: AttemptReport["data"],
  now: Instant,
): AllocationRecord {
  const home = homeBefore(record, epoch);
  const placement = record.placements.find((one) => one.epoch === epoch);
  if (home === undefined || placement === undefined || isTold(record, epoch)) return record;
  const source = sourceOf(record, placement);
  if (data === undefined && (source.from !== null || source.snapshot !== undefined)) return record;
  const stored = storedBefore(record, epoch);
  const origin = data === "fetched" && stored !== undefined ? stored : home;
  const details = { epoch: String(epoch), from_worker: origin.worker, from_epoch: String(origin.epoch) };
  if (data === "moved" || data === "fetched") {
    const where = data === "moved" ? "this worker" : `worker ${origin.worker}`;
    const text = `its directories go on with what placement ${origin.epoch} left on ${where}`;
    return addEvent(record, "Data Moved", now, text, { details });
  }
  const text = `it begins with empty directories: ${whyLost(record, home, placement.worker)}`;
  return addEvent(record, "Data Lost", now, text, { details });
}

function whyLost(record: AllocationRecord, home: PlacementRecord, worker: string): string {
  const { saved } = record;
  if (saved?.snapshot !== undefined) return `worker ${worker} could not fetch its data, ${saved.snapshot.id}`;
  if (home.worker === worker) return `worker ${worker} has not kept its data of placement ${home.epoch}`;
  const where = `its data were on worker ${home.worker}`;
  if (home.outcome === "lost") return `${where}, which was lost`;
  return `${where}, and were not stored${saved?.error === undefined ? " in time" : `: ${saved.error}`}`;
}

function isTold({ events }: AllocationRecord, epoch: number): boolean {
  return events.some(
    ({ type, details }) => (type === "Data Moved" || type === "Data Lost") && details.epoch === String(epoch),
  );
}
