// How is a worker's idle behavior set, and when does a draining worker have nothing left to do?

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
 * The effective idle behavior. A worker whose host gave notice drains until the notice is withdrawn, even if
 * an operator set `run`. A worker on `hold` stays on `hold` (workers.md#idle-behaviors).
 */
export function behaviorOf({ idleBehavior, notice }: WorkerRecord): IdleBehavior {
  return idleBehavior === "run" && notice !== null ? "drain" : idleBehavior;
}

/**
 * Sets the idle behavior. Any behavior may follow any other (workers.md#idle-behaviors). A worker that is
 * shutting down or gone ignores the change: it would have no effect, but would show a false reason.
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
 * Whether a draining worker has nothing left to wait for: it is booting, it is idle, or the host cannot kill
 * the attempts that are left, so that only the machine's end will end them (workers.md#t13, workers.md#t14,
 * workers.md#t15).
 */
export function isDrained(state: ReadonlyExistingWorker): boolean {
  const { record } = state;
  if (behaviorOf(record) !== "drain" || (record.phase !== "booting" && record.phase !== "ready"))
    return false;
  // The host of a self-hosted machine may withdraw its notice, and waiting for this costs nothing.
  if (isSelfHosted(record) && record.idleBehavior !== "drain") return false;
  return livePlacements(state).every((row) => isGivenUp(state, row));
}

/** Whether attempts of a placement are left, and the host cannot kill any of them. */
function isGivenUp(state: ReadonlyExistingWorker, { run, epoch }: PlacementRow): boolean {
  const attempts = state.memo.reported[placementKey(run, epoch)]?.attempts ?? [];
  const unkillable = attempts.filter(isUnkillable);
  const ended = attempts.filter(hasEnded);
  return unkillable.length > 0 && unkillable.length + ended.length === attempts.length;
}
