// What does the host's state machine decide? `apply`, `due` and `wakeAt` (shell.md#machine); `HostAgent`
// drives it.
import type { HostSetup } from "../../src/schema/host.ts";
import { PROTOCOL } from "../../src/shared/compat.ts";
import { earliest, type Instant, type Machine } from "../../src/shared/machine.ts";
import { dueForAttempt, isWaiting } from "./attempts/attempt.ts";
import { applyToAttempt } from "./attempts/attempt-events.ts";
import { elapse, elapsesAt } from "./attempts/elapse.ts";
import { dueExit, endHost } from "./attempts/ending.ts";
import { applyOrders } from "./attempts/orders.ts";
import { dueCollections } from "./attempts/outputs.ts";
import { dueClears, placementCleared, withPlacements } from "./attempts/placements.ts";
import { foldHeldOn, withoutRemains } from "./attempts/remains.ts";
import { dueForData, foldBegun, foldKept, foldSaved, hasBegun, withoutData } from "./attempts/sticky.ts";
import { SHORT_STOP_MS, WEBHOOK_PATIENCE_MS } from "./bounds.ts";
import { hostInvariants } from "./check.ts";
import { dueChecks } from "./checks/checks.ts";
import { assignDevices, lacksDevices } from "./devices/assign.ts";
import { devicesSeen, dueDevices } from "./devices/looks.ts";
import type { HostEvent } from "./events.ts";
import { adopt, adoptLease, type FoundHost } from "./journal.ts";
import { foldSleep, mayStart } from "./lease.ts";
import type { HostMessage } from "./messages.ts";
import { applyToStream, chunkRetryAt, dueChunks, duePunches } from "./reports/chunks.ts";
import { newExchange, reportDueAt, reportFailed, reportSent } from "./reports/exchange.ts";
import { dueInspection, foldInspected } from "./reports/fitness.ts";
import { withNewsOf } from "./reports/news.ts";
import { dueLook, foldNotice } from "./reports/notice.ts";
import { makeReport } from "./reports/report.ts";
import {
  dueSocket,
  newSocket,
  requestFullReport,
  socketClosed,
  socketOpened,
  socketWakesAt,
} from "./reports/socket.ts";
import { dueSample, withSample } from "./reports/usage.ts";
import type { AttemptState, BootState, HostState } from "./types.ts";
import { dueUpdate, foldFetched, foldServed, newUpdate } from "./update.ts";

/**
 * The state of a host when its agent starts. `found`: what earlier starts of the agent have left. Running
 * attempts go on, within their time limits and the lease, even before the agent has joined. `own`: the digest
 * of its file, if it updates itself.
 */
export function initialHost(
  found: FoundHost = { attempts: [] },
  now: Instant = 0,
  own: string | undefined = undefined,
): HostState {
  const {
    attempts,
    placements = [],
    sticky = { begun: {}, kept: {} },
    lease,
    means = { kill: "processes", limits: [], protocol: PROTOCOL },
    powersOff = false,
  } = found;
  return withPlacements({
    means,
    attempts: Object.fromEntries(attempts.map((one) => [one.id, adopt(one, now, lease)])),
    placements,
    sticky,
    ordersSeen: 0,
    reportWithinMs: Number.MAX_SAFE_INTEGER,
    ...(attempts.length === 0 && lease === undefined ? {} : { leaseUntil: adoptLease(lease, now) }),
    leaseMs: lease?.ms ?? 0,
    powersOff,
    boot: { acked: false, running: false },
    notice: { running: false },
    fitness: { running: false },
    devices: { running: false },
    remains: {},
    exchange: newExchange(),
    socket: newSocket(),
    usage: { sampling: false },
    update: newUpdate(own),
    punches: true,
  });
}

