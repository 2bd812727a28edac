import type { SignalOrder, StickySource } from "../../../schema/host.ts";
import type { Instant } from "../../../shared/machine.ts";
import { needsOf } from "../../../shared/means.ts";
import type { Observed, ObservedAnswer, Order, WantedAttempt } from "../../messages.ts";
import { type GroupTask, resourcesOf, tasksOf } from "../../spec.ts";
import { storedOffsets } from "../output/logs.ts";
import { whyStopped } from "../read/why-stopped.ts";
import {
  type AllocationRecord,
  type AllocationState,
  type AttemptRecord,
  openPlacement,
  type TaskRecord,
} from "../state.ts";
import type { TaskView } from "../tasks/lifecycle.ts";
import {
  attemptId,
  attemptOf,
  groupOfRun,
  isKilledNow,
  isOver,
  isStopping,
  isWithHost,
  mayBeOrdered,
  recordOf,
  viewsOf,
} from "../tasks/tasks.ts";
import { isMissingBytes, orderMarks } from "../time/order-deadlines.ts";
import { deadlineOf, isTimedByHost, timeIsOver } from "../time/time-limits.ts";
import { signalsDue } from "../user/requests.ts";
import { isSavingData, mayNeedData, sourceOf } from "./sticky.ts";

/** What an agent must act on to run it as it is meant; nothing is said of commands alone. */
export function needsOfRun({ spec }: AllocationRecord): { needs?: string[] } {
  const needs = needsOf(tasksOf(spec));
  return needs.length === 0 ? {} : { needs };
}

/** What the orders of all tasks of an epoch are made from. */
interface Scene {
  record: AllocationRecord;
  views: TaskView[];
  epoch: number;
  limit: { timeoutMs?: number };
  sticky: { sticky?: StickySource };
  /** The data of the epoch are to be stored: everything of it has ended. */
  save: { save?: true };
  now: Instant;
}

/**
 * What the host shall hold of an epoch: derived from what is stored, and from the time (`orderMarks`).
 * Nothing, once the run has ended or the epoch has. Attempts that have ended stay, so that the host keeps
 * them until the placement is over.
 */
export function wantedAttempts(state: AllocationState, epoch: number, now: Instant): WantedAttempt[] {
  const { record } = state;
  const placement = openPlacement(state);
  if (record === null || record.ended || placement === null || placement.epoch !== epoch) return [];
  const group = groupOfRun(record);
  const deadline = deadlineOf(record, placement.from);
  const limit = deadline === undefined ? {} : { timeoutMs: Math.max(0, deadline - now) };
  const sticky = record.spec.sticky ? { sticky: sourceOf(record, placement) } : {};
  const save: Scene["save"] = isSavingData(record, now) ? { save: true } : {};
  const scene: Scene = { record, views: viewsOf(record, group, epoch), epoch, limit, sticky, save, now };
  return group.tasks.flatMap((task) => ordersOfTask(scene, task));
}

function ordersOfTask(scene: Scene, task: GroupTask): WantedAttempt[] {
  const { record, views, epoch, now } = scene;
  const known = recordOf(record, task);
  const n = known.n ?? 1;
  const present = attemptOf(record, known, epoch);
  const before = attemptOf(record, known, epoch, n - 1);
  const mayStart = known.dead === undefined && mayBeOrdered(record, task, views, now);
  if (present === undefined && !mayStart)
    return before === undefined ? [] : [orderOfAttempt(scene, task, n - 1)];
  const shipping = before !== undefined && isMissingBytes(record, before, now);
  const last: WantedAttempt[] = shipping ? [{ id: before.id, want: "run" }] : [];
  return [...last, orderOfAttempt(scene, task, n)];
}

function orderOfAttempt(
  { record, epoch, limit, sticky, save, now }: Scene,
  task: GroupTask,
  n: number,
): WantedAttempt {
  const known = recordOf(record, task);
  const id = attemptId(record.id, task.name, epoch, n);
  const { killSignal: signal, killTimeoutMs: timeoutMs } = task.spec;
  if (isKilledNow(record, task) && (known.n ?? 1) === n)
    return { id, want: "stop", signal: "SIGKILL", timeoutMs: 0, reason: whyStopped(record) };
  const stopped = known.stopFrom !== undefined && now >= known.stopFrom + task.shutdownDelayMs;
  if (stopped) return { id, want: "stop", signal, timeoutMs, reason: whyStopped(record), ...save };
  if (known.restartOf === n && now >= (known.restartAt ?? 0))
    return { id, want: "stop", signal, timeoutMs, reason: "it is to be started again" };
  // What is about to be stopped and was not seen to start is not started any more.
  const attempt = attemptOf(record, known, epoch, n);
  const isTimeOver =
    limit.timeoutMs === 0 && record.wish === null && (attempt === undefined || !isOver(attempt));
  // What its host has timed goes on until that ends it: a clock that has jumped here changes nothing there.
  // Only a limit that was set after the start may be one that the host has not heard of.
  if (isTimeOver && isTimedByHost(attempt))
    return { id, want: "run", ...(isLimitNewer(record, attempt) ? limit : {}), ...save };
  if (isTimeOver)
    return { id, want: "stop", signal, timeoutMs, reason: timeIsOver(record, now).reason, timedOut: true };
  const startable = !isStopping(record, task) || attempt !== undefined;
  if (!startable) return { id, want: "run", ...limit, ...save };
  const later = isWithHost(known) && known.startAt !== undefined ? { startAt: known.startAt } : {};
  return { id, want: "run", task: task.spec, ...sticky, ...save, ...later, ...limit };
}

