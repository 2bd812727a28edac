import { aged, type Reported, reportedBy, whatIsSaid } from "../../../probes/believed.ts";
import { readClock } from "../../../probes/host-clock.ts";
import { hasEnded, judgeReport, type Verdict } from "../../../probes/report.ts";
import type { AttemptOrder, Orders, Report } from "../../../schema/host.ts";
import { placementKey } from "../../../shared/attempt-id.ts";
import { LAST_BYTE_MS, MAX_KILL_MS } from "../../../shared/limits.ts";
import type { Instant, Millis } from "../../../shared/machine.ts";
import { keepsTimeLimits, waitsToStart } from "../../../shared/means.ts";
import type { Observed, ObservedAnswer, WantedAttempt } from "../../messages.ts";
import { NO_RESOURCES } from "../../resources.ts";
import { foldBoot } from "../life/boot.ts";
import { foldStale, foldTrouble } from "../life/health.ts";
import { foldFarewell, isLetGo } from "../life/shutdown.ts";
import { endPlacement, isGiven } from "../placements.ts";
import { usageReported } from "../read/usage.ts";
import {
  type Living,
  livePlacements,
  ordersRevision,
  type ReadonlyLiving,
  type WorkerMemo,
  type WorkerRecord,
  type WorkerState,
} from "../state.ts";
import { foldNotice } from "./notice.ts";
import { costOfAsks, costOfNews } from "./pace.ts";
import { keptNow, questionsDue, unneeded, withAnswer } from "./retained-data.ts";

/** The share of a lease that must be used up before it is extended: each extension is a row (rule R4). */
const EXTEND_BELOW = 2 / 3;

/** What a report is to this worker: only a fresh one means anything. */
export function verdictOn({ record, memo }: ReadonlyLiving, report: Report): Verdict {
  return judgeReport(report, { incarnation: record.incarnation, lastSeq: memo.lastSeq });
}

/** Folds in what the host says (host-protocol.md#report). Only a fresh report means anything. */
export function foldReport(state: Living, report: Report, now: Instant): WorkerState {
  if (verdictOn(state, report) !== "fresh") return state;
  const { hostClock, waitedMs } = heardClock(state, report, now);
  const whole = state.memo.whole || report.full;
  const usage = usageReported(state, report, now);
  const kept = keptNow(state.memo.kept, report);
  const memo = { ...state.memo, lastSeq: report.seq, lastReportAt: now, hostClock, whole, usage, kept };
  let record = extendLease(state.record, now);
  // Trouble first: a boot that says at its end that it is broken has failed (workers.md#trouble-first).
  record = foldTrouble(foldStale(record, report, now), report, now);
  record = foldBoot(record, report, now);
  record = foldNotice(record, report, now);
  record = foldActs(record, report);
  if (report.ordersSeen > ordersRevision(state)) record = { ...record, revision: report.ordersSeen };
  if (record.overdueSince !== null && !isLetGo(state)) record = { ...record, overdueSince: null };
  if (record !== state.record) record = { ...record, lastSeq: report.seq, lastReportAt: now, hostClock };
  const next: Living = { ...state, record, memo };
  const known = { before: memo.reported, live: livePlacements(state), isGiven: isGiven(state) };
  const reported = reportedBy(known, { ...report, attempts: aged(report.attempts, waitedMs) }, now);
  const heard = pick(memo.heard, reported);
  const spent = memo.spent + costOfAsks(state.memo, { reported, kept }) + costOfNews(state.record, record);
  const logs = logsOf(memo.logs, reported);
  const folded = { ...next, memo: { ...memo, reported, heard, logs, spent } };
  return foldFarewell(folded, report, now);
}

/** What a report shows of its host's clock; older agents do not say what that says. */
function heardClock({ memo }: ReadonlyLiving, { clock }: Report, now: Instant) {
  return clock === undefined ? { hostClock: null, waitedMs: 0 } : readClock(memo.hostClock, clock, now);
}

