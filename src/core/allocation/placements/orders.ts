// Which attempts of a run must the worker's host run, and which changes make a new revision of the order?
import type { SignalOrder, StickySource } from "../../../schema/host.ts";
import { protocolOf } from "../../../shared/compat.ts";
import type { Instant } from "../../../shared/machine.ts";
import type { Observed, ObservedAnswer, Order, OrderAnswer, WantedAttempt } from "../../messages.ts";
import { resourcesOf, tasksOf } from "../../spec.ts";
import type { RunDraft } from "../draft.ts";
import { foldEnded } from "../end.ts";
import { storedOffsets } from "../output/logs.ts";
import { whyStopped } from "../read/why-stopped.ts";
import { specInEffect } from "../retry/needs.ts";
import {
  type AllocationRecord,
  type AllocationState,
  type AttemptRecord,
  type Existing,
  openPlacement,
  type TaskRecord,
} from "../state.ts";
import { mayBeOrdered } from "../tasks/group.ts";
import { attemptId, type GroupView, groupView, isOver, isWithHost, type Member } from "../tasks/tasks.ts";
import { isMissingBytes, orderChangesAt } from "../time/order-deadlines.ts";
import { deadlineOf, isTimedByHost, timeIsOver } from "../time/time-limits.ts";
import { signalsDue } from "../user/requests.ts";
import { heldAttempts, isHeld } from "./hold.ts";
import { isSavingData, mayNeedData, sourceOf } from "./sticky.ts";

/** The inputs for the orders of all tasks of an epoch. */
interface Context {
  view: GroupView;
  epoch: number;
  limit: { timeoutMs?: number };
  sticky: { sticky?: StickySource };
  /** All tasks of the epoch have ended, and their data are to be stored. */
  save: { save?: true };
  now: Instant;
}

/**
 * The attempts that the host should hold for an epoch at `now`. The list changes with the record, and when a
 * delay ends (`orderChangesAt`). The list is empty once the epoch has ended. The latest attempt of a task
 * stays in the list after the attempt has ended, so that the host keeps the attempt until the placement is
 * over.
 */
export function wantedAttempts(state: AllocationState, epoch: number, now: Instant): WantedAttempt[] {
  const { record } = state;
  const placement = openPlacement(state);
  if (record === null || placement === null || placement.epoch !== epoch) return [];
  if (isHeld(record)) return heldAttempts(record);
  if (record.ended) return [];
  const view = groupView(record);
  const deadline = deadlineOf(record, placement.from);
  const limit = deadline === undefined ? {} : { timeoutMs: Math.max(0, deadline - now) };
  const sticky = record.spec.sticky ? { sticky: sourceOf(record, placement) } : {};
  const save: Context["save"] = isSavingData(record, now) ? { save: true } : {};
  const context: Context = { view, epoch, limit, sticky, save, now };
  return view.members.flatMap((one) => ordersOfTask(context, one));
}

function ordersOfTask(context: Context, one: Member): WantedAttempt[] {
  const { view, now } = context;
  const { n, before } = one;
  const mayStart = one.state !== "dead" && mayBeOrdered(view, one, now);
  if (one.attempt === undefined && !mayStart)
    return before === undefined ? [] : [orderOfAttempt(context, one, n - 1)];
  const shipping = before !== undefined && isMissingBytes(view.record, before, now);
  const last: WantedAttempt[] = shipping ? [{ id: before.id, want: "run" }] : [];
  return [...last, orderOfAttempt(context, one, n)];
}

/** The order for attempt `n` of a task: its present attempt, or the previous attempt. */
function orderOfAttempt(
  { view, epoch, limit, sticky, save, now }: Context,
  one: Member,
  n: number,
): WantedAttempt {
  const { task, known } = one;
  const { record } = view;
  const id = attemptId(record.id, task.name, epoch, n);
  const { killSignal: signal, killTimeoutMs: timeoutMs } = task.spec;
  if (one.isKilledNow && one.n === n)
    return { id, want: "stop", signal: "SIGKILL", timeoutMs: 0, reason: whyStopped(view) };
  const stopped = known.stopFrom !== undefined && now >= known.stopFrom + task.shutdownDelayMs;
  if (stopped) return { id, want: "stop", signal, timeoutMs, reason: whyStopped(view), ...save };
  if (known.restartOf === n && now >= (known.restartAt ?? 0))
    return { id, want: "stop", signal, timeoutMs, reason: "it is to be started again" };
  const attempt = one.n === n ? one.attempt : one.before;
  const isTimeOver =
    limit.timeoutMs === 0 && record.stopRequest === null && (attempt === undefined || !isOver(attempt));
  // If the host enforces the time limit, only the host ends the attempt at the limit, since the clock here
  // may have jumped. The order repeats the limit only if the limit changed after the attempt started: the
  // host may not know the new limit.
  if (isTimeOver && isTimedByHost(attempt))
    return { id, want: "run", ...(isLimitNewer(record, attempt) ? limit : {}), ...save };
  if (isTimeOver)
    return { id, want: "stop", signal, timeoutMs, reason: timeIsOver(record, now).reason, timedOut: true };
  // A task that is being stopped, and has not been seen to start, must not start.
  const startable = !one.isStopping || attempt !== undefined;
  if (!startable) return { id, want: "run", ...limit, ...save };
  const later = isWithHost(known) && known.startAt !== undefined ? { startAt: known.startAt } : {};
  return { id, want: "run", task: task.spec, ...sticky, ...save, ...later, ...limit };
}

