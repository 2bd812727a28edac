// The host's machine: `apply`, `due` and `wakeAt` (shell.md#machine). The agent's shell drives it.
import type { HostSetup } from "../../src/schema/host.ts";
import { earliest, type Instant, type Machine } from "../../src/shared/machine.ts";
import { dueForAttempt, isWaiting } from "./attempts/attempt.ts";
import { applyToAttempt } from "./attempts/attempt-events.ts";
import { elapse, elapsesAt } from "./attempts/elapse.ts";
import { dueExit, endHost } from "./attempts/ending.ts";
import { applyOrders } from "./attempts/orders.ts";
import { dueCollections } from "./attempts/outputs.ts";
import { dueClears, placementCleared, withPlacements } from "./attempts/placements.ts";
import {
  dueBeginnings,
  dueDrops,
  dueSaves,
  foldBegun,
  foldKept,
  foldSaved,
  hasBegun,
  withoutData,
} from "./attempts/sticky.ts";
import { SHORT_STOP_MS, WEBHOOK_PATIENCE_MS } from "./bounds.ts";
import type { HostEvent } from "./events.ts";
import { adopt, adoptLease, type FoundHost, stickyFound } from "./journal.ts";
import { mayStart, slept } from "./lease.ts";
import type { HostMessage } from "./messages.ts";
import { applyToStream, chunkRetryAt, dueChunks, duePunches } from "./reports/chunks.ts";
import { newExchange, reportDueAt, reportFailed, reportSent } from "./reports/exchange.ts";
import {
  dueLine,
  fullWanted,
  lineClosed,
  lineOpened,
  lineOpening,
  lineWakesAt,
  newLine,
} from "./reports/line.ts";
import { withNewsOf } from "./reports/news.ts";
import { dueLook, noticed } from "./reports/notice.ts";
import { makeReport } from "./reports/report.ts";
import { dueSample, withSample } from "./reports/usage.ts";
import type { AttemptState, BootState, HostState } from "./types.ts";

export type { HostEvent } from "./events.ts";
export type { HostMessage } from "./messages.ts";
export type { HostState } from "./types.ts";

/**
 * A host at the start of its agent, at `now`. `found`: what earlier starts have left. It is taken on as it
 * is, joined or not: what runs goes on, within its time limit and the lease that was granted.
 */
export function initialHost(found: FoundHost = { attempts: [] }, now: Instant = 0): HostState {
  const {
    attempts,
    placements = [],
    sticky = { begun: {}, keptForMs: {} },
    lease,
    means = { kill: "processes", limits: [] },
    powersOff = false,
  } = found;
  return withPlacements({
    means,
    attempts: Object.fromEntries(attempts.map((one) => [one.id, adopt(one, now, lease)])),
    placements,
    sticky: stickyFound(sticky, now),
    ordersSeen: 0,
    reportWithinMs: Number.MAX_SAFE_INTEGER,
    ...(attempts.length === 0 && lease === undefined ? {} : { leaseUntil: adoptLease(lease, now) }),
    leaseMs: lease?.ms ?? 0,
    powersOff,
    boot: { acked: false, running: false },
    notice: { looking: false },
    exchange: newExchange(),
    line: newLine(),
    usage: { sampling: false },
    punches: true,
  });
}

/** What the host agent decides (host-protocol.md#orders). Files, processes and sockets are its shell. */
export const hostMachine: Machine<HostState, HostEvent, HostMessage> = {
  apply(state, event, now) {
    return withNewsOf(state, elapse(fold(state, event, now), now), now);
  },

  due(state, now) {
    const attempts = Object.values(state.attempts);
    const messages = attempts.flatMap((attempt) => dueForAttempt(attempt, isReady(state, attempt, now)));
    const exchange = [...dueReport(state, now), ...dueLine(state, now)];
    const logs = [...dueChunks(state), ...duePunches(state)];
    return [
      ...messages,
      ...dueCollections(state),
      ...dueClears(state),
      ...dueBeginnings(state, now),
      ...dueSaves(state),
      ...dueDrops(state),
      ...logs,
      ...exchange,
      ...dueProbe(state),
      ...dueLook(state),
      ...dueSample(state),
      ...dueExit(state, now),
    ];
  },

  wakeAt(state) {
    const said = earliest(reportDueAt(state), lineWakesAt(state), chunkRetryAt(state));
    return earliest(said, elapsesAt(state), state.ending?.by);
  },
};