/**
 * The entries whose keys `others` has too: what is answered of a placement that is no longer reported is
 * forgotten.
 */
function pick<T>(entries: Record<string, T>, others: Record<string, unknown>): Record<string, T> {
  return Object.fromEntries(Object.entries(entries).filter(([key]) => key in others));
}

function logsOf(logs: WorkerMemo["logs"], reported: WorkerMemo["reported"]): WorkerMemo["logs"] {
  if (Object.keys(logs).length === 0) return logs;
  const ids = Object.values(reported).flatMap(({ attempts }) => attempts.map(({ id }) => id));
  return Object.fromEntries(ids.flatMap((id) => (logs[id] === undefined ? [] : [[id, logs[id]]])));
}

function extendLease(record: WorkerRecord, now: Instant): WorkerRecord {
  const { leaseMs } = record.intent.settings;
  const granting = record.phase === "booting" || record.phase === "ready";
  if (!granting || record.leaseUntil - now >= leaseMs * EXTEND_BELOW) return record;
  return { ...record, leaseUntil: now + leaseMs };
}

/** What its agent acts on changes with another agent only, so that is how often it is stored. */
function foldActs(record: WorkerRecord, { means }: Report): WorkerRecord {
  const acts = means?.acts ?? [];
  const same = [...acts].sort().join() === [...(record.acts ?? [])].sort().join();
  return same ? record : { ...record, acts };
}

/**
 * What allocations must be told: whatever their placements' hosts say that they have not answered yet. That
 * everything is over is said again after a while: the allocation may have given up waiting for the last byte.
 * So is anything that it wants to hear again: a delay of its own is over by then.
 */
export function observationsDue(state: ReadonlyLiving, now: Instant): Observed[] {
  const owed: Observed[] = [];
  // Whoever kills a machine loses what runs on it: how that ended then is no outcome of the command.
  if (state.record.killedBy !== null) return owed;
  const { acts } = state.record;
  const waits = waitsToStart(acts) ? { waits: true as const } : {};
  const keepsTime = keepsTimeLimits(acts) ? { keepsTime: true as const } : {};
  for (const [key, { run, epoch, attempts: told, at, said, over: isOver }] of Object.entries(
    state.memo.reported,
  )) {
    if (isOver) continue;
    const row = state.placements.get(key);
    const heard = state.memo.heard[key];
    const attempts = aged(told, now - at);
    const over = attempts.every(hasEnded);
    const again = heard !== undefined && (over || heard.again) && now >= heard.at + LAST_BYTE_MS;
    if (row?.state === "ended" || (heard?.said === said && !again)) continue;
    const { worker } = state.record.intent;
    owed.push({ run, epoch, worker, held: row !== undefined, attempts, ...waits, ...keepsTime });
  }
  return [...owed, ...questionsDue(state, now)];
}

/** Folds in an allocation's answer: its order as it is now. An empty one ends the placement (rule R3). */
export function foldObserved(
  state: Living,
  sent: Observed,
  answer: ObservedAnswer,
  now: Instant,
): WorkerState {
  const key = placementKey(sent.run, sent.epoch);
  if (sent.kept) return { ...state, memo: withAnswer(state.memo, key, answer, now) };
  const row = state.placements.get(key);
  // It was asked about before the order came: what was answered then says nothing of what was ordered.
  if (row?.state === "live" && !sent.held) return state;
  const again = answer.kind === "order" && answer.askAgain === true;
  const memo = {
    ...state.memo,
    heard: { ...state.memo.heard, [key]: { said: whatIsSaid(sent.attempts), at: now, again } },
  };
  if (row?.state === "ended") return { ...state, memo: withoutReported(state.memo, key) };
  if (answer.kind === "no_such" || answer.attempts.length === 0) {
    if (row === undefined) return { ...state, memo: turnedAway(memo, key, now) };
    endPlacement({ ...state, memo }, row, "gone", false, now);
    return { ...state, memo: withoutReported(state.memo, key) };
  }
  if (row !== undefined && answer.revision > (row.order?.revision ?? 0)) {
    const order = {
      revision: answer.revision,
      attempts: answer.attempts,
      resources: row.order?.resources ?? NO_RESOURCES,
      ...(answer.signals === undefined ? {} : { signals: answer.signals }),
    };
    state.placements.set(key, { ...row, revision: ordersRevision(state) + 1, order }, now);
  }
  const said = new Set(sent.attempts.map(({ id }) => id));
  const logs = Object.entries(answer.logs).filter(([id]) => said.has(id));
  return { ...state, memo: { ...memo, logs: { ...memo.logs, ...Object.fromEntries(logs) } } };
}

