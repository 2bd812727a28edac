// What changes when the pool has placed the run, or confirmed it?
import type { Instant } from "../../../shared/machine.ts";
import type { Place, PlacementTerms } from "../../messages.ts";
import { type AllocationState, openPlacement } from "../state.ts";
import { newPlacement, storePlacement, withTerms } from "./placement.ts";

/** Folds in the pool's message that it has placed this run (messages.md#place). */
export function foldPlace(state: AllocationState, place: Place, now: Instant): AllocationState {
  // An earlier submission under this id that was refused, although the pool has it, is not this run.
  if (place.submittedAt !== state.record?.submittedAt) return state;
  return withPlacement(withPoolVersion(state, place.version), place, now);
}

/** The run with a placement on the worker that its pool has chosen. */
export function withPlacement(
  state: AllocationState,
  { worker, epoch, ...terms }: Pick<Place, "worker" | "epoch"> & PlacementTerms,
  now: Instant,
): AllocationState {
  const { record, memo } = state;
  if (record === null || record.ended) return state;
  if (epoch !== record.endedEpoch + 1) return state;
  const open = openPlacement(state);
  if (open !== null) {
    // The host reported before the pool did, and only the pool knows the terms.
    return open.worker === worker ? { ...state, record: withTerms(record, open, terms) } : state;
  }
  const from = Math.max(record.waitingSince, Math.min(terms.openedAt ?? now, now));
  const placement = newPlacement(worker, epoch, from, terms);
  // The pool repeats a placement, so it is stored only if there is a time limit, which a crash must not
  // restart.
  if (record.spec.timeout === undefined) return { ...state, memo: { ...memo, placement } };
  return { ...state, record: storePlacement(record, placement) };
}

/** Notes that the pool has the run as of `version`. */
export function withPoolVersion(state: AllocationState, version: number): AllocationState {
  const { memo } = state;
  return { ...state, memo: { ...memo, accepted: true, poolHas: Math.max(memo.poolHas, version) } };
}

/** Whether the pool has taken the run: it said so, or the run has ended or had a placement. */
export function isAccepted({ record, memo }: AllocationState): boolean {
  return memo.accepted || record?.ended === true || (record !== null && record.placements.length > 0);
}
