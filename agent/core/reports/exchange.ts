// Which report is sent when by webhook, and what does its answer or failure change?
import { earliest, type Instant } from "../../../src/shared/machine.ts";
import { backOffMs } from "../../../src/shared/time/backoff.ts";
import {
  EMPTY_ANSWER_PAUSE_MS,
  EXCHANGE_TIMEOUT_MS,
  LINE_LOG_RETRY_FIRST_MS,
  LOG_RETRY_FIRST_MS,
  LOG_RETRY_LONGEST_MS,
  MAX_REPORT_LOG_BYTES,
} from "../bounds.ts";
import type { HostEvent } from "../events.ts";
import type { ExchangeState, HostState, SentReport } from "../types.ts";
import { lineReportAt, reportedOnLine } from "./line.ts";
import { allUnackedBytes } from "./logs.ts";
import { retryDelayMs, withNews } from "./pace.ts";
import { makeReport } from "./report.ts";

/** Before the first report: it goes at once. */
export function newExchange(): ExchangeState {
  return { seq: 0, restUntil: 0, notBefore: 0, failures: 0, logStalls: 0 };
}

/**
 * When the next report is to be sent; undefined if none ever is. While one is held, news takes its place;
 * while one is on its way that is not held, its answer is awaited, because it comes at once.
 */
export function reportDueAt(state: HostState): Instant | undefined {
  const { setup, exchange, ending } = state;
  if (setup === undefined || ending?.silent === true) return undefined;
  const { sent, newsBy, logRetryAt, notBefore } = exchange;
  const retryAt = logRetryAt !== undefined && allUnackedBytes(state) > 0 ? logRetryAt : undefined;
  if (state.line.phase === "open") return lineReportAt(state, retryAt);
  let at: Instant | undefined;
  if (sent === undefined)
    at = earliest(newsBy ?? (ending === undefined ? exchange.restUntil : undefined), retryAt);
  else {
    const expiry = sent.at + sent.waitMs + EXCHANGE_TIMEOUT_MS;
    at = sent.waitMs > 0 ? earliest(newsBy, retryAt, expiry) : expiry;
  }
  return at === undefined ? undefined : Math.max(at, notBefore);
}

/** A report is about to be sent: all that is known is in it. */
export function reportSent(state: HostState, seq: number, now: Instant): HostState {
  const { newsBy: _, logRetryAt, ...exchange } = state.exchange;
  const message = makeReport(state, now);
  if (message === undefined || seq !== message.seq) return state;
  const withLogs = message.pieces.length > 0;
  const bootOk = message.report.boot?.ok === true;
  const sent: SentReport = { seq, at: now, waitMs: message.waitMs, withLogs, bootOk };
  const retry = withLogs || logRetryAt === undefined ? {} : { logRetryAt };
  const line = message.by === "socket" ? reportedOnLine(state, message.report.full, now) : state.line;
  const told = state.usage.latest === undefined ? {} : { usageTold: state.usage.latest.at };
  return { ...state, line, exchange: { ...exchange, ...retry, ...told, seq, sent } };
}

/**
 * The report `seq` has been answered. `before`: the state before what the answer says was applied. Decides
 * when the next report goes: at once, unless there is news that may wait, or the answer came early and
 * brought nothing.
 */
export function reportAnswered(state: HostState, before: HostState, seq: number, now: Instant): HostState {
  const { sent } = before.exchange;
  const unackedBytes = allUnackedBytes(state);
  const acked = unackedBytes < allUnackedBytes(before);
  if (sent?.seq !== seq) return acked ? bytesStored(state, now) : state;
  const { sent: _, logRetryAt, ...exchange } = state.exchange;
  const heldMs = Math.min(sent.waitMs, EMPTY_ANSWER_PAUSE_MS);
  const empty = !acked && state.ordersSeen === before.ordersSeen && now - sent.at < heldMs;
  const rested: HostState = {
    ...state,
    boot: { ...state.boot, acked: state.boot.acked || sent.bootOk },
    line: { ...state.line, failures: 0 },
    exchange: {
      ...exchange,
      failures: 0,
      notBefore: now,
      restUntil: empty ? sent.at + EMPTY_ANSWER_PAUSE_MS : now,
      logStalls: acked ? 0 : exchange.logStalls,
    },
  };
  if (unackedBytes === 0) return rested;
  if (acked) return withNews(rested, unackedBytes >= MAX_REPORT_LOG_BYTES ? now : (exchange.newsBy ?? now));
  if (sent.withLogs) return withStall(rested, now);
  return logRetryAt === undefined ? rested : { ...rested, exchange: { ...rested.exchange, logRetryAt } };
}

/** On a socket the word that bytes are stored may come when the report that brought them is long answered. */
function bytesStored(state: HostState, now: Instant): HostState {
  const { logRetryAt: _, ...exchange } = state.exchange;
  const next = { ...state, exchange: { ...exchange, logStalls: 0 } };
  return allUnackedBytes(state) > 0 ? withNews(next, now) : next;
}

/** Bytes were sent and not stored: they are sent again, but not in a tight loop. */
function withStall(state: HostState, now: Instant): HostState {
  const { logStalls } = state.exchange;
  const firstMs = state.line.phase === "open" ? LINE_LOG_RETRY_FIRST_MS : LOG_RETRY_FIRST_MS;
  const delayMs = backOffMs({ firstMs, longestMs: LOG_RETRY_LONGEST_MS }, logStalls + 1);
  return { ...state, exchange: { ...state.exchange, logStalls: logStalls + 1, logRetryAt: now + delayMs } };
}

type Failure = Extract<HostEvent, { type: "report_failed" }>;

/** A report has failed: back off with full jitter, and obey `Retry-After` (host-protocol.md#back-off). */
export function reportFailed(state: HostState, failure: Failure, now: Instant): HostState {
  const { sent, ...exchange } = state.exchange;
  if (sent?.seq !== failure.seq) return state;
  const delayMs = Math.max(retryDelayMs(exchange.failures, failure.random), failure.retryAfterMs ?? 0);
  return {
    ...state,
    exchange: { ...exchange, newsBy: now, notBefore: now + delayMs, failures: exchange.failures + 1 },
  };
}
