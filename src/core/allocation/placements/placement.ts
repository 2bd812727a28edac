// How is a placement opened, stored and closed?
import { MAX_KILL_MS, MAX_TASK_ATTEMPTS } from "../../../shared/limits.ts";
import type { Instant, Millis } from "../../../shared/machine.ts";
import type { EndedHow, LossCause, PlacementTerms } from "../../messages.ts";
import type { GroupTask } from "../../spec.ts";
import { addEvent } from "../read/events.ts";
import { type AllocationRecord, newTask, type PlacementRecord } from "../state.ts";

/** A placement that the pool has opened. */
export function newPlacement(
  worker: string,
  epoch: number,
  now: Instant,
  { rate, maxKillMs }: PlacementTerms = {},
): PlacementRecord {
  const terms = {
    ...(rate === undefined ? {} : { rate }),
    ...(maxKillMs === undefined ? {} : { maxKillMs }),
  };
  return { epoch, worker, from: now, to: null, outcome: "open", ...terms };
}

/** Adds terms that were unknown when the open placement was stored. */
export function withTerms(
  record: AllocationRecord,
  open: PlacementRecord,
  terms: PlacementTerms,
): AllocationRecord {
  const complete = newPlacement(open.worker, open.epoch, open.from, { ...terms, ...open });
  const isNews = complete.rate !== open.rate || complete.maxKillMs !== open.maxKillMs;
  const isStored = record.placements.at(-1)?.epoch === open.epoch;
  if (!isNews || !isStored) return record;
  return { ...record, placements: [...record.placements.slice(0, -1), complete] };
}

/** How long the stop of a task may take: as long as its spec says, but no longer than its host grants. */
export function killTimeoutOf(task: GroupTask, placement: PlacementRecord | null): Millis {
  return Math.min(task.spec.killTimeoutMs, placement?.maxKillMs ?? MAX_KILL_MS);
}

/** Adds a placement to the record, unless it is there already. */
export function storePlacement(record: AllocationRecord, placement: PlacementRecord): AllocationRecord {
  if (placement.epoch <= record.endedEpoch || record.placements.at(-1)?.epoch === placement.epoch)
    return record;
  const placements = [...record.placements, placement].slice(-MAX_TASK_ATTEMPTS);
  const placed = { ...record, placements, firstPlacedAt: record.firstPlacedAt ?? placement.from };
  const details = { worker: placement.worker, epoch: String(placement.epoch) };
  return addEvent(placed, "Placed", placement.from, `placed on worker ${placement.worker}`, { details });
}

const ENDED_TEXT: Record<EndedHow, string> = {
  refused: "the worker did not take it",
  gone: "nothing of it is left on the worker",
  lost: "the worker was lost",
};

const CAUSE_TEXT: Record<LossCause, string> = {
  interruption: "its host had given notice that the machine would be taken away",
};

/**
 * Closes an epoch (rule R2): only after this another may be opened. When all tasks have ended, an
 * ordinary end gets no event. `at`: when the epoch ended.
 */
export function closePlacement(
  record: AllocationRecord,
  placement: PlacementRecord,
  how: EndedHow,
  { at, now }: { at: Instant; now: Instant },
  cause?: LossCause,
): AllocationRecord {
  const stored = storePlacement(record, placement);
  const caused: { cause?: LossCause } = cause === undefined ? {} : { cause };
  const placements = stored.placements.map((one) =>
    one.epoch === placement.epoch ? { ...one, to: Math.max(one.from, at), outcome: how, ...caused } : one,
  );
  const closed = { ...stored, placements, endedEpoch: placement.epoch, revision: 1, waitingSince: now };
  if (how === "gone" && stored.outcome !== null && cause === undefined) return closed;
  const details: Record<string, string> = {
    worker: placement.worker,
    epoch: String(placement.epoch),
    how,
    ...(cause === undefined ? {} : { cause }),
  };
  const text = cause === undefined ? ENDED_TEXT[how] : `${ENDED_TEXT[how]}: ${CAUSE_TEXT[cause]}`;
  return addEvent(closed, "Placement Ended", at, text, { details });
}

/** Resets the tasks for the next epoch. */
export function freshEpoch(record: AllocationRecord): AllocationRecord {
  const { kill: _kill, stage: _stage, ...rest } = record;
  const tasks = record.tasks.map(({ name, attempts, restarts, lastRestart }) => ({
    ...newTask(name),
    attempts,
    restarts,
    lastRestart,
  }));
  return { ...rest, tasks };
}