/**
 * A placement that was never given to this worker, and of which nothing is wanted, is no row: whoever can
 * name a run could fill the table. Orders omit it for as long as the host says it.
 */
function turnedAway(memo: Living["memo"], key: string, now: Instant): Living["memo"] {
  const known = memo.reported[key];
  const { heard, logs, reported } = withoutReported(memo, key);
  if (known === undefined) return { ...memo, heard, logs };
  const { run, epoch } = known;
  const over: Reported = { run, epoch, attempts: [], said: "", at: now, stranger: true, over: true };
  return { ...memo, heard, logs, reported: { ...reported, [key]: over } };
}

/**
 * What was said of a placement that is over need not be remembered: orders omit it whatever the host says.
 * With deltas it would stay until the next full report, and each look at it is a read of the disk.
 */
function withoutReported(memo: Living["memo"], key: string): Living["memo"] {
  const { [key]: over, ...reported } = memo.reported;
  const { [key]: _, ...heard } = memo.heard;
  const logs = { ...memo.logs };
  for (const { id } of over?.attempts ?? []) delete logs[id];
  return { ...memo, reported, heard, logs };
}

/**
 * What the host shall hold. An attempt that it reports and that no order knows is kept until its allocation
 * has been asked: orders omit it only after that said so (rule R5).
 */
export function ordersFor(state: ReadonlyLiving, answers: number, now: Instant): Orders {
  const { record, memo } = state;
  const rows = livePlacements(state);
  const { maxKillMs = MAX_KILL_MS } = record.intent.settings;
  const attempts = rows
    .flatMap((row) => row.order?.attempts ?? [])
    .map((one) => orderNow(one, maxKillMs, now));
  for (const [key, { attempts: held }] of Object.entries(memo.reported)) {
    if (state.placements.get(key) === undefined)
      attempts.push(...held.map(({ id }) => ({ id, want: "run" as const })));
  }
  const signals = rows.flatMap((row) => row.order?.signals ?? []);
  const drop = unneeded(state);
  const over = record.phase === "shutdown" || record.phase === "gone";
  const known = attempts.flatMap(({ id }) => (memo.logs[id] === undefined ? [] : [[id, memo.logs[id]]]));
  return {
    incarnation: record.incarnation,
    revision: ordersRevision(state),
    answers,
    leaseMs: over ? 0 : Math.max(0, record.leaseUntil - now),
    reportWithinMs: record.intent.settings.probeIntervalMs,
    attempts,
    ...(signals.length === 0 ? {} : { signals }),
    ...(drop.length === 0 ? {} : { drop }),
    logs: Object.fromEntries(known),
    powerOff: over,
  };
}

/**
 * What the host is told of an attempt now: how long it is to wait yet, not until when, and how long its stop
 * may take here at most (tasks.md#kill-6).
 */
function orderNow({ startAt = 0, ...order }: WantedAttempt, maxKillMs: Millis, now: Instant): AttemptOrder {
  if (order.want === "stop") return { ...order, timeoutMs: Math.min(order.timeoutMs, maxKillMs) };
  const start = startAt > now ? { startInMs: startAt - now } : {};
  if (order.task === undefined) return { ...order, ...start };
  const killTimeoutMs = Math.min(order.task.killTimeoutMs, maxKillMs);
  return { ...order, ...start, task: { ...order.task, killTimeoutMs } };
}