/** Whether the time limit changed after the attempt started. */
function isLimitNewer({ timeoutSetAt }: AllocationRecord, attempt: AttemptRecord | undefined): boolean {
  return timeoutSetAt !== undefined && (attempt?.startedAt ?? 0) <= timeoutSetAt;
}

/** The order for the worker of the open placement. */
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
    resources: resourcesOf(specInEffect(record)),
    protocol: protocolOf(tasksOf(record.spec)),
    attempts,
    ...withSignals(record),
  };
}

function withSignals(record: AllocationRecord): { signals?: SignalOrder[] } {
  const signals = signalsDue(record);
  return signals.length === 0 ? {} : { signals };
}

/**
 * The present revision of the order. When a delay ends, the order changes, but no row is written. So this
 * number is the stored revision plus the number of delays that have ended.
 */
export function revisionAt(record: AllocationRecord, now: Instant): number {
  return record.revision + orderChangesAt(record).filter((at) => at <= now).length;
}

/**
 * Raises the revision if an event has changed the content of the order. This function compares the content
 * before and after every event, so a changed order is never sent under an old revision (rule R1). If no
 * placement is known, this object may still have sent an order for a placement, and lost the placement in a
 * restart. So a change of the request to stop, or of the spec, then raises the revision, too.
 */
export function numberOrder(run: RunDraft, before: Existing): void {
  const { record, placement, now } = run;
  const { stopRequest, spec, revision: last, endedEpoch } = before.record;
  if (record.endedEpoch !== endedEpoch) return;
  if (placement === null) {
    if (record.stopRequest !== stopRequest || record.spec !== spec) run.set({ revision: last + 1 });
    return;
  }
  const { epoch } = placement;
  const old = { ...before, memo: { ...before.memo, placement } };
  const was = revisionAt(before.record, now);
  const revision = contentOf(old, epoch, now) === contentOf(run.state, epoch, now) ? was : was + 1;
  const stored = record.revision + revision - revisionAt(record, now);
  if (stored !== record.revision) run.set({ revision: stored });
}

/** Identifies the order that a worker has. */
export function orderKey({ epoch, revision }: Pick<Order, "epoch" | "revision">): string {
  return `${epoch}.${revision}`;
}

/** Records the answer that the worker of the open placement gave to an order. */
export function foldOrderAnswer(run: RunDraft, order: Order, answer: OrderAnswer): void {
  const { placement, now } = run;
  if (placement?.epoch !== order.epoch) return;
  switch (answer.kind) {
    case "accepted":
      run.remember({ workerHas: orderKey(order) });
      break;
    case "ended":
      foldEnded(run, { ...placement, run: order.run, at: now, ...answer });
      break;
    case "no_such":
      break;
  }
}

/** The content of an order. The deadline replaces the remaining time, which changes at every instant. */
function contentOf(state: Existing, epoch: number, now: Instant): string {
  const attempts = wantedAttempts(state, epoch, now);
  const content = attempts.map((one) => (one.want === "run" ? { ...one, timeoutMs: 0 } : one));
  const until = deadlineOf(state.record, openPlacement(state)?.from ?? null);
  // A new signal changes the order. A signal that is dropped with its attempt does not.
  return JSON.stringify([content, until, state.record.signaled]);
}

/**
 * Whether there are attempts that the host has not reported yet, and each of them follows an attempt of the
 * same task whose end the host has reported. The worker then asks for the order by itself (`ObservedAnswer`,
 * `askAgain`), so this object needs no alarm to repeat the order.
 */
export function isRestart(record: AllocationRecord): boolean {
  const { members } = groupView(record);
  const unseen = members.filter(({ state, attempt }) => state !== "dead" && attempt === undefined);
  return unseen.length > 0 && unseen.every(({ before }) => before !== undefined && isOver(before));
}

/** The answer to `observed`: the present order, and how far logs are stored. */
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
