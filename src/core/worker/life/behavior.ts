// How is a worker's idle behavior set, and when has a draining worker nothing left to do?

import { hasEnded } from "../../../probes/report.ts";
import { isUnkillable } from "../../../probes/trouble.ts";
import { placementKey } from "../../../shared/attempt-id.ts";
import type { Instant } from "../../../shared/machine.ts";
import type { IdleBehavior } from "../../messages.ts";
import {
  type ExistingWorker,
  isEnding,
  isSelfHosted,
  livePlacements,
  note,
  type PlacementRow,
  type ReadonlyExistingWorker,
  type WorkerRecord,
  type WorkerState,
} from "../state.ts";

/**
 * The effective idle behavior. A worker whose host gave notice drains even if an operator set `run`, until
 * the notice is withdrawn; a held worker stays held (workers.md#idle-behaviors).
 */
export function behaviorOf({ idleBehavior, notice }: WorkerRecord): IdleBehavior {
  return idleBehavior === "run" && notice !== null ? "drain" : idleBehavior;
}

/**
 * Sets the idle behavior; any may follow any other (workers.md#idle-behaviors). Ignored once the worker is
 * shutting down or gone: the change would have no effect, but would show a false reason.
 */
export function foldBehavior(
  state: ExistingWorker,
  behavior: IdleBehavior,
  by: string,
  now: Instant,
): WorkerState {
  const { record } = state;
  if (isEnding(record) || record.idleBehavior === behavior) return state;
  const reason = `set to ${behavior} by ${by}`;
  return {
    ...state,
    record: note({ ...record, idleBehavior: behavior, reason }, "Idle Behavior", reason, now),
  };
}

/**
 * Whether a draining worker has nothing left to wait for: it is booting, or idle, or everything left on it
 * cannot be killed and ends only with the machine (workers.md#t13, workers.md#t14, workers.md#t15).
 */
export function isDrained(state: ReadonlyExistingWorker): boolean {
  const { record } = state;
  if (behaviorOf(record) !== "drain" || (record.phase !== "booting" && record.phase !== "ready"))
    return false;
  // A host may withdraw its notice, and until then a self-hosted machine costs nothing.
  if (isSelfHosted(record) && record.idleBehavior !== "drain") return false;
  return livePlacements(state).every((row) => isGivenUp(state, row));
}

/** Whether all that is left of a placement is attempts that the host cannot kill. */
function isGivenUp(state: ReadonlyExistingWorker, { run, epoch }: PlacementRow): boolean {
  const attempts = state.memo.reported[placementKey(run, epoch)]?.attempts ?? [];
  const unkillable = attempts.filter(isUnkillable);
  const ended = attempts.filter(hasEnded);
  return unkillable.length > 0 && unkillable.length + ended.length === attempts.length;
}
