// How is a placement opened, stored and closed?
import { money } from "../../../shared/cloud/money.ts";
import { MAX_KILL_MS, MAX_TASK_ATTEMPTS } from "../../../shared/limits.ts";
import type { Instant, Millis } from "../../../shared/machine.ts";
import type { EndedHow, LossCause, PlacementTerms } from "../../messages.ts";
import type { GroupTask } from "../../spec.ts";
import type { PlacedRun, RunDraft } from "../draft.ts";
import { triesText } from "../retry/tries.ts";
import type { AllocationRecord, PlacementRecord } from "../state.ts";

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

/**
 * Whether the run is in this placement. A run that has lost the placement from memory adopts the placement
 * again, with `from` as its start.
 */
export function takeUp(
  run: RunDraft,
  { worker, epoch }: { worker: string; epoch: number },
  from: Instant,
): run is PlacedRun {
  if (epoch !== run.record.endedEpoch + 1) return false;
  if (!run.isPlaced()) run.remember({ placement: newPlacement(worker, epoch, from) });
  return run.placement?.worker === worker;
}

/** Adds terms that were unknown when the open placement was stored. */
export function addTerms(run: PlacedRun, terms: PlacementTerms): void {
  const { placement: open, record } = run;
  const complete = newPlacement(open.worker, open.epoch, open.from, { ...terms, ...open });
  const isNews = complete.rate !== open.rate || complete.maxKillMs !== open.maxKillMs;
  const isStored = record.placements.at(-1)?.epoch === open.epoch;
  if (isNews && isStored) run.set({ placements: [...record.placements.slice(0, -1), complete] });
}

/** The kill timeout in the spec of a task, but at most the longest kill timeout that its host grants. */
export function killTimeoutOf(task: GroupTask, placement: PlacementRecord | null): Millis {
  return Math.min(task.spec.killTimeoutMs, placement?.maxKillMs ?? MAX_KILL_MS);
}

/** Stores the open placement, unless the record contains it already. */
export function storePlacement(run: RunDraft): void {
  const { placement, record } = run;
  if (placement === null || record.placements.at(-1) === placement) return;
  const placements = [...record.placements, placement].slice(-MAX_TASK_ATTEMPTS);
  run.set({ placements, firstPlacedAt: record.firstPlacedAt ?? placement.from });
  run.remember({ placement: null });
  const details = { worker: placement.worker, epoch: String(placement.epoch) };
  const text = `placed on worker ${placement.worker}${tryText(record, placement.rate)}`;
  run.note("Placed", placement.from, text, { details });
}

/** Which try begins, with what, and at which price: nothing for a run that was not tried before. */
function tryText(record: AllocationRecord, rate: number | undefined): string {
  if (record.retries === undefined) return "";
  return `: ${triesText(record)}${rate === undefined ? "" : `, at ${money(rate)} per hour`}`;
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
 * Closes the open epoch (rule R2). Another epoch may be opened only after this. An ordinary end after all
 * tasks have ended adds no event. `at`: when the epoch ended.
 */
export function closePlacement(run: PlacedRun, how: EndedHow, at: Instant, cause?: LossCause): void {
  const { epoch, worker } = run.placement;
  storePlacement(run);
  const caused: { cause?: LossCause } = cause === undefined ? {} : { cause };
  const placements = run.record.placements.map((one) =>
    one.epoch === epoch ? { ...one, to: Math.max(one.from, at), outcome: how, ...caused } : one,
  );
  run.set({ placements, endedEpoch: epoch, revision: 1, waitingSince: run.now });
  if (how === "gone" && run.record.outcome !== null && cause === undefined) return;
  const text = cause === undefined ? ENDED_TEXT[how] : `${ENDED_TEXT[how]}: ${CAUSE_TEXT[cause]}`;
  run.note("Placement Ended", at, text, { details: { worker, epoch: String(epoch), how, ...caused } });
}
