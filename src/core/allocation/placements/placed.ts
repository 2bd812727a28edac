// What changes when the pool says that it has placed the run, or that it has not?
import type { Place, PlacementTerms, PoolAnswer } from "../../messages.ts";
import type { RunDraft } from "../draft.ts";
import { finishWithdrawn } from "../end.ts";
import type { AllocationState } from "../state.ts";
import { requestStop } from "../stop.ts";
import { addTerms, newPlacement, storePlacement } from "./placement.ts";

/** Applies the pool's message that it has placed this run (messages.md#place). */
export function foldPlace(run: RunDraft, place: Place): void {
  // The message may be about an earlier submission with this id, which was refused although the pool had
  // stored it.
  if (place.submittedAt !== run.record.submittedAt) return;
  noteVersion(run, place.version);
  placeOn(run, place);
}

/** Applies the pool's answer to `version` of the run. `machine.ts` handles a refusal. */
export function foldPoolAnswer(
  run: RunDraft,
  version: number,
  answer: Exclude<PoolAnswer, { kind: "refused" }>,
): void {
  noteVersion(run, version);
  run.remember({ keepLogsMs: answer.kind === "none" ? answer.keepLogsMs : undefined, askAt: undefined });
  if (answer.kind === "placed") placeOn(run, answer);
  else run.remember({ offeredRate: answer.offeredRate });
  if (answer.kind === "queued") giveUpOutOfReach(run, version, answer.outOfReach);
  if (answer.kind === "none" && answer.version >= run.record.poolVersion) finishWithdrawn(run);
}

/**
 * Ends a run whose next try no machine of its pool can hold, instead of a wait without end
 * (retry.md#out-of-reach). The pool confirms first that the run has no placement, as after any stop.
 */
function giveUpOutOfReach(run: RunDraft, version: number, why: string | undefined): void {
  const { poolVersion, retries } = run.record;
  const last = retries?.at(-1);
  if (why === undefined || last === undefined || run.isPlaced() || version < poolVersion) return;
  const reason = `${why}; before that, ${last.text}`;
  requestStop(run, { state: "failed", at: run.now, reason, by: "drover", failure: "unsatisfiable" });
}

/** Notes that the pool has the run as of `version`. */
function noteVersion(run: RunDraft, version: number): void {
  run.remember({ accepted: true, poolHas: Math.max(run.memo.poolHas, version) });
}

/** Puts the run on the worker that its pool has chosen. */
function placeOn(
  run: RunDraft,
  { worker, epoch, ...terms }: Pick<Place, "worker" | "epoch"> & PlacementTerms,
): void {
  const { record, now } = run;
  if (record.ended || epoch !== record.endedEpoch + 1) return;
  if (run.isPlaced()) {
    // The host's report came before the pool's message. Only the pool knows the terms.
    if (run.placement.worker === worker) addTerms(run, terms);
    return;
  }
  const from = Math.max(record.waitingSince, Math.min(terms.openedAt ?? now, now));
  run.remember({ placement: newPlacement(worker, epoch, from, terms) });
  // The pool repeats a placement, so this object need not store the placement. If the run has a time limit,
  // the placement is stored all the same, since a crash must not restart the time limit.
  if (record.spec.timeout !== undefined) storePlacement(run);
}

/** Whether the pool has accepted the run: it said so, or the run has ended or had a placement. */
export function isAccepted({ record, memo }: AllocationState): boolean {
  return memo.accepted || record?.ended === true || (record !== null && record.placements.length > 0);
}