/** Whether the time limit was changed while an attempt ran. */
function isLimitNewer({ timeoutSetAt }: AllocationRecord, attempt: AttemptRecord | undefined): boolean {
  return timeoutSetAt !== undefined && (attempt?.startedAt ?? 0) <= timeoutSetAt;
}

/** The order for the worker that the run is placed on. */
export function orderOf(state: AllocationState, now: Instant): Order | null {
  const { record } = state;
  const placement = openPlacement(state);
  if (record === null || placement === null) return null;
  const { epoch } = placement;
  const attempts = wantedAttempts(state, epoch, now);
  const revision = revisionAt(record, epoch, now);
  return {
    run: record.id,
    epoch,
    revision,
    resources: resourcesOf(record.spec),
    ...needsOfRun(record),
    attempts,
    ...withSignals(record),
  };
}

function withSignals(record: AllocationRecord): { signals?: SignalOrder[] } {
  const signals = signalsDue(record);
  return signals.length === 0 ? {} : { signals };
}

/**
 * The revision of the order as it is now. A delay that passes changes the order without a row: it counts one
 * more for each mark that has passed.
 */
export function revisionAt(record: AllocationRecord, epoch: number, now: Instant): number {
  return record.revision + orderMarks(record, epoch).filter((at) => at <= now).length;
}

/**
 * Numbers the order after an event: one more than before if it says another thing, else the same. Comparing
 * the orders themselves, here alone, is what keeps a change from leaving under an old number (rule R1). A
 * placement that is not known may be one that was forgotten: what was ordered there is taken for ordered.
 */
export function withRevision(before: AllocationState, after: AllocationState, now: Instant): AllocationState {
  const { record } = after;
  if (record === null || before.record === null || record === before.record) return after;
  if (record.endedEpoch !== before.record.endedEpoch) return after;
  const open = openPlacement(after);
  const { wish, spec, revision: last } = before.record;
  if (open === null) {
    if (record.wish === wish && record.spec === spec) return after;
    return { ...after, record: { ...record, revision: last + 1 } };
  }
  const { epoch } = open;
  const old = { ...before, memo: { ...before.memo, placement: open } };
  const was = revisionAt(before.record, epoch, now);
  const revision = wordsOf(old, epoch, now) === wordsOf(after, epoch, now) ? was : was + 1;
  const stored = record.revision + revision - revisionAt(record, epoch, now);
  return stored === record.revision ? after : { ...after, record: { ...record, revision: stored } };
}

/**
 * What an order says: in place of what is left of the time limit, which is another number at each moment,
 * when that is over.
 */
function wordsOf(state: AllocationState, epoch: number, now: Instant): string {
  const attempts = wantedAttempts(state, epoch, now);
  const words = attempts.map((one) => (one.want === "run" ? { ...one, timeoutMs: 0 } : one));
  const { record } = state;
  const until = record === null ? undefined : deadlineOf(record, openPlacement(state)?.from ?? null);
  // That a signal leaves with its attempt is no news, a new one is.
  return JSON.stringify([words, until, record?.signaled ?? 0]);
}

/**
 * Whether all that is new in the order are attempts after ones that the worker has reported as over. Then it
 * asks again by itself (`ObservedAnswer`, `askAgain`), and no alarm is needed to say it twice.
 */
export function isRestart(record: AllocationRecord, epoch: number): boolean {
  const unseen = groupOfRun(record).tasks.filter((task) => {
    const known = recordOf(record, task);
    return known.dead === undefined && attemptOf(record, known, epoch) === undefined;
  });
  const isNext = (known: TaskRecord) => {
    const before = attemptOf(record, known, epoch, (known.n ?? 1) - 1);
    return before !== undefined && isOver(before);
  };
  return unseen.length > 0 && unseen.every((task) => isNext(recordOf(record, task)));
}

/** The answer to `observed`: the order as it is now, and what is stored of the logs. */
export function answerObserved(state: AllocationState, observed: Observed, now: Instant): ObservedAnswer {
  const { record } = state;
  if (record === null) return { kind: "no_such" };
  const { epoch } = observed;
  if (observed.kept) {
    const keep = mayNeedData(record, observed) ? { keep: true as const } : {};
    return { kind: "order", revision: record.revision, attempts: [], logs: {}, ...keep };
  }
  const here = openPlacement(state)?.worker === observed.worker;
  const attempts = here ? wantedAttempts(state, epoch, now) : [];
  const logs = Object.fromEntries(attempts.map(({ id }) => [id, storedOffsets(record, id)]));
  const revision = here ? revisionAt(record, epoch, now) : record.revision;
  const delayed = ({ startAt = 0, dead }: TaskRecord) => dead === undefined && startAt > now;
  const waits = here && record.tasks.some((task) => delayed(task) && !isWithHost(task));
  const signals = here ? withSignals(record) : {};
  return { kind: "order", revision, attempts, ...signals, logs, ...(waits ? { askAgain: true } : {}) };
}
