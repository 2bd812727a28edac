// Which deliveries does an endpoint make, which are due, and what does the outcome of an attempt change?
import type { RunSummary } from "../../schema/run/run.ts";
import type { EventType } from "../../schema/webhook/webhook.ts";
import { formatDuration } from "../../shared/duration.ts";
import type { Instant, Millis } from "../../shared/machine.ts";
import { backOffMs } from "../../shared/time/backoff.ts";
import type { DeliveryState } from "../../shared/webhooks/words.ts";
import { runPayload, testPayload, typeOfRun } from "./payload.ts";
import {
  type Attempt,
  type DeliveryRow,
  deliveryKey,
  type Endpoint,
  type ReadonlyEndpoint,
  type WebhookRecord,
} from "./record.ts";
import {
  asksForPause,
  DEFAULT_PAUSE_MS,
  DISABLED_AFTER_FAILURES,
  DISABLED_AFTER_MS,
  MAX_PAUSE_MS,
  MAX_TRIES,
  retryAt,
} from "./schedule.ts";

/** How many deliveries of one endpoint are in flight at a time, besides tests. */
export const DELIVERIES_IN_FLIGHT = 5;
/** How many tests of one endpoint are in flight at a time. */
export const TESTS_IN_FLIGHT = 5;
/** How many deliveries wait at most. Everything behind them stays in the rows of its pool. */
export const MAX_WAITING = 50;
/** How long a delivery that is over stays listed. */
export const DELIVERY_KEPT_MS: Millis = 30 * 24 * 3_600_000;
/** How many deliveries that are over stay listed, and how many bytes of them: the oldest go first. */
export const MAX_DELIVERIES = 10_000;
export const MAX_DELIVERIES_BYTES = 32 * 2 ** 20;
/** An outage of at least this many failures, and this long: after its end, everything is tried at once. */
const OUTAGE = { failures: 3, lastsMs: 30_000 };

/** How long an endpoint waits whose secret cannot be opened, at first and at most. */
export const UNSIGNED_PAUSE = { firstMs: 5_000, longestMs: 600_000 };

/** The outcome of an attempt. `retryAfterMs`: the pause that the receiver asks for. */
export interface Outcome extends Omit<Attempt, "at"> {
  retryAfterMs: Millis | null;
}

/** How many more deliveries may wait. */
export function roomOf({ deliveries }: Pick<ReadonlyEndpoint, "deliveries">): number {
  return Math.max(0, MAX_WAITING - deliveries.derive(inOrder).length);
}

function inOrder(live: readonly DeliveryRow[]): DeliveryRow[] {
  return [...live].sort((a, b) => a.number - b.number);
}

/** The waiting deliveries that nothing but time keeps from an attempt, the next one first. */
export function candidates(state: ReadonlyEndpoint): DeliveryRow[] {
  const { disabled } = state.record;
  const free = state.deliveries.derive(unblocked);
  return disabled === null ? free : free.filter(isTest);
}

/** The waiting deliveries without those that come after another delivery of the same run. */
function unblocked(live: readonly DeliveryRow[]): DeliveryRow[] {
  const runs = new Set<string>();
  const free = inOrder(live).filter((row) => {
    const run = subjectOf(row);
    if (run === undefined) return true;
    const isFirst = !runs.has(run);
    runs.add(run);
    return isFirst;
  });
  return free.sort((a, b) => a.nextAt - b.nextAt || a.number - b.number);
}

function subjectOf({ pool, run, submittedAt }: DeliveryRow): string | undefined {
  return run === null ? undefined : `${pool} ${run} ${submittedAt}`;
}

/**
 * The deliveries that are in flight, or are to be sent now. One that is in flight has been due longest, so it
 * stays among the first until its outcome is known. Tests wait for no other delivery (webhooks.md#tests).
 */
export function dueDeliveries(state: ReadonlyEndpoint, now: Instant): DeliveryRow[] {
  const due = candidates(state).filter((row) => beginsAt(state, row) <= now);
  const tests = due.filter(isTest).slice(0, TESTS_IN_FLIGHT);
  return [...tests, ...due.filter((row) => !isTest(row)).slice(0, DELIVERIES_IN_FLIGHT)];
}

/** When a delivery is tried next. A test waits for nothing: somebody has asked for it, and looks on. */
export function beginsAt({ record }: ReadonlyEndpoint, row: DeliveryRow): Instant {
  if (isTest(row)) return row.nextAt;
  return Math.max(row.nextAt, record.pausedUntil, record.unsigned?.nextAt ?? 0);
}

