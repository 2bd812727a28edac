import { isUnkillable } from "../../../probes/broken.ts";
import { hasEnded } from "../../../probes/report.ts";
import { placementKey } from "../../../shared/attempt-id.ts";
import type { Instant } from "../../../shared/machine.ts";
import type { IdleBehavior, WorkerRef } from "../../messages.ts";
import { behaviorOf } from "../host/notice.ts";
import {
  isSelfHosted,
  type Living,
  livePlacements,
  note,
  type PlacementRow,
  type ReadonlyLiving,
  type WorkerState,
} from "../state.ts";

/**
 * Sets what a worker does when it has nothing to do: any behavior, in any state, in any order
 * (workers.md#idle-behaviors). On a worker that is being destroyed or is gone it changes nothing: neither is
 * saved by it, and what is read there later must not say that it had been.
 */
export function foldBehavior(state: Living, behavior: IdleBehavior, by: string, now: Instant): WorkerState {
  const { record } = state;
  const ends = record.phase === "shutdown" || record.phase === "gone";
  if (ends || record.idleBehavior === behavior) return state;
  const reason = `set to ${behavior} by ${by}`;
  return {
    ...state,
    record: note({ ...record, idleBehavior: behavior, reason }, "Idle Behavior", reason, now),
  };
}

/** Drains a worker whose pool has no use for such machines any more. */
export function foldDrain(state: Living, _drain: WorkerRef, now: Instant): WorkerState {
  return foldBehavior(state, "drain", "its pool, which wants no such machine any more", now);
}

/**
 * Whether a draining worker has nothing left to wait for: it boots, or is idle, or its host has given up
 * killing all that is still on it (workers.md#t13, workers.md#t14, workers.md#t15). Of the last only the
 * machine's end is an end.
 */
export function isDrained(state: ReadonlyLiving): boolean {
  const { record } = state;
  if (behaviorOf(record) !== "drain" || (record.phase !== "booting" && record.phase !== "ready"))
    return false;
  // A notice may be taken back, and a self-hosted machine costs nothing until then.
  if (isSelfHosted(record) && record.idleBehavior !== "drain") return false;
  return livePlacements(state).every((row) => isGivenUp(state, row));
}

/** Whether nothing of a placement is left but what its host could not kill in all its tries. */
function isGivenUp(state: ReadonlyLiving, { run, epoch }: PlacementRow): boolean {
  const attempts = state.memo.reported[placementKey(run, epoch)]?.attempts ?? [];
  const unkillable = attempts.filter(isUnkillable);
  const ended = attempts.filter(hasEnded);
  return unkillable.length > 0 && unkillable.length + ended.length === attempts.length;
}
