// When is the socket opened and closed, and when are full reports and deltas sent on it?
import { earliest, type Instant, type Millis } from "../../../src/shared/machine.ts";
import { backOffMs } from "../../../src/shared/time/backoff.ts";
import { isOver } from "../attempts/outputs.ts";
import { placementOf } from "../attempts/placements.ts";
import { EXCHANGE_TIMEOUT_MS, WEBHOOK_PATIENCE_MS } from "../bounds.ts";
import type { HostMessage } from "../messages.ts";
import type { AttemptState, HostState, SocketState } from "../types.ts";
import { unackedBytes } from "./logs.ts";
import { retryDelayMs, withNews } from "./pace.ts";

/**
 * Full reports on a socket are at most this far apart, and at least `FULL_REPORTS_A_LEASE` are sent per
 * lease.
 */
export const FULL_REPORT_MS: Millis = 5 * 60_000;
export const FULL_REPORTS_A_LEASE = 6;
/** An ended attempt that the orders still name is reported again after this time, which doubles each time. */
export const REPEAT_FIRST_MS: Millis = 2_000;
export const REPEAT_LONGEST_MS: Millis = 30_000;

/** No socket yet. The first one is opened as soon as its address is known. */
export function newSocket(): SocketState {
  return { phase: "closed", notBefore: 0, failures: 0, fullBy: 0, reported: {}, begun: {}, repeats: 0 };
}

/** Records that the socket is open. A full report on the socket replaces an unanswered report by webhook. */
export function socketOpened(state: HostState, now: Instant): HostState {
  const socket: SocketState = { ...state.socket, phase: "open", fullBy: now, reported: {}, begun: {} };
  const exchange = { ...state.exchange, sent: undefined, notBefore: now, failures: 0 };
  return withNews({ ...state, socket, exchange }, now);
}

/**
 * Records that the socket is closed, or could not be opened. The next try to open it comes after a random
 * wait (full jitter), since all hosts reconnect at once when the control plane returns. After the loss of an
 * open socket, reports go by webhook only if the next try fails.
 */
export function socketClosed(state: HostState, random: number, now: Instant): HostState {
  const { phase, failures } = state.socket;
  const notBefore = now + retryDelayMs(failures, random);
  const socket = { ...newSocket(), notBefore, failures: failures + 1 };
  if (phase !== "open") return { ...state, socket };
  const patient = { ...state.exchange, sent: undefined, notBefore: notBefore + WEBHOOK_PATIENCE_MS };
  return withNews({ ...state, socket, exchange: patient }, now);
}

/**
 * Makes a full report due, for example because the control plane has forgotten this host's state (rule R5).
 * The control plane then asks for a full report instead of answering a delta, so a delta in flight gets no
 * answer.
 */
export function requestFullReport(state: HostState, now: Instant): HostState {
  if (state.socket.phase !== "open") return state;
  const exchange = { ...state.exchange, sent: undefined };
  return withNews({ ...state, exchange, socket: { ...state.socket, fullBy: now } }, now);
}

/** Records a change that only a full report has, and that must be reported at once. */
export function reportFully(state: HostState, now: Instant): HostState {
  return requestFullReport(withNews(state, now), now);
}

/**
 * The attempts that the next delta on the socket names: those that have changed since the last report, have
 * output to send, or are over. An ended attempt is repeated until the orders no longer name it. An attempt
 * that has only begun waits for its own time, or for other news of its placement, also if a report goes that
 * is about others (host-protocol.md#report).
 */
export function attemptsOfDelta({ attempts, socket }: HostState, now: Instant): AttemptState[] {
  const { reported, begun } = socket;
  const isNews = (attempt: AttemptState) => {
    if (isOver(attempt) || hasUnstored(attempt)) return true;
    return reported[attempt.id] !== attempt && now >= (begun[attempt.id] ?? now);
  };
  const all = Object.values(attempts);
  const placements = new Set(all.filter(isNews).map(({ id }) => placementOf(id)));
  const goesAlong = (one: AttemptState) => reported[one.id] !== one && placements.has(placementOf(one.id));
  return all.filter((one) => isNews(one) || goesAlong(one));
}

function hasUnstored({ logs }: AttemptState): boolean {
  return unackedBytes(logs.stdout) + unackedBytes(logs.stderr) > 0;
}

/** The news that a report leaves for a later one: attempts that have only begun. */
function leftByReport(state: HostState, full: boolean, now: Instant): SocketState["begun"] {
  if (full) return {};
  const named = new Set(attemptsOfDelta(state, now).map(({ id }) => id));
  const isLeft = ([id]: [string, Instant]) => state.attempts[id] !== undefined && !named.has(id);
  return Object.fromEntries(Object.entries(state.socket.begun).filter(isLeft));
}

/** Notes that a report is about to be sent on the socket. */
export function reportedOnSocket(state: HostState, full: boolean, now: Instant): SocketState {
  const { repeats, ...socket } = state.socket;
  const begun = leftByReport(state, full, now);
  const reported = { ...state.attempts };
  for (const id of Object.keys(begun)) {
    const before = socket.reported[id];
    if (before === undefined) delete reported[id];
    else reported[id] = before;
  }
  const repeat = {
    repeats: repeats + 1,
    repeatAt: now + backOffMs({ firstMs: REPEAT_FIRST_MS, longestMs: REPEAT_LONGEST_MS }, repeats + 1),
  };
  return {
    ...socket,
    reported,
    begun,
    fullBy: full ? now + fullEveryMs(state) : socket.fullBy,
    ...(hasEnded(state) ? repeat : { repeats: 0 }),
  };
}

/** When the next report is due on the open socket; undefined while a report waits for its answer. */
export function socketReportAt(state: HostState, logRetryAt: Instant | undefined): Instant | undefined {
  const { exchange, socket } = state;
  if (exchange.sent !== undefined) return undefined;
  const at = earliest(
    exchange.newsBy,
    logRetryAt,
    socket.fullBy,
    hasEnded(state) ? socket.repeatAt : undefined,
  );
  return at === undefined ? undefined : Math.max(at, exchange.notBefore);
}

/** Whether an attempt that the orders still name is over. */
function hasEnded({ attempts }: HostState): boolean {
  return Object.values(attempts).some((attempt) => isOver(attempt) && attempt.wanted !== "nothing");
}

/**
 * Only answers to full reports extend the lease, so full reports are sent several times per lease (rule R4).
 */
function fullEveryMs({ leaseMs }: HostState): Millis {
  return Math.min(FULL_REPORT_MS, leaseMs / FULL_REPORTS_A_LEASE);
}

/** Opens the socket, or closes the socket if a report on it was not answered in time. */
export function dueSocket(state: HostState, now: Instant): HostMessage[] {
  const { setup, socket } = state;
  const [at, to] = [socketWakesAt(state), setup?.socketUrl];
  if (setup === undefined || to === undefined || at === undefined || now < at) return [];
  if (socket.phase === "open") return [{ to, kind: "hang_up" }];
  return [{ to, kind: "connect", heartbeatMs: setup.probe.intervalMs }];
}

/** When time alone will make a message of `dueSocket` due. */
export function socketWakesAt({ setup, socket, exchange, ending }: HostState): Instant | undefined {
  if (setup?.socketUrl === undefined || ending?.silent === true) return undefined;
  if (socket.phase === "closed") return socket.notBefore;
  const { sent } = exchange;
  return socket.phase === "opening" || sent === undefined ? undefined : sent.at + EXCHANGE_TIMEOUT_MS;
}