function isTest({ type }: DeliveryRow): boolean {
  return type === "webhook.test";
}

/** Makes a delivery of the present state of a run. A waiting update of the same run is superseded. */
export function deliverRun(state: Endpoint, run: RunSummary, now: Instant): Endpoint {
  const next = add(state, typeOfRun(run.state), run, runPayload(run, state.memo.url, now), now);
  supersede(next, run, now);
  return next;
}

/** Makes a delivery of a test event. */
export function deliverTest(state: Endpoint, by: string, now: Instant): Endpoint {
  return add(state, "webhook.test", undefined, testPayload(state.record.settings.name, by, now), now);
}

function add(
  state: Endpoint,
  type: EventType,
  run: RunSummary | undefined,
  body: string,
  now: Instant,
): Endpoint {
  const number = state.record.nextNumber;
  const row: DeliveryRow = {
    number,
    id: `msg_${state.record.id}_${number}`,
    type,
    pool: run?.pool ?? null,
    run: run?.id ?? null,
    submittedAt: run?.submittedAt ?? null,
    body,
    state: "waiting",
    tries: 0,
    createdAt: now,
    firstTriedAt: null,
    nextAt: now,
    last: null,
    at: now,
  };
  state.deliveries.set(deliveryKey(number), row, now);
  return { ...state, record: { ...state.record, nextNumber: number + 1 } };
}

/** Ends the waiting updates of a run, but for its newest delivery, unless they may be in flight. */
function supersede(state: Endpoint, { pool, id, submittedAt }: RunSummary, now: Instant): void {
  const run = `${pool} ${id} ${submittedAt}`;
  const same = state.deliveries.derive(inOrder).filter((row) => subjectOf(row) === run);
  for (const [index, row] of same.entries()) {
    const mayBeInFlight = index === 0 && row.nextAt <= Math.max(now, state.memo.clockAt);
    if (row.type === "run.updated" && row !== same.at(-1) && !mayBeInFlight)
      end(state, row, "superseded", now);
  }
}

/** Ends a delivery. The next one of the same run begins only now, behind those that are in flight. */
function end(state: Endpoint, row: DeliveryRow, how: DeliveryState, now: Instant): void {
  state.deliveries.set(deliveryKey(row.number), { ...row, state: how, at: now }, now);
  const run = subjectOf(row);
  if (run === undefined) return;
  const next = state.deliveries.derive(inOrder).find((other) => subjectOf(other) === run);
  if (next !== undefined && next.nextAt < now) retime(state, next, now, now);
}

function retime(state: Endpoint, row: DeliveryRow, nextAt: Instant, now: Instant): void {
  state.deliveries.set(deliveryKey(row.number), { ...row, nextAt }, now);
}

/** Applies the outcome of attempt number `tries` + 1 of a delivery (webhooks.md#schedule). */
export function foldOutcome(
  state: Endpoint,
  { number, tries, outcome }: { number: number; tries: number; outcome: Outcome },
  now: Instant,
): Endpoint {
  const row = state.deliveries.get(deliveryKey(number));
  if (row === undefined || row.state !== "waiting" || row.tries !== tries) return state;
  const { retryAfterMs, ...attempt } = outcome;
  const tried = {
    ...row,
    tries: tries + 1,
    firstTriedAt: row.firstTriedAt ?? now,
    last: { ...attempt, at: now },
  };
  const { status } = outcome;
  const signed = state.record.unsigned === null ? state : withUnsigned(state, null);
  if (status !== null && status >= 200 && status < 300) return succeeded(signed, tried, now);
  return isTest(row) ? failedTest(signed, tried, now) : failed(signed, tried, retryAfterMs, now);
}

function withUnsigned(state: Endpoint, unsigned: WebhookRecord["unsigned"]): Endpoint {
  return { ...state, record: { ...state.record, unsigned } };
}

/**
 * A delivery could not be signed. That is no attempt at the receiver, so it counts as no failure: everything
 * waits, and the secret is tried again after a while (webhooks.md#unsigned). A test says at once what is
 * wrong.
 */
export function foldUnsigned(
  state: Endpoint,
  { number, problem }: { number: number; problem: string },
  now: Instant,
): Endpoint {
  const row = state.deliveries.get(deliveryKey(number));
  if (row?.state === "waiting" && isTest(row)) {
    const last = { at: now, status: null, durationMs: 0, problem, answer: null };
    return failedTest(state, { ...row, last }, now);
  }
  const { unsigned } = state.record;
  // Several were on their way: one of them says it all.
  if (unsigned !== null && now < unsigned.nextAt) return state;
  const tries = (unsigned?.tries ?? 0) + 1;
  const nextAt = now + backOffMs(UNSIGNED_PAUSE, tries);
  return withUnsigned(state, { since: unsigned?.since ?? now, text: problem, tries, nextAt });
}