/** What the agent decides (host-protocol.md#orders). Files, processes and sockets belong to its shell. */
export const hostMachine: Machine<HostState, HostEvent, HostMessage> = {
  name: "host",
  invariants: hostInvariants,

  apply(state, event, now) {
    const next = elapse(fold(state, event, now), now);
    return withNewsOf(
      state,
      assignDevices(next, (of, attempt) => mayBegin(of, attempt, now), now),
      now,
    );
  },

  due(state, now) {
    const attempts = Object.values(state.attempts);
    return [
      ...attempts.flatMap((attempt) => dueForAttempt(attempt, isReady(state, attempt, now))),
      ...attempts.flatMap(dueChecks),
      ...dueCollections(state),
      ...dueClears(state),
      ...dueForData(state, now),
      ...dueChunks(state),
      ...duePunches(state),
      ...dueReport(state, now),
      ...dueSocket(state, now),
      ...dueProbe(state),
      ...dueLook(state),
      ...dueInspection(state),
      ...dueDevices(state),
      ...dueUpdate(state, now),
      ...dueSample(state),
      ...dueExit(state, now),
    ];
  },

  wakeAt(state) {
    const exchangeAt = earliest(reportDueAt(state), socketWakesAt(state), chunkRetryAt(state));
    const at = earliest(exchangeAt, elapsesAt(state), state.ending?.by);
    return at === undefined ? undefined : Math.ceil(at);
  },
};

/** Whether an attempt can start now: nothing holds it back, and it has its devices. */
function isReady(state: HostState, attempt: AttemptState, now: Instant): boolean {
  return !lacksDevices(attempt) && mayBegin(state, attempt, now);
}

/** Whether its time has come, the lease allows its start, and its placement has its data. */
function mayBegin(state: HostState, attempt: AttemptState, now: Instant): boolean {
  return !isWaiting(attempt) && mayStart(state, attempt, now) && hasBegun(state, attempt);
}

function fold(state: HostState, event: HostEvent, now: Instant): HostState {
  switch (event.type) {
    case "joined":
      return foldJoined(state, event.setup, now);
    case "report_sent":
      return reportSent(state, event.seq, now);
    case "orders":
      return foldServed(withPlacements(applyOrders(state, event, now)), event.orders.agent);
    case "report_failed":
      return reportFailed(state, event, now);
    case "socket_opening":
      return { ...state, socket: { ...state.socket, phase: "opening" } };
    case "socket_opened":
      return socketOpened(state, now);
    case "socket_closed":
      return socketClosed(state, event.random, now);
    case "full_requested":
      return requestFullReport(state, now);
    case "slept":
      return foldSleep(state, event, now);
    case "stale":
      return endHost(state, { ...event, graceMs: SHORT_STOP_MS, silent: true }, now);
    case "shutdown": {
      const { by = "agent" } = event;
      return endHost(state, { code: 0, reason: "asked to end", graceMs: SHORT_STOP_MS, by }, now);
    }
    case "probed":
      return { ...state, boot: foldProbe(state, event, now) };
    case "noticed":
      return foldNotice(state, event.raw, now);
    case "agent_fetched":
      return foldFetched(state, event.sha256, event.failed, now);
    case "engine": {
      const { engine: _, ...means } = state.means;
      return { ...state, means: event.engine === undefined ? means : { ...means, engine: event.engine } };
    }
    case "inspected":
      return foldInspected(state, event.fault, now);
    case "devices_seen":
      return devicesSeen(state, event.seen, now);
    case "sampled":
      return { ...state, usage: withSample(state.usage, event, now) };
    case "cleared": {
      const { placement } = event;
      return placementCleared(withoutRemains(withoutData(state, placement), placement, now), placement);
    }
    case "kept": {
      const { placement } = event;
      return placementCleared(withoutRemains(foldKept(state, placement, now), placement, now), placement);
    }
    case "held_on":
      return foldHeldOn(state, event.placement, event.holder, now);
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

function foldJoined(state: HostState, setup: HostSetup, now: Instant): HostState {
  const { boot, notice, fitness } = state;
  const looks = {
    boot: { ...boot, nextAt: now },
    notice: { ...notice, nextAt: now },
    fitness: { ...fitness, nextAt: now },
  };
  const next = { ...state, setup, leaseMs: setup.leaseMs, ...looks };
  if (setup.socketUrl === undefined) return next;
  return { ...next, exchange: { ...state.exchange, notBefore: now + WEBHOOK_PATIENCE_MS } };
}

function foldProbe(
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
  return [{ to: "boot", kind: "probe", command: setup.probe.boot }];
}
