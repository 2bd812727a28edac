import type { Instant } from "../../../shared/machine.ts";
import type { EndRun } from "../../messages.ts";
import { wish } from "../end.ts";
import { type AllocationState, openPlacement } from "../state.ts";
import { forced } from "./hurry.ts";

/** Who wants a run to end, and why. `force`: and whatever lives of it is killed at once. */
export interface Abort {
  reason: string;
  by: string;
  force?: boolean;
}

/** Somebody wants the run to end. */
export function foldAbort(
  state: AllocationState,
  { reason, by, force = false }: Abort,
  now: Instant,
): AllocationState {
  if (state.record === null) return state;
  const wanted = { state: "aborted" as const, at: now, reason, by, failure: null };
  const ending = wish(state.record, wanted, openPlacement(state));
  return { ...state, record: force ? forced(ending, by, now) : ending };
}

/** The pool of the run is deleted by force. Another submission under its id is not meant. */
export function foldEndRun(
  state: AllocationState,
  { submittedAt, reason, by }: EndRun,
  now: Instant,
): AllocationState {
  if (state.record?.submittedAt !== submittedAt) return state;
  return foldAbort(state, { reason, by, force: true }, now);
}
