import type { Instant } from "../../../shared/machine.ts";
import type { Ended } from "../../messages.ts";
import { givenUpKills, outcomeOfGivenUpKill, outcomeOfLoss, outcomeOfWish } from "../outcome.ts";
import { uploadingAttempt } from "../output/outputs.ts";
import { finish, heard, wish } from "../settle.ts";
import {
  type AllocationRecord,
  type AllocationState,
  type Outcome,
  openPlacement,
  type PlacementRecord,
} from "../state.ts";
import { failTime } from "../tasks/fail-time.ts";
import { deadlineOf } from "../time/deadline.ts";
import { timeIsOver } from "../time/time-limits.ts";
import { closePlacement, freshEpoch, newPlacement } from "./placement.ts";
import { rescheduled } from "./reschedule.ts";

/**
 * The worker's word that the placement is over (rule R2): what follows depends on what can have been started.
 */
export function foldEnded(state: AllocationState, ended: Ended, now: Instant): AllocationState {
  const { record, memo } = state;
  if (record === null || record.ended || ended.epoch !== record.endedEpoch + 1) return state;
  const placement = openPlacement(state) ?? newPlacement(ended.worker, ended.epoch, now);
  if (placement.worker !== ended.worker) return state;
  const at = Math.max(placement.from, Math.min(now, ended.at ?? now));
  const closed = closePlacement(record, placement, ended.how, { at, now }, ended.cause);
  const next = { ...state, memo: { ...memo, placement: null } };
  const failedAt = failTime(record, at);
  const again = () => rescheduled(closed, ended.worker, failedAt, now);
  if (record.outcome !== null)
    return { ...next, record: (record.outcome.again && again()) || finish(closed, record.outcome, now) };
  const [stuck] = givenUpKills(record, ended.epoch);
  if (stuck !== undefined) return { ...next, record: finish(closed, outcomeOfGivenUpKill(stuck, at), now) };
  if (record.wish !== null) {
    const end = Math.max(failedAt, record.wish.at);
    return { ...next, record: finish(closed, heard(outcomeOfWish(record.wish, end), now), now) };
  }
  if (!ended.held || ended.how === "refused") return { ...next, record: freshEpoch(closed) };
  return {
    ...next,
    record: again() ?? finish(...lost(record, closed, placement, { ...ended, at }, now), now),
  };
}

/**
 * The end of a run whose machine was lost, and that is not placed again. If the machine was lost after the
 * run's time limit, the run has timed out: nobody is left who could say whether its command ended before.
 */
function lost(
  record: AllocationRecord,
  closed: AllocationRecord,
  placement: PlacementRecord,
  ended: Ended & { at: Instant },
  now: Instant,
): [AllocationRecord, Outcome] {
  const deadline = deadlineOf(record, placement.from);
  const timedOut = deadline !== undefined && ended.at >= deadline && uploadingAttempt(record) === undefined;
  if (!timedOut) return [closed, heard(outcomeOfLoss(record, ended, ended.at), now)];
  const over = timeIsOver(record, deadline);
  return [wish(closed, over, placement), heard(outcomeOfWish(over, ended.at), now)];
}
