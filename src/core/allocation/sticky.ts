import type { AttemptReport } from "../../schema/host.ts";
import type { Instant } from "../machine.ts";
import type { Observed } from "../messages.ts";
import { addEvent } from "./events.ts";
import type { AllocationRecord, PlacementRecord } from "./state.ts";

/**
 * Where the data of a sticky run lie (`decisions.md`, previous data; `nomad.md` §5.4): with its latest
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

/** The epoch whose data a placement goes on with; null: there are none on that worker. */
export function dataOf(record: AllocationRecord, { epoch, worker }: PlacementRecord): number | null {
  const home = homeBefore(record, epoch);
  return home?.worker === worker ? home.epoch : null;
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
  const worker = record.placements.find((one) => one.epoch === epoch)?.worker;
  if (home === undefined || worker === undefined) return record;
  const away = home.worker !== worker;
  if ((!away && data === undefined) || isTold(record, epoch)) return record;
  const details = { epoch: String(epoch), from_worker: home.worker, from_epoch: String(home.epoch) };
  if (!away && data === "moved") {
    const text = `its directories go on with what placement ${home.epoch} has left on this worker`;
    return addEvent(record, "Data Moved", now, text, { details });
  }
  const why = away
    ? `its data were on worker ${home.worker}; what another one needs belongs into \`outputs\``
    : `worker ${worker} has not kept its data of placement ${home.epoch}`;
  return addEvent(record, "Data Lost", now, `it begins with empty directories: ${why}`, { details });
}

function isTold({ events }: AllocationRecord, epoch: number): boolean {
  return events.some(
    ({ type, details }) => (type === "Data Moved" || type === "Data Lost") && details.epoch === String(epoch),
  );
}
