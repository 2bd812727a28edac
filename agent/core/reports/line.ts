// When is a socket opened, and what is sent on it?
import { earliest, type Instant, type Millis } from "../../../src/shared/machine.ts";
import { backOffMs } from "../../../src/shared/time/backoff.ts";
import { isOver } from "../attempts/outputs.ts";
import {
  EXCHANGE_TIMEOUT_MS,
  FULL_REPORT_MS,
  FULL_REPORTS_A_LEASE,
  REPEAT_FIRST_MS,
  REPEAT_LONGEST_MS,
  WEBHOOK_PATIENCE_MS,
} from "../bounds.ts";
import type { HostMessage } from "../messages.ts";
import type { AttemptState, HostState, LineState } from "../types.ts";
import { unackedBytes } from "./logs.ts";
import { retryDelayMs, withNews } from "./pace.ts";

/** No socket yet: one is opened as soon as it is known where. */
export function newLine(): LineState {
  return { phase: "closed", notBefore: 0, failures: 0, fullBy: 0, told: {}, repeats: 0 };
}

/** A socket is being opened. */
export function lineOpening(state: HostState): HostState {
  return { ...state, line: { ...state.line, phase: "opening" } };
}

/** The socket is open. What was under way by webhook is not waited for: all of it is said anew, here. */
export function lineOpened(state: HostState, now: Instant): HostState {
  const { sent: _, ...exchange } = state.exchange;
  const line: LineState = { ...state.line, phase: "open", fullBy: now, told: {} };
  return withNews({ ...state, line, exchange: { ...exchange, notBefore: now, failures: 0 } }, now);
}

/**
 * The socket is closed, or could not be opened. It is opened anew after a wait with full jitter: when the
 * control plane comes back, all hosts do. If it was open, reports go by webhook until then, but not before
 * the first try.
 */
export function lineClosed(state: HostState, random: number, now: Instant): HostState {
  const { phase, failures } = state.line;
  const notBefore = now + retryDelayMs(failures, random);
  const line = { ...newLine(), notBefore, failures: failures + 1 };
  if (phase !== "open") return { ...state, line };
  const { sent: _, ...exchange } = state.exchange;
  const patient = { ...exchange, notBefore: notBefore + WEBHOOK_PATIENCE_MS };
  return withNews({ ...state, line, exchange: patient }, now);
}

/**
 * The control plane has forgotten what this host holds, and asks for all of it (rule R5). It does so instead
 * of answering a delta, so the one that is under way is not waited for: the full report says the same.
 */
export function fullWanted(state: HostState, now: Instant): HostState {
  if (state.line.phase !== "open") return state;
  const { sent: _, ...exchange } = state.exchange;
  return withNews({ ...state, exchange, line: { ...state.line, fullBy: now } }, now);
}

/**
 * Whether a report on the socket names this attempt, which it does if something of it has changed since the
 * last one. What is over is repeated until the orders no longer mention it (host-protocol.md#report), and
 * what has output left to be stored has it to send.
 */
export function isInDelta({ line }: HostState, attempt: AttemptState): boolean {
  const { id, logs } = attempt;
  const unstored = unackedBytes(logs.stdout) + unackedBytes(logs.stderr) > 0;
  return isOver(attempt) || unstored || line.told[id] !== attempt;
}

/** A report is about to be sent on the socket. */
export function reportedOnLine(state: HostState, full: boolean, now: Instant): LineState {
  const { repeats, ...line } = state.line;
  const repeat = {
    repeats: repeats + 1,
    repeatAt: now + backOffMs({ firstMs: REPEAT_FIRST_MS, longestMs: REPEAT_LONGEST_MS }, repeats + 1),
  };
  return {
    ...line,
    told: state.attempts,
    fullBy: full ? now + fullEveryMs(state) : line.fullBy,
    ...(hasEnded(state) ? repeat : { repeats: 0 }),
  };
}

/** When the next report is due on the open socket; undefined while one waits for its answer. */
export function lineReportAt(state: HostState, logRetryAt: Instant | undefined): Instant | undefined {
  const { exchange, line } = state;
  if (exchange.sent !== undefined) return undefined;
  const at = earliest(exchange.newsBy, logRetryAt, line.fullBy, hasEnded(state) ? line.repeatAt : undefined);
  return at === undefined ? undefined : Math.max(at, exchange.notBefore);
}

/** Something is over that the orders still mention. */
function hasEnded({ attempts }: HostState): boolean {
  return Object.values(attempts).some((attempt) => isOver(attempt) && attempt.wanted !== "nothing");
}

/** Often enough that the lease, which only answers to reports extend, never comes near its end (rule R4). */
function fullEveryMs({ leaseMs }: HostState): Millis {
  return Math.min(FULL_REPORT_MS, leaseMs / FULL_REPORTS_A_LEASE);
}

/** The socket that is to be opened, or given up because a report on it was not answered in time. */
export function dueLine(state: HostState, now: Instant): HostMessage[] {
  const { setup, line, ending } = state;
  const to = setup?.socketUrl;
  if (setup === undefined || to === undefined || ending?.silent === true) return [];
  const envelope = { to, repeatedBy: "self" as const };
  if (line.phase === "open") return hangUpAt(state) <= now ? [{ ...envelope, kind: "hang_up" }] : [];
  if (line.phase === "opening" || now < line.notBefore) return [];
  return [{ ...envelope, kind: "connect", heartbeatMs: setup.probe.intervalMs }];
}

function hangUpAt({ exchange: { sent } }: HostState): Instant {
  return sent === undefined ? Number.POSITIVE_INFINITY : sent.at + EXCHANGE_TIMEOUT_MS;
}

/** When time alone makes `dueLine` owe something. */
export function lineWakesAt(state: HostState): Instant | undefined {
  const { setup, line, ending } = state;
  if (setup?.socketUrl === undefined || ending?.silent === true || line.phase === "opening") return undefined;
  const at = line.phase === "open" ? hangUpAt(state) : line.notBefore;
  return Number.isFinite(at) ? at : undefined;
}
