// What does an endpoint of webhooks decide: what to read of its pools, and what to send when (webhooks.md)?
import { type Envelope, earliest, type Instant, type Machine } from "../../shared/machine.ts";
import { type Answered, foldMessage, isMessage, type Letter, type Message } from "../inbox.ts";
import {
  type AskedEvent,
  type AuditLetter,
  type AuditTaken,
  auditOwed,
  foldTaken,
  noteAudit,
} from "./audit.ts";
import { webhookInvariants } from "./check.ts";
import {
  beginsAt,
  candidates,
  DELIVERY_KEPT_MS,
  deliverTest,
  disabledRecord,
  dueDeliveries,
  foldOutcome,
  foldUnsigned,
  MAX_DELIVERIES,
  MAX_DELIVERIES_BYTES,
  type Outcome,
  replay,
  roomOf,
  skipWaiting,
} from "./deliveries.ts";
import { foldFollowAnswer, followsOwed, freshCursor } from "./follow.ts";
import { webhookInbox } from "./inbox.ts";
import { deliveryKey, type Endpoint, endpointOf, isLiveDelivery, type WebhookState } from "./record.ts";

/** How often deliveries that are too old are forgotten at most. */
const FORGET_EVERY_MS = 3_600_000;
/** After how many new deliveries the bounds of their list are enforced. */
export const BOUND_EACH = 100;
/** How many stored deliveries a replay of a range looks at in one step. */
export const REPLAY_SCAN = 200;

/** What can happen to an endpoint. */
export type WebhookEvent =
  | { type: "tick" }
  | Message<"webhook">
  | Answered<"pool", "follow">
  /** An attempt is over. `tries`: the attempts before it. */
  | { type: "attempted"; number: number; tries: number; outcome: Outcome }
  /** It could not be made, since the endpoint's secret cannot be opened. */
  | { type: "unsigned"; number: number; problem: string }
  | { type: "test"; by: string }
  | AskedEvent
  | AuditTaken;

/** A delivery to be sent: the object reads its bytes from the row. */
export type DeliverLetter = Envelope & { kind: "deliver"; number: number; tries: number };

export type WebhookMessage = Letter<"pool", "follow"> | DeliverLetter | AuditLetter;

/** The state machine of an endpoint. */
export const webhookMachine: Machine<WebhookState, WebhookEvent, WebhookMessage> = {
  name: "webhook",
  invariants: webhookInvariants,

  apply(before, event, now) {
    const known = { record: before.record, version: before.deliveries.version };
    const memo = { ...before.memo, clockAt: Math.max(before.memo.clockAt, now) };
    const state = noteAudit(known, fold({ ...before, memo }, event, now), event, now);
    const endpoint = endpointOf(state);
    if (endpoint === undefined) return state;
    boundDeliveries(endpoint, before.record?.nextNumber ?? 0);
    return forgetOld(goOnReplaying(endpoint, now), now);
  },

  due(state, now) {
    const entries = state.record === null ? [] : auditOwed(state.record);
    const endpoint = endpointOf(state);
    if (endpoint === undefined) return entries;
    const deliveries = dueDeliveries(endpoint, now).map(({ number, tries }): DeliverLetter => {
      return { to: "receiver", kind: "deliver", about: String(number), repeatedBy: "self", number, tries };
    });
    return [...deliveries, ...followsOwed(endpoint), ...entries];
  },

  wakeAt(state) {
    const endpoint = endpointOf(state);
    if (endpoint === undefined) return undefined;
    // A range goes on with the next step, even if the last one found nothing to send in it.
    if (endpoint.record.replay !== null && roomOf(endpoint) > 0) return 0;
    return earliest(...candidates(endpoint).map((row) => beginsAt(endpoint, row)));
  },
};