function succeeded(state: Endpoint, row: DeliveryRow, now: Instant): Endpoint {
  end(state, row, "delivered", now);
  const { failing } = state.record;
  if (failing === null) return state;
  if (failing.failures >= OUTAGE.failures && now - failing.since >= OUTAGE.lastsMs) hurry(state, now);
  return { ...state, record: { ...state.record, failing: null } };
}

/** After an outage, everything that waits is tried again now. */
function hurry(state: Endpoint, now: Instant): void {
  for (const row of state.deliveries.derive(inOrder)) if (row.nextAt > now) retime(state, row, now, now);
}

/** A test is one attempt, and says nothing of the endpoint's deliveries. */
function failedTest(state: Endpoint, row: DeliveryRow, now: Instant): Endpoint {
  end(state, row, "failed", now);
  return state;
}

function failed(state: Endpoint, row: DeliveryRow, retryAfterMs: Millis | null, now: Instant): Endpoint {
  const { record } = state;
  const { status, problem } = row.last ?? { status: null, problem: null };
  const text = problem ?? `the receiver answered ${status}`;
  const before = record.failing;
  const failing = { since: before?.since ?? now, failures: (before?.failures ?? 0) + 1, text };
  const pause = asksForPause(status)
    ? now + Math.min(retryAfterMs ?? DEFAULT_PAUSE_MS, MAX_PAUSE_MS)
    : record.pausedUntil;
  const pausedUntil = Math.max(record.pausedUntil, pause);
  const next = { ...state, record: { ...record, failing, failures: record.failures + 1, pausedUntil } };
  // While every attempt at the endpoint fails, no single delivery is at fault.
  const isOutage = failing.since <= (row.firstTriedAt ?? now);
  const isReplaced = row.type === "run.updated" && hasSuccessor(state, row);
  if (isReplaced) end(next, row, "superseded", now);
  else if (row.tries >= MAX_TRIES && !isOutage) end(next, row, "failed", now);
  else retime(next, row, retryAt(row.id, row.tries, now, asksForPause(status) ? pause : 0), now);
  return disableIfHopeless(next, status, now);
}

function hasSuccessor(state: Endpoint, row: DeliveryRow): boolean {
  const run = subjectOf(row);
  return state.deliveries
    .derive(inOrder)
    .some((other) => other.number > row.number && subjectOf(other) === run);
}

/**
 * Disables an endpoint that is gone, or has failed for five days (webhooks.md#disabling). One that is
 * disabled already keeps its reason: what was in flight says nothing of who disabled it.
 */
function disableIfHopeless(state: Endpoint, status: number | null, now: Instant): Endpoint {
  const { failing, disabled } = state.record;
  if (disabled !== null) return state;
  if (status === 410) {
    const text = "the receiver answered 410, which asks to send nothing more; enable it to send again";
    return { ...state, record: disabledRecord(state.record, "gone", text, null, now) };
  }
  if (failing === null || failing.failures < DISABLED_AFTER_FAILURES) return state;
  if (now - failing.since < DISABLED_AFTER_MS) return state;
  const days = formatDuration(DISABLED_AFTER_MS);
  const text = `every attempt has failed for ${days}: ${failing.text}; mend the receiver, and enable it`;
  return { ...state, record: disabledRecord(state.record, "failing", text, null, now) };
}

/** The record of an endpoint that is disabled from now on. */
export function disabledRecord<Stored extends WebhookRecord>(
  record: Stored,
  code: "gone" | "failing" | "asked",
  text: string,
  by: string | null,
  now: Instant,
): Stored {
  return { ...record, disabled: { code, text, at: now, by } };
}

/** Ends every waiting delivery but tests without sending it, since the endpoint goes on from later. */
export function skipWaiting(state: Endpoint, now: Instant): void {
  for (const row of state.deliveries.derive(inOrder)) {
    if (isTest(row)) continue;
    state.deliveries.set(deliveryKey(row.number), { ...row, state: "skipped", at: now }, now);
  }
}

/** Makes a delivery wait again, with the same id and the same bytes, for a whole schedule. */
export function replay(state: Endpoint, row: DeliveryRow, now: Instant): void {
  const again = { ...row, state: "waiting", tries: 0, firstTriedAt: null, nextAt: now, at: now } as const;
  state.deliveries.set(deliveryKey(row.number), again, now);
}
