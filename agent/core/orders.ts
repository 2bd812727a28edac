import type { Instant } from "../../src/core/machine.ts";
import type { AttemptOrder, Orders, StreamName } from "../../src/schema/host.ts";
import { newAttempt, ownStop, stopAttempt } from "./attempt.ts";
import { endHost } from "./ending.ts";
import { reportAnswered } from "./exchange.ts";
import type { AttemptState, HostEvent, HostState, StreamState } from "./types.ts";

type Answered = Extract<HostEvent, { type: "orders" }>;

/**
 * Folds an answer in. Orders are absolute: what they want is started or kept, what they want stopped or do
 * not mention is stopped. They are ordered by (incarnation, revision), and older ones change nothing.
 */
export function applyOrders(before: HostState, { orders, seq }: Answered, now: Instant): HostState {
  let state = before;
  if (orders.incarnation === state.setup?.incarnation && orders.revision >= state.ordersSeen) {
    const newer = orders.revision > state.ordersSeen;
    const attempts = attemptsOrdered(state, orders, newer, now);
    state = { ...state, attempts, ordersSeen: orders.revision, reportWithinMs: orders.reportWithinMs };
    state = withLease(state, orders, seq);
    if (orders.powerOff) {
      const reason = "the control plane is done with this machine";
      state = endHost(state, { code: 0, reason, powerOff: true }, now);
    }
  }
  return reportAnswered(state, before, seq, now);
}

/**
 * The lease counts from when the report that the orders answer was sent (rule R4); an answer that does not
 * name the report it came for grants nothing. It is never shortened: the control plane has stored the
 * longest.
 */
function withLease(state: HostState, orders: Orders, seq: number): HostState {
  const { sent } = state.exchange;
  if (orders.leaseMs <= 0 || sent === undefined || sent.seq !== seq || orders.answers !== seq) return state;
  return { ...state, leaseUntil: Math.max(state.leaseUntil ?? 0, sent.at + orders.leaseMs) };
}

function attemptsOrdered(
  state: HostState,
  orders: Orders,
  newer: boolean,
  now: Instant,
): Record<string, AttemptState> {
  const attempts: Record<string, AttemptState> = {};
  for (const order of orders.attempts) {
    const known = state.attempts[order.id];
    // An agent that ends takes nothing on; the absence of the attempt in its report says so.
    if (known === undefined && state.ending !== undefined) continue;
    const task = order.want === "run" ? order.task : undefined;
    const attempt = known ?? newAttempt(order.id, order.want, task);
    attempts[order.id] =
      newer || known === undefined ? withSignals(ordered(attempt, order, now), orders) : attempt;
  }
  for (const [id, attempt] of Object.entries(state.attempts)) {
    attempts[id] ??= stopAttempt({ ...attempt, wanted: "nothing" }, ownStop(attempt), now);
  }
  for (const [id, acks] of Object.entries(orders.logs)) {
    const attempt = attempts[id];
    if (attempt !== undefined) attempts[id] = { ...attempt, logs: acknowledged(attempt.logs, acks) };
  }
  return attempts;
}

/**
 * What one order changes. The time limit counts from the arrival of the first orders that say it: the same
 * words again, because something else in the orders is new or the agent is, do not put it off.
 */
function ordered(attempt: AttemptState, order: AttemptOrder, now: Instant): AttemptState {
  const wanted = { ...attempt, wanted: order.want };
  if (order.want === "stop") return stopAttempt(wanted, order, now);
  const { timeoutMs } = order;
  if (timeoutMs === undefined || timeoutMs === attempt.timeoutMs) return wanted;
  return { ...wanted, timeoutMs, deadline: now + timeoutMs };
}

/** Orders say all the signals that it shall have had by now; which of them it has had, it knows itself. */
function withSignals(attempt: AttemptState, orders: Orders): AttemptState {
  const wanted = (orders.signals ?? []).filter(({ id }) => id === attempt.id);
  if (wanted.length === 0 && attempt.signals === undefined) return attempt;
  return { ...attempt, signals: wanted.map(({ signal, n }) => ({ signal, n })) };
}

function acknowledged(
  { stdout, stderr }: AttemptState["logs"],
  acks: Partial<Record<StreamName, number>>,
): AttemptState["logs"] {
  const fold = (stream: StreamState, ack = 0): StreamState =>
    ack > stream.acked ? { ...stream, acked: ack, size: Math.max(stream.size, ack) } : stream;
  return { stdout: fold(stdout, acks.stdout), stderr: fold(stderr, acks.stderr) };
}