function fold(state: WebhookState, event: WebhookEvent, now: Instant): WebhookState {
  if (isMessage(webhookInbox, event)) return foldMessage(webhookInbox, state, event, now);
  if (event.type === "audit_taken") return foldTaken(state, event);
  const endpoint = endpointOf(state);
  if (endpoint === undefined) return state;
  const { record } = endpoint;
  switch (event.type) {
    case "tick":
      return state;
    case "follow_answered":
      return foldFollowAnswer(endpoint, event.sent, event.answer, now);
    case "attempted":
      return foldOutcome(endpoint, event, now);
    case "unsigned":
      return foldUnsigned(endpoint, event, now);
    case "test":
      return deliverTest(endpoint, event.by, now);
    case "replay":
      replayAll(endpoint, event.numbers, now);
      return state;
    case "replay_range":
      return {
        ...state,
        record: { ...record, replay: { ...event.range, at: 0, upTo: record.nextNumber - 1 } },
      };
    case "disable": {
      if (record.disabled !== null) return state;
      const text = `${event.by} has disabled it; enable it to send again`;
      return { ...state, record: disabledRecord(record, "asked", text, event.by, now) };
    }
    case "enable":
      return enable(endpoint, event.from, now);
  }
}

function replayAll(state: Endpoint, numbers: readonly number[], now: Instant): void {
  for (const number of numbers) {
    const row = state.deliveries.get(deliveryKey(number));
    // A delivery that waits for its first attempt may be in flight.
    if (row !== undefined && (!isLiveDelivery(row) || row.nextAt > now)) replay(state, row, now);
  }
}

/** Takes the next stored deliveries of a range for as long as there is room (webhooks.md#replay). */
function goOnReplaying(state: Endpoint, now: Instant): Endpoint {
  const { replay: range } = state.record;
  let room = roomOf(state);
  if (range === null || room === 0) return state;
  const rows = [...state.deliveries.above("number", range.at, deliveryKey(range.at), REPLAY_SCAN)];
  let { at } = range;
  for (const { number } of rows) {
    if (number > range.upTo || room === 0) break;
    at = number;
    const row = state.deliveries.get(deliveryKey(number));
    if (row === undefined || isLiveDelivery(row) || row.type === "webhook.test") continue;
    const isWanted = range.all || row.state !== "delivered";
    if (!isWanted || row.createdAt < range.since || row.createdAt >= range.until) continue;
    replay(state, row, now);
    room -= 1;
  }
  const isOver = rows.length < REPLAY_SCAN && (rows.at(-1)?.number ?? at) <= at;
  const next = isOver || at >= range.upTo ? null : { ...range, at };
  return { ...state, record: { ...state.record, replay: next } };
}

function enable(state: Endpoint, from: "last" | Instant, now: Instant): WebhookState {
  const { record } = state;
  const enabled = { ...record, disabled: null, failing: null, pausedUntil: 0, unsigned: null };
  if (from === "last") {
    for (const row of state.deliveries.live()) {
      if (row.nextAt > now) state.deliveries.set(deliveryKey(row.number), { ...row, nextAt: now }, now);
    }
    const { disabled, failing, pausedUntil, unsigned } = record;
    const isOn = disabled === null && failing === null && pausedUntil <= now && unsigned === null;
    return isOn ? state : { ...state, record: enabled };
  }
  skipWaiting(state, now);
  const cursors = Object.entries(record.cursors).map(([pool, { listedAt, leaving }]) => {
    return [pool, { ...freshCursor(listedAt, from), leaving }] as const;
  });
  return { ...state, record: { ...enabled, cursors: Object.fromEntries(cursors) } };
}

/** After each so many new deliveries, removes the oldest that are too many or too large to be listed. */
function boundDeliveries({ deliveries, record: { nextNumber } }: Endpoint, before: number): void {
  const rounds = (number: number) => Math.floor(number / BOUND_EACH);
  if (rounds(before) < rounds(nextNumber)) deliveries.keepEnded(MAX_DELIVERIES, MAX_DELIVERIES_BYTES);
}

/** Forgets deliveries that were over long ago (webhooks.md#deliveries). */
function forgetOld(state: Endpoint, now: Instant): Endpoint {
  if (now - state.memo.forgotAt < FORGET_EVERY_MS) return state;
  state.deliveries.forget(now - DELIVERY_KEPT_MS);
  return { ...state, memo: { ...state.memo, forgotAt: now } };
}
