// When is the next report sent, and what does its answer or failure change?
import { earliest, type Instant, type Millis } from "../../../src/shared/machine.ts";
import { backOffMs } from "../../../src/shared/time/backoff.ts";
import { EXCHANGE_TIMEOUT_MS, MAX_REPORT_LOG_BYTES } from "../bounds.ts";
import type { EventOf } from "../events.ts";
import type { ExchangeState, HostState, SentReport } from "../types.ts";
import { allUnackedBytes } from "./logs.ts";
import { retryDelayMs, withNews } from "./pace.ts";
import { makeReport } from "./report.ts";
import { reportedOnSocket, socketReportAt } from "./socket.ts";

/** Pause after an immediate answer that brought nothing: a server may be unable to hold answers back. */
export const EMPTY_ANSWER_PAUSE_MS: Millis = 1_000;
/**
 * Log bytes that were sent but not acknowledged are sent again after this time, which doubles with each
 * retry.
 */
export const LOG_RETRY_FIRST_MS: Millis = 100;
/** The same time on a socket, where the acknowledgment comes after the answer. */
export const SOCKET_LOG_RETRY_FIRST_MS: Millis = 1_000;
const LOG_RETRY_LONGEST_MS: Millis = 5_000;

/** The state before the first report, which is sent at once. */
export function newExchange(): ExchangeState {
  return { seq: 0, restUntil: 0, notBefore: 0, failures: 0, logStalls: 0 };
}

/**
 * When the next report is due; undefined if none is. While the answer to a report is held back, news is sent
 * in a new report. An answer that is not held back comes at once, so the next report waits for it.
 */
export function reportDueAt(state: HostState): Instant | undefined {
  const { setup, exchange, ending } = state;
  if (setup === undefined || ending?.silent === true) return undefined;
  const { sent, newsBy, logRetryAt, notBefore } = exchange;
  const retryAt = logRetryAt !== undefined && allUnackedBytes(state) > 0 ? logRetryAt : undefined;
  if (state.socket.phase === "open") return socketReportAt(state, retryAt);
  let at: Instant | undefined;
  if (sent === undefined)
    at = earliest(newsBy ?? (ending === undefined ? exchange.restUntil : undefined), retryAt);
  else {
    const expiry = sent.at + sent.waitMs + EXCHANGE_TIMEOUT_MS;
    at = sent.waitMs > 0 ? earliest(newsBy, retryAt, expiry) : expiry;
  }
  return at === undefined ? undefined : Math.max(at, notBefore);
}

/** Notes that a report is about to be sent, with all that has changed so far. */
export function reportSent(state: HostState, seq: number, now: Instant): HostState {
  const { logRetryAt, usageReportedAt } = state.exchange;
  const message = makeReport(state, now);
  if (message === undefined || seq !== message.seq) return state;
  const withLogs = message.pieces.length > 0;
  const bootOk = message.report.boot?.ok === true;
  const sent: SentReport = { seq, at: now, waitMs: message.waitMs, withLogs, bootOk };
  const socket =
    message.by === "socket"
      ? reportedOnSocket(state, message.report.full, now)
      : { ...state.socket, begun: {} };
  const exchange = {
    ...state.exchange,
    newsBy: earliest(...Object.values(socket.begun)),
    logRetryAt: withLogs ? undefined : logRetryAt,
    usageReportedAt: state.usage.latest?.at ?? usageReportedAt,
    seq,
    sent,
  };
  return { ...state, socket, exchange };
}

/**
 * Notes that the report `seq` was answered. `before`: the state before the orders in the answer were applied.
 * The next report is due at once, unless the remaining news may wait, or the answer came early and brought
 * nothing.
 */
export function reportAnswered(state: HostState, before: HostState, seq: number, now: Instant): HostState {
  const { sent } = before.exchange;
  const unackedBytes = allUnackedBytes(state);
  const acked = unackedBytes < allUnackedBytes(before);
  if (sent?.seq !== seq) return acked ? bytesStored(state, now) : state;
  const { exchange } = state;
  const heldMs = Math.min(sent.waitMs, EMPTY_ANSWER_PAUSE_MS);
  const empty = !acked && state.ordersSeen === before.ordersSeen && now - sent.at < heldMs;
  const rested: HostState = {
    ...state,
    boot: { ...state.boot, acked: state.boot.acked || sent.bootOk },
    socket: { ...state.socket, failures: 0 },
    exchange: {
      ...exchange,
      sent: undefined,
      logRetryAt: unackedBytes > 0 && !acked ? exchange.logRetryAt : undefined,
      failures: 0,
      notBefore: now,
      restUntil: empty ? sent.at + EMPTY_ANSWER_PAUSE_MS : now,
      logStalls: acked ? 0 : exchange.logStalls,
    },
  };
  if (unackedBytes === 0) return rested;
  if (acked) {
    // The rest goes with the next report, but does not wait for the time of an attempt that has only begun.
    const { newsBy = now } = exchange;
    const isOnlyBegun = newsBy === earliest(...Object.values(state.socket.begun));
    return withNews(rested, isOnlyBegun || unackedBytes >= MAX_REPORT_LOG_BYTES ? now : newsBy);
  }
  return sent.withLogs ? withStall(rested, now) : rested;
}

/** Notes an acknowledgment of log bytes that comes after the answer to their report, as on a socket. */
function bytesStored(state: HostState, now: Instant): HostState {
  const next = { ...state, exchange: { ...state.exchange, logRetryAt: undefined, logStalls: 0 } };
  return allUnackedBytes(state) > 0 ? withNews(next, now) : next;
}

/** Backs off after log bytes were sent but not stored. */
function withStall(state: HostState, now: Instant): HostState {
  const { logStalls } = state.exchange;
  const firstMs = state.socket.phase === "open" ? SOCKET_LOG_RETRY_FIRST_MS : LOG_RETRY_FIRST_MS;
  const delayMs = backOffMs({ firstMs, longestMs: LOG_RETRY_LONGEST_MS }, logStalls + 1);
  return { ...state, exchange: { ...state.exchange, logStalls: logStalls + 1, logRetryAt: now + delayMs } };
}

/** Backs off after a failed report, with full jitter and `Retry-After` (host-protocol.md#back-off). */
export function reportFailed(state: HostState, failure: EventOf<"report_failed">, now: Instant): HostState {
  const { sent, failures } = state.exchange;
  if (sent?.seq !== failure.seq) return state;
  const delayMs = Math.max(retryDelayMs(failures, failure.random), failure.retryAfterMs ?? 0);
  const waiting = { sent: undefined, newsBy: now, notBefore: now + delayMs, failures: failures + 1 };
  return { ...state, exchange: { ...state.exchange, ...waiting } };
}
