import type { SignalOrder, StickySource } from "../../../schema/host.ts";
import type { Instant } from "../../../shared/machine.ts";
import { needsOf } from "../../../shared/means.ts";
import type { Observed, ObservedAnswer, Order, WantedAttempt } from "../../messages.ts";
import { resourcesOf, tasksOf } from "../../spec.ts";
import { storedOffsets } from "../output/logs.ts";
import { whyStopped } from "../read/why-stopped.ts";
import {
  type AllocationRecord,
  type AllocationState,
  type AttemptRecord,
  openPlacement,
  type TaskRecord,
} from "../state.ts";
import {
  attemptId,
  type GroupView,
  groupView,
  isOver,
  isWithHost,
  type Member,
  mayBeOrdered,
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
  view: GroupView;
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
  const view = groupView(record);
  const deadline = deadlineOf(record, placement.from);
  const limit = deadline === undefined ? {} : { timeoutMs: Math.max(0, deadline - now) };
  const sticky = record.spec.sticky ? { sticky: sourceOf(record, placement) } : {};
  const save: Scene["save"] = isSavingData(record, now) ? { save: true } : {};
  const scene: Scene = { view, epoch, limit, sticky, save, now };
  return view.members.flatMap((one) => ordersOfTask(scene, one));
}

function ordersOfTask(scene: Scene, one: Member): WantedAttempt[] {
  const { view, now } = scene;
  const { n, before } = one;
  const mayStart = one.state !== "dead" && mayBeOrdered(view, one, now);
  if (one.attempt === undefined && !mayStart)
    return before === undefined ? [] : [orderOfAttempt(scene, one, n - 1)];
  const shipping = before !== undefined && isMissingBytes(view.record, before, now);
  const last: WantedAttempt[] = shipping ? [{ id: before.id, want: "run" }] : [];
  return [...last, orderOfAttempt(scene, one, n)];
}

/** The order for the present attempt of a task, or for the one before it. */
function orderOfAttempt(
  { view: { record }, epoch, limit, sticky, save, now }: Scene,
  one: Member,
  n: number,
): WantedAttempt {
  const { task, known } = one;
  const id = attemptId(record.id, task.name, epoch, n);
  const { killSignal: signal, killTimeoutMs: timeoutMs } = task.spec;
  if (one.isKilledNow && one.n === n)
    return { id, want: "stop", signal: "SIGKILL", timeoutMs: 0, reason: whyStopped(record) };
  const stopped = known.stopFrom !== undefined && now >= known.stopFrom + task.shutdownDelayMs;
  if (stopped) return { id, want: "stop", signal, timeoutMs, reason: whyStopped(record), ...save };
  if (known.restartOf === n && now >= (known.restartAt ?? 0))
    return { id, want: "stop", signal, timeoutMs, reason: "it is to be started again" };
  // What is about to be stopped and was not seen to start is not started any more.
  const attempt = one.n === n ? one.attempt : one.before;
  const isTimeOver =
    limit.timeoutMs === 0 && record.wish === null && (attempt === undefined || !isOver(attempt));
  // What its host has timed goes on until that ends it: a clock that has jumped here changes nothing there.
  // Only a limit that was set after the start may be one that the host has not heard of.
  if (isTimeOver && isTimedByHost(attempt))
    return { id, want: "run", ...(isLimitNewer(record, attempt) ? limit : {}), ...save };
  if (isTimeOver)
    return { id, want: "stop", signal, timeoutMs, reason: timeIsOver(record, now).reason, timedOut: true };
  const startable = !one.isStopping || attempt !== undefined;
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
  const revision = revisionAt(record, now);
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
export function revisionAt(record: AllocationRecord, now: Instant): number {
  return record.revision + orderMarks(record).filter((at) => at <= now).length;
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
  const was = revisionAt(before.record, now);
  const revision = wordsOf(old, epoch, now) === wordsOf(after, epoch, now) ? was : was + 1;
  const stored = record.revision + revision - revisionAt(record, now);
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
export function isRestart(record: AllocationRecord): boolean {
  const { members } = groupView(record);
  const unseen = members.filter(({ state, attempt }) => state !== "dead" && attempt === undefined);
  return unseen.length > 0 && unseen.every(({ before }) => before !== undefined && isOver(before));
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
  const revision = here ? revisionAt(record, now) : record.revision;
  const delayed = ({ startAt = 0, dead }: TaskRecord) => dead === undefined && startAt > now;
  const waits = here && record.tasks.some((task) => delayed(task) && !isWithHost(task));
  const signals = here ? withSignals(record) : {};
  return { kind: "order", revision, attempts, ...signals, logs, ...(waits ? { askAgain: true } : {}) };
}