/** Whether an attempt may be started now, and has what its placement begins with. */
function isReady(state: HostState, attempt: AttemptState, now: Instant): boolean {
  return !isWaiting(attempt) && mayStart(state, attempt, now) && hasBegun(state, attempt);
}

function fold(state: HostState, event: HostEvent, now: Instant): HostState {
  switch (event.type) {
    case "joined":
      return joined(state, event.setup, now);
    case "report_sent":
      return reportSent(state, event.seq, now);
    case "orders":
      return withPlacements(applyOrders(state, event, now));
    case "report_failed":
      return reportFailed(state, event, now);
    case "line_opening":
      return lineOpening(state);
    case "line_opened":
      return lineOpened(state, now);
    case "line_closed":
      return lineClosed(state, event.random, now);
    case "full_wanted":
      return fullWanted(state, now);
    case "slept":
      return slept(state, event, now);
    case "stale":
      return endHost(state, { ...event, graceMs: SHORT_STOP_MS, silent: true }, now);
    case "shutdown": {
      const { by = "agent" } = event;
      return endHost(state, { code: 0, reason: "told to end", graceMs: SHORT_STOP_MS, by }, now);
    }
    case "probed":
      return { ...state, boot: probed(state, event, now) };
    case "noticed":
      return noticed(state, event.said, now);
    case "sampled":
      return { ...state, usage: withSample(state.usage, event, now) };
    case "cleared":
      return placementCleared(withoutData(state, event.placement), event.placement);
    case "kept":
      return placementCleared(foldKept(state, event.placement, now), event.placement);
    case "begun":
      return foldBegun(state, event);
    case "saved":
      return foldSaved(state, event);
    case "tick":
      return state;
    case "chunk_sent":
    case "chunk_stored":
    case "chunk_failed":
    case "punched":
    case "punch_failed":
      return applyToStream(state, event, now);
    default:
      return applyToAttempt(state, event, now);
  }
}

function joined(state: HostState, setup: HostSetup, now: Instant): HostState {
  const { boot, notice } = state;
  const looks = { boot: { ...boot, nextAt: now }, notice: { ...notice, nextAt: now } };
  const next = { ...state, setup, leaseMs: setup.leaseMs, ...looks };
  if (setup.socketUrl === undefined) return next;
  return { ...next, exchange: { ...state.exchange, notBefore: now + WEBHOOK_PATIENCE_MS } };
}

function probed(
  { boot, setup }: HostState,
  { ok, output, exitCode }: NonNullable<BootState["outcome"]>,
  now: Instant,
): BootState {
  if (!boot.running) return boot;
  const outcome = { ok, output, ...(exitCode === undefined ? {} : { exitCode }) };
  const next = { outcome, acked: false, running: false };
  return ok || setup === undefined ? next : { ...next, nextAt: now + setup.probe.intervalMs };
}

function dueReport(state: HostState, now: Instant): HostMessage[] {
  const at = reportDueAt(state);
  const message = at === undefined || at > now ? undefined : makeReport(state, now);
  return message === undefined ? [] : [message];
}

function dueProbe({ setup, boot, ending }: HostState): HostMessage[] {
  if (setup === undefined || !boot.running || ending !== undefined) return [];
  return [{ to: "boot", kind: "probe", repeatedBy: "self", command: setup.probe.boot }];
}
