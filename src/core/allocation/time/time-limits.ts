import type { AttemptReport } from "../../../schema/host.ts";
import { durationMs } from "../../../shared/duration.ts";
import type { Instant } from "../../../shared/machine.ts";
import {
  type AllocationRecord,
  type AllocationState,
  type AttemptRecord,
  openPlacement,
  type PlacementRecord,
  type Wish,
} from "../state.ts";
import { groupView, isOver, type Member, mayBeOrdered } from "../tasks/tasks.ts";

/** When the run's time is over: counted from its first placement, preparation and restarts included. */
export function deadlineOf(record: AllocationRecord, placedAt: Instant | null): Instant | undefined {
  const from = record.firstPlacedAt ?? placedAt;
  if (from === null || record.spec.timeout === undefined) return undefined;
  return from + durationMs(record.spec.timeout);
}

/**
 * Whether the host of an attempt sees to its time limit: it has it, and ends what has it in time. Then this
 * control plane does not: its own clock may have jumped, and it may have been away.
 */
export function isTimedByHost(attempt: AttemptRecord | undefined): boolean {
  return attempt?.keepsTime === true && attempt.startedAt !== null;
}

/** When a run that waits for a place is given up. */
export function queueDeadline(state: AllocationState): Instant | undefined {
  const { record } = state;
  if (record?.spec.queueTimeout === undefined || openPlacement(state) !== null) return undefined;
  if (record.placeAt !== undefined) return undefined;
  return record.waitingSince + durationMs(record.spec.queueTimeout);
}

/** The wish of a time limit that was reached at `at`. */
export function timeIsOver({ spec }: AllocationRecord, at: Instant): Wish {
  const reason = `the time limit of ${spec.timeout} was reached`;
  return { state: "timedout", at, reason, by: "drover", failure: null };
}

/** What time has decided about a run that has no place: there no host can. */
export function wishOfWait(state: AllocationState, now: Instant): Wish | null {
  const { record } = state;
  if (record === null) return null;
  const deadline = deadlineOf(record, null);
  const queued = queueDeadline(state);
  const over = deadline !== undefined && now >= deadline;
  const givenUp = queued !== undefined && now >= queued && queued < (over ? deadline : Infinity);
  if (givenUp) {
    const reason = `no place was found within the queueTimeout of ${record.spec.queueTimeout}`;
    return { state: "failed", at: queued, reason, by: "drover", failure: "queue_timeout" };
  }
  return over ? timeIsOver(record, Math.max(deadline, record.waitingSince)) : null;
}

/**
 * The wish of a time limit that was reached while the run had a place and nothing of it was with the host:
 * all that is left of it waits for this control plane, for the end of a delay for example.
 */
export function wishBetweenTasks(
  record: AllocationRecord,
  { from }: PlacementRecord,
  now: Instant,
): Wish | null {
  const deadline = deadlineOf(record, from);
  if (record.wish !== null || deadline === undefined || now < deadline) return null;
  const view = groupView(record);
  const left = view.members.filter(({ state }) => state !== "dead");
  const waits = (one: Member) => one.attempt === undefined && !mayBeOrdered(view, one, now);
  const again = record.outcome?.again === true; // only its logs are waited for
  if ((left.length === 0 && !again) || !left.every(waits)) return null;
  return timeIsOver(record, Math.min(now, Math.max(deadline, ...view.members.map(({ deadAt }) => deadAt))));
}

/** The attempts of an epoch whose hosts have ended them, or are ending them, because their time is over. */
export function timedOutAttempts({ tasks }: AllocationRecord, epoch: number): AttemptRecord[] {
  return tasks.flatMap(({ attempts }) => attempts).filter((one) => one.epoch === epoch && one.timedOut);
}

/** When the time of a run was over of which that is known now. */
export function timeOverAt(record: AllocationRecord, { from }: PlacementRecord, now: Instant): Instant {
  return Math.min(deadlineOf(record, from) ?? now, now);
}

/**
 * Whether the time limit has ended an attempt. A host that keeps time limits says so. If the host does not
 * keep them, or the attempt was never started, the time of the attempt's end decides.
 */
export function hasTimedOut(
  record: AllocationRecord,
  placement: PlacementRecord,
  { isStopping, known }: Member,
  attempt: AttemptRecord,
  report: AttemptReport,
): boolean {
  if (report.timedOut === true) return true;
  const { finishedAt, startedAt, keepsTime } = attempt;
  if (!isOver(attempt) || finishedAt === null || record.wish !== null) return false;
  if (keepsTime && startedAt !== null) return false;
  if (isStopping || known.restartOf !== undefined || attempt.stopped !== undefined) return false;
  if (attempt.startError !== null) return false;
  const deadline = deadlineOf(record, placement.from);
  return deadline !== undefined && finishedAt >= deadline;
}
