import type { Instant } from "../../../shared/machine.ts";
import type { Place, PlacementTerms } from "../../messages.ts";
import { type AllocationState, openPlacement } from "../state.ts";
import { newPlacement, storePlacement, withTerms } from "./placement.ts";

/** Folds in the word of the pool that it has placed this run (messages.md#place). */
export function foldPlace(state: AllocationState, place: Place, now: Instant): AllocationState {
  // An earlier submission under this id was refused, and yet the pool has it: that is not this run.
  if (place.submittedAt !== state.record?.submittedAt) return state;
  return placed(confirmed(state, place.version), place, now);
}

/** The run on the worker that its pool has named. */
export function placed(
  state: AllocationState,
  { worker, epoch, ...terms }: Pick<Place, "worker" | "epoch"> & PlacementTerms,
  now: Instant,
): AllocationState {
  const { record, memo } = state;
  if (record === null || record.ended) return state;
  if (epoch !== record.endedEpoch + 1) return state;
  const open = openPlacement(state);
  if (open !== null) {
    // Its host was heard before its pool, which alone knows the terms.
    return open.worker === worker ? { ...state, record: withTerms(record, open, terms) } : state;
  }
  const from = Math.max(record.waitingSince, Math.min(terms.openedAt ?? now, now));
  const placement = newPlacement(worker, epoch, from, terms);
  // The pool has stored it and repeats it. Only a time limit must not start again after a crash.
  if (record.spec.timeout === undefined) return { ...state, memo: { ...memo, placement } };
  return { ...state, record: storePlacement(record, placement) };
}

/** The pool has the run as it was at `version`. */
export function confirmed(state: AllocationState, version: number): AllocationState {
  const { memo } = state;
  return { ...state, memo: { ...memo, accepted: true, poolHas: Math.max(memo.poolHas, version) } };
}
