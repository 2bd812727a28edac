// What do the orders in an answer change: which attempts start, stop or are forgotten?
import type { AttemptOrder, Orders, StreamName } from "../../../src/schema/host.ts";
import type { Instant } from "../../../src/shared/machine.ts";
import type { EventOf } from "../events.ts";
import { reportAnswered } from "../reports/exchange.ts";
import type { AttemptState, HostState, StreamState } from "../types.ts";
import { isWaiting, newAttempt, ofTask, ownStop, stopAttempt } from "./attempt.ts";
import { endHost } from "./ending.ts";
import { endHold, withHoldOrder } from "./hold.ts";
import { withDrops } from "./sticky.ts";

/**
 * Applies the orders in an answer. Orders are absolute: the attempts that they want are started or kept, and
 * all other attempts are stopped. Orders for another incarnation, or of an older revision, change nothing.
 */
export function applyOrders(before: HostState, { orders, seq }: EventOf<"orders">, now: Instant): HostState {
  let state = before;
  if (orders.incarnation === state.setup?.incarnation && orders.revision >= state.ordersSeen) {
    const newer = orders.revision > state.ordersSeen;
    const attempts = orderedAttempts(state, orders, newer, now);
    state = { ...state, attempts, ordersSeen: orders.revision, reportWithinMs: orders.reportWithinMs };
    state = withLease(withDrops(state, orders.drop), orders, seq);
    if (orders.powerOff) {
      const reason = "the control plane no longer needs this machine";
      state = endHost(state, { code: 0, reason, powerOff: true }, now);
    }
  }
  return reportAnswered(state, before, seq, now);
}

/**
 * Extends the lease, which counts from when the answered report was sent (rule R4). An answer that names
 * another report grants nothing. The lease is never shortened: the control plane has stored the end of the
 * longest lease.
 */
function withLease(state: HostState, orders: Orders, seq: number): HostState {
  const { sent } = state.exchange;
  if (orders.leaseMs <= 0 || sent === undefined || sent.seq !== seq || orders.answers !== seq) return state;
  return { ...state, leaseUntil: Math.max(state.leaseUntil ?? 0, sent.at + orders.leaseMs) };
}

function orderedAttempts(
  state: HostState,
  orders: Orders,
  newer: boolean,
  now: Instant,
): Record<string, AttemptState> {
  const attempts: Record<string, AttemptState> = {};
  for (const order of orders.attempts) {
    const known = state.attempts[order.id];
    // An ending agent accepts no new attempt. Its reports show that by omitting the attempt.
    if (known === undefined && state.ending !== undefined) continue;
    attempts[order.id] =
      newer || known === undefined
        ? withSignals(withOrder(baseOf(known, order, now), order, now), orders)
        : known;
  }
  for (const [id, attempt] of Object.entries(state.attempts)) {
    attempts[id] ??= endHold(stopAttempt({ ...attempt, wanted: "nothing" }, ownStop(attempt), now));
  }
  for (const [id, acks] of Object.entries(orders.logs)) {
    const attempt = attempts[id];
    if (attempt !== undefined) attempts[id] = { ...attempt, logs: withAcks(attempt.logs, acks) };
  }
  return attempts;
}

/**
 * The attempt to which an order is applied. An attempt that waits for its time to start is created again from
 * the latest order, but keeps its time limit. Its wait counts from the arrival of the orders.
 */
function baseOf(known: AttemptState | undefined, order: AttemptOrder, now: Instant): AttemptState {
  if (known !== undefined && !isWaiting(known)) return known;
  const limit = known === undefined ? {} : { deadline: known.deadline, timeoutMs: known.timeoutMs };
  if (order.want === "stop") return { ...newAttempt(order.id, "stop"), ...limit };
  const { id, task, sticky, startInMs = 0 } = order;
  const wait = task !== undefined && startInMs > 0 ? { notBefore: now + startInMs } : {};
  return { ...newAttempt(id, "run", task, sticky), ...wait, ...limit };
}

/**
 * Applies one order. A time limit counts from the arrival of the first orders that contain it. The same limit
 * in later orders does not extend the time. An order with a task is complete: if it has no limit, the attempt
 * has none. An order without a task keeps the attempt as it is, so a missing limit changes nothing.
 */
function withOrder(attempt: AttemptState, order: AttemptOrder, now: Instant): AttemptState {
  const holdMs = order.want === "run" ? order.holdMs : undefined;
  const wanted = { ...withHoldOrder(attempt, holdMs, now), wanted: order.want };
  if (order.save !== wanted.save) wanted.save = order.save;
  if (order.want === "stop") {
    const stopped = stopAttempt(wanted, order, now);
    const begins = wanted.stop === undefined && stopped.stop !== undefined;
    // An attempt that had ended by itself has not timed out, even if it was still being cleaned up.
    const ended = wanted.exit !== undefined || wanted.startError !== undefined;
    return begins && !ended && order.timedOut === true ? { ...stopped, timedOut: true } : stopped;
  }
  const { timeoutMs, task } = order;
  const next = task === undefined ? wanted : { ...wanted, ...ofTask(task) };
  if (timeoutMs === attempt.timeoutMs || (timeoutMs === undefined && task === undefined)) return next;
  return { ...next, timeoutMs, deadline: timeoutMs === undefined ? undefined : now + timeoutMs };
}

/**
 * Records the signals in the orders. Orders list all signals so far; `signaledUpTo` tells which were sent.
 */
function withSignals(attempt: AttemptState, orders: Orders): AttemptState {
  const wanted = (orders.signals ?? []).filter(({ id }) => id === attempt.id);
  if (wanted.length === 0 && attempt.signals === undefined) return attempt;
  return { ...attempt, signals: wanted.map(({ signal, n }) => ({ signal, n })) };
}

function withAcks(
  { stdout, stderr }: AttemptState["logs"],
  acks: Partial<Record<StreamName, number>>,
): AttemptState["logs"] {
  const fold = (stream: StreamState, ack = 0): StreamState =>
    ack > stream.acked ? { ...stream, acked: ack, size: Math.max(stream.size, ack) } : stream;
  return { stdout: fold(stdout, acks.stdout), stderr: fold(stderr, acks.stderr) };
}
