// Where are the data of a sticky run, how does the next placement get them, and how long may it take to store
// them (tasks.md#sticky-data)?
import type { AttemptReport, StickySource } from "../../../schema/host.ts";
import { STORE_OUTPUTS_MS } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";
import { formatSize } from "../../../shared/size.ts";
import type { Observed } from "../../messages.ts";
import type { RunDraft } from "../draft.ts";
import type { AllocationRecord, PlacementRecord, SavedData } from "../state.ts";
import { groupView } from "../tasks/tasks.ts";

/** How long a failed sticky run waits for its data to be stored, before it is placed again without them. */
export const SAVE_DATA_MS = STORE_OUTPUTS_MS;

/**
 * The placement before `epoch` that has the latest data of a sticky run (decisions/runs.md#sticky-data). A
 * refused placement does not count, since its host did not touch the data. The open placement counts only
 * after the host has reported a task there that is past its preparation. Until then, the host may not have
 * touched the data.
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

/** The sources of a placement's data: an earlier placement on the same worker, and the latest snapshot. */
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
 * Whether a failed sticky run waits for its data to be stored before the run is placed again. The data are
 * stored because the next placement may be on another worker, and because this worker may be lost. The run
 * waits only if one of its tasks may have written data in this placement.
 */
export function isSavingData(record: AllocationRecord, now: Instant): boolean {
  const by = savedBy(record);
  return by !== undefined && now < by;
}

/** Until when a failed sticky run waits for its data to be stored; undefined if the run does not wait. */
export function savedBy(record: AllocationRecord): Instant | undefined {
  const { spec, outcome, ended, endedEpoch, saved } = record;
  const again = spec.sticky === true && outcome?.again === true && !ended;
  const epoch = endedEpoch + 1;
  if (!again || saved?.epoch === epoch || !wasSeen(record, epoch)) return undefined;
  // An agent that ends, or whose lease ends, stores no more data.
  const { hostStop } = groupView(record);
  if (hostStop === "agent" || hostStop === "lease") return undefined;
  return (outcome.heardAt ?? outcome.at) + SAVE_DATA_MS;
}

/** Records whether the data of the open epoch were stored. */
export function noteSaved(run: RunDraft, { saved: report }: AttemptReport): void {
  const { record, now } = run;
  const epoch = record.endedEpoch + 1;
  if (report === undefined || savedBy(record) === undefined) return;
  if ("error" in report) {
    const { error } = report;
    run.set({ saved: { ...record.saved, epoch, error } });
    const details = { epoch: String(epoch) };
    run.note("Data Not Stored", now, `its data could not be stored: ${error}`, { details });
  } else {
    const { snapshot, files, bytes } = report;
    const worker = record.placements.at(-1)?.worker ?? "";
    run.set({ saved: { epoch, snapshot: { id: snapshot, epoch, worker } } });
    const what = `${files} ${files === 1 ? "file" : "files"}, ${formatSize(bytes)}`;
    const details = { epoch: String(epoch), snapshot };
    run.note("Data Stored", now, `its data (${what}) are stored as ${snapshot}`, { details });
  }
}

/**
 * The worker that a sticky run prefers: the worker that keeps the run's data, even if tasks of the run failed
 * there. Null if the machine of that worker was lost, since the data were lost with the machine.
 */
export function preferredWorker({ spec, placements }: AllocationRecord): string | null {
  if (spec.sticky !== true) return null;
  const last = placements.findLast(({ to, outcome }) => to !== null && outcome !== "refused");
  return last?.outcome === "gone" ? last.worker : null;
}

/**
 * Whether the data that a host retains from a placement may be needed again. If the answer is no, it stays
 * no: the run has ended, or continues with other data. If this object does not know that the epoch has ended,
 * the host keeps the data.
 */
export function mayNeedData(record: AllocationRecord, { epoch, worker }: Observed): boolean {
  if (record.ended || record.spec.sticky !== true) return false;
  if (epoch > record.endedEpoch) return true;
  const home = homeBefore(record, Number.POSITIVE_INFINITY);
  return home?.epoch === epoch && home.worker === worker;
}

/** Adds one event in each placement after the first: whether the tasks continue with the earlier data. */
export function noteData(run: RunDraft, epoch: number, data: AttemptReport["data"]): void {
  const { record, now } = run;
  const home = homeBefore(record, epoch);
  const placement = record.placements.find((one) => one.epoch === epoch);
  if (home === undefined || placement === undefined || hasDataEvent(record, epoch)) return;
  const source = sourceOf(record, placement);
  if (data === undefined && (source.from !== null || source.snapshot !== undefined)) return;
  const stored = storedBefore(record, epoch);
  const origin = data === "fetched" && stored !== undefined ? stored : home;
  const details = { epoch: String(epoch), from_worker: origin.worker, from_epoch: String(origin.epoch) };
  if (data === "moved" || data === "fetched") {
    const where = data === "moved" ? "this worker" : `worker ${origin.worker}`;
    const text = `its directories continue with what placement ${origin.epoch} left on ${where}`;
    run.note("Data Moved", now, text, { details });
  } else {
    const text = `it begins with empty directories: ${whyLost(record, home, placement.worker)}`;
    run.note("Data Lost", now, text, { details });
  }
}

function whyLost(record: AllocationRecord, home: PlacementRecord, worker: string): string {
  const { saved } = record;
  if (saved?.snapshot !== undefined) return `worker ${worker} could not fetch its data, ${saved.snapshot.id}`;
  if (home.worker === worker) return `worker ${worker} has not kept its data of placement ${home.epoch}`;
  const where = `its data stayed on worker ${home.worker}`;
  if (home.outcome === "lost") return `${where}, which was lost`;
  return `${where} and were not stored${saved?.error === undefined ? " in time" : `: ${saved.error}`}`;
}

function hasDataEvent({ events }: AllocationRecord, epoch: number): boolean {
  return events.some(
    ({ type, details }) => (type === "Data Moved" || type === "Data Lost") && details.epoch === String(epoch),
  );
}
