// What does an answer of the control plane change: attempts to start, stop or forget?
import type { AttemptOrder, Orders, StreamName } from "../../../src/schema/host.ts";
import type { Instant } from "../../../src/shared/machine.ts";
import type { HostEvent } from "../events.ts";
import { reportAnswered } from "../reports/exchange.ts";
import type { AttemptState, HostState, StreamState } from "../types.ts";
import { isWaiting, newAttempt, ownStop, planOf, stopAttempt } from "./attempt.ts";
import { endHost } from "./ending.ts";
import { dropped } from "./sticky.ts";

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
    state = withLease(dropped(state, orders.drop), orders, seq);
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
    attempts[order.id] =
      newer || known === undefined
        ? withSignals(ordered(taken(known, order, now), order, now), orders)
        : known;
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
 * The attempt that an order is about. One that only waits for its time is as the latest orders say, but for
 * its time limit, which counts. The wait counts from when the orders came: their answer may have been held,
 * and what is early by that would not have waited.
 */
function taken(known: AttemptState | undefined, order: AttemptOrder, now: Instant): AttemptState {
  if (known !== undefined && !isWaiting(known)) return known;
  const limit = known === undefined ? {} : { deadline: known.deadline, timeoutMs: known.timeoutMs };
  if (order.want === "stop") return { ...newAttempt(order.id, "stop"), ...limit };
  const { id, task, sticky, startInMs = 0 } = order;
  const wait = task !== undefined && startInMs > 0 ? { notBefore: now + startInMs } : {};
  return { ...newAttempt(id, "run", task, sticky), ...wait, ...limit };
}

/**
 * What one order changes. The time limit counts from the arrival of the first orders that say it: the same
 * words again, because something else in the orders is new or the agent is, do not put it off. Words that
 * come with the task are all there are: without a limit there is none. Those without it only say what is to
 * be kept.
 */
function ordered(attempt: AttemptState, order: AttemptOrder, now: Instant): AttemptState {
  const wanted = { ...attempt, wanted: order.want };
  if (order.save !== wanted.save) wanted.save = order.save;
  if (order.want === "stop") {
    const stopped = stopAttempt(wanted, order, now);
    const begins = wanted.stop === undefined && stopped.stop !== undefined;
    // What had ended by itself was not ended by the limit, however little was to be done yet.
    const ended = wanted.exit !== undefined || wanted.startError !== undefined;
    return begins && !ended && order.timedOut === true ? { ...stopped, timedOut: true } : stopped;
  }
  const { timeoutMs, task } = order;
  const told = task === undefined ? wanted : { ...wanted, plan: planOf(task), outputs: task.outputs };
  if (timeoutMs === attempt.timeoutMs || (timeoutMs === undefined && task === undefined)) return told;
  return { ...told, timeoutMs, deadline: timeoutMs === undefined ? undefined : now + timeoutMs };
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
