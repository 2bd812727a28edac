// How does a user, or the forced deletion of a pool, end a run?
import type { Instant } from "../../../shared/machine.ts";
import type { EndRun } from "../../messages.ts";
import { requestStop } from "../end.ts";
import { type AllocationState, openPlacement } from "../state.ts";
import { forceKill } from "./hurry.ts";

/** Who aborts a run, and why. `force`: kill everything at once. */
export interface Abort {
  reason: string;
  by: string;
  force?: boolean;
}

/** Requests the end of the run. */
export function foldAbort(
  state: AllocationState,
  { reason, by, force = false }: Abort,
  now: Instant,
): AllocationState {
  if (state.record === null) return state;
  const request = { state: "aborted" as const, at: now, reason, by, failure: null };
  const ending = requestStop(state.record, request, openPlacement(state));
  return { ...state, record: force ? forceKill(ending, by, now) : ending };
}

/** Ends the run at once: its pool is being deleted by force. Ignored if another run now has the id. */
export function foldEndRun(
  state: AllocationState,
  { submittedAt, reason, by }: EndRun,
  now: Instant,
): AllocationState {
  if (state.record?.submittedAt !== submittedAt) return state;
  return foldAbort(state, { reason, by, force: true }, now);
}
