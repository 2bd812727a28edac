// What does a report of a host change, and which orders answer it (host-protocol.md#report)?
import { aged, fingerprintOf, type Reported, reportedBy } from "../../../probes/believed.ts";
import { readClock } from "../../../probes/host-clock.ts";
import { hasEnded, judgeReport, type Verdict } from "../../../probes/report.ts";
import type { AttemptOrder, Orders, Report } from "../../../schema/host.ts";
import { placementKey } from "../../../shared/attempt-id.ts";
import { LAST_BYTE_MS } from "../../../shared/limits.ts";
import type { Instant, Millis } from "../../../shared/machine.ts";
import type { Observed, ObservedAnswer, WantedAttempt } from "../../messages.ts";
import { NO_RESOURCES } from "../../resources.ts";
import { goneNow, isFarewell, isLetGo } from "../life/shutdown.ts";
import { endPlacements, isGiven } from "../placements.ts";
import { usageReported } from "../read/usage.ts";
import {
  type ExistingWorker,
  isEnding,
  livePlacements,
  ordersRevision,
  type PlacementRow,
  type ReadonlyExistingWorker,
  type WorkerMemo,
  type WorkerRecord,
  type WorkerState,
} from "../state.ts";
import { skewAfter } from "./clock-skew.ts";
import { foldDevices } from "./devices.ts";
import { foldNews } from "./news.ts";
import { costOfNews, costOfQuestions } from "./pace.ts";
import { questionsDue, retainedNow, unneeded, withAnswer } from "./retained-data.ts";

/**
 * A lease is extended only when less than this share of it is left, since each extension is a written row
 * (rule R4).
 */
const EXTEND_BELOW = 2 / 3;

/** How a report relates to the latest report. Only a fresh report counts. */
export function verdictOn({ record, memo }: ReadonlyExistingWorker, report: Report): Verdict {
  return judgeReport(report, { incarnation: record.incarnation, lastSeq: memo.lastSeq });
}

/** Applies a report (host-protocol.md#report). A report that is not fresh is ignored. */
export function foldReport(state: ExistingWorker, report: Report, now: Instant): WorkerState {
  if (verdictOn(state, report) !== "fresh") return state;
  const { hostClock, waitedMs } = readClock(state.memo.hostClock, report.clock, now);
  const whole = state.memo.whole || report.full;
  const usage = usageReported(state, report, now);
  const retained = retainedNow(state.memo.retained, report);
  const memo = { ...state.memo, lastSeq: report.seq, lastReportAt: now, hostClock, whole, usage, retained };
  let record = foldDevices(foldNews(extendLease(state.record, now), report, now), report, now);
  const clockSkewMs = skewAfter(record.clockSkewMs, report, now - waitedMs);
  if (clockSkewMs !== record.clockSkewMs) record = { ...record, clockSkewMs };
  if (report.ordersSeen > ordersRevision(state)) record = { ...record, revision: report.ordersSeen };
  if (record.overdueSince !== null && !isLetGo(state)) record = { ...record, overdueSince: null };
  if (record !== state.record) record = { ...record, lastSeq: report.seq, lastReportAt: now, hostClock };
  const known = { before: memo.reported, live: livePlacements(state), isGiven: isGiven(state) };
  const reported = reportedBy(known, { ...report, attempts: aged(report.attempts, waitedMs) }, now);
  const spent =
    memo.spent + costOfQuestions(state.memo, { reported, retained }) + costOfNews(state.record, record);
  const attempts = new Set(Object.values(reported).flatMap((one) => one.attempts.map(({ id }) => id)));
  const acknowledged = pick(state.memo.acknowledged, (key) => key in reported);
  const logs = pick(state.memo.logs, (id) => attempts.has(id));
  const folded = { ...state, record, memo: { ...memo, reported, acknowledged, logs, spent } };
  return isFarewell(state, report) ? goneNow(folded, "its agent has ended", now) : folded;
}

/** The entries whose placements or attempts are still reported. */
function pick<T>(entries: Record<string, T>, isReported: (key: string) => boolean): Record<string, T> {
  return Object.fromEntries(Object.entries(entries).filter(([key]) => isReported(key)));
}

function extendLease(record: WorkerRecord, now: Instant): WorkerRecord {
  const { leaseMs } = record.intent.settings;
  const granting = record.phase === "booting" || record.phase === "ready";
  if (!granting || record.leaseUntil - now >= leaseMs * EXTEND_BELOW) return record;
  return { ...record, leaseUntil: now + leaseMs };
}

/**
 * The reports that allocations have not answered yet. Two kinds of reports are repeated after a while: a
 * report that all attempts have ended, in case the allocation was waiting for the last log bytes; and a
 * report that the allocation wants again because of a start delay.
 */
export function observationsDue(state: ReadonlyExistingWorker, now: Instant): Observed[] {
  const owed: Observed[] = [];
  // An exit caused by killing the machine is not the outcome of the command.
  if (state.record.killedBy !== null) return owed;
  for (const [key, { run, epoch, attempts: reported, at, fingerprint, over: isOver }] of Object.entries(
    state.memo.reported,
  )) {
    if (isOver) continue;
    const row = state.placements.get(key);
    const known = state.memo.acknowledged[key];
    const attempts = aged(reported, now - at);
    const over = attempts.every(hasEnded);
    const again = known !== undefined && (over || known.again) && now >= known.at + LAST_BYTE_MS;
    if (row?.state === "ended" || (known?.fingerprint === fingerprint && !again)) continue;
    const { intent, protocol } = state.record;
    owed.push({ run, epoch, worker: intent.worker, held: row !== undefined, attempts, protocol });
  }
  return [...owed, ...questionsDue(state, now)];
}

/**
 * Applies an allocation's answer, which is its present order. An empty order ends the placement (rule R3).
 */
export function foldObserved(
  state: ExistingWorker,
  sent: Observed,
  answer: ObservedAnswer,
  now: Instant,
): WorkerState {
  const key = placementKey(sent.run, sent.epoch);
  if (sent.kept) return { ...state, memo: withAnswer(state.memo, key, answer, now) };
  const row = state.placements.get(key);
  // The allocation answered before it sent the order, so the answer does not count.
  if (row?.state === "live" && !sent.held) return state;
  const again = answer.kind === "order" && answer.askAgain === true;
  const fingerprint = fingerprintOf(sent.attempts);
  const memo = {
    ...state.memo,
    acknowledged: { ...state.memo.acknowledged, [key]: { fingerprint, at: now, again } },
  };
  if (row?.state === "ended") return { ...state, memo: withoutReported(state.memo, key) };
  if (answer.kind === "no_such" || answer.attempts.length === 0) {
    if (row === undefined) return { ...state, memo: asUnwanted(memo, key, now) };
    endPlacements(state, [row], "gone", false, now);
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
  const reported = new Set(sent.attempts.map(({ id }) => id));
  const logs = Object.entries(answer.logs).filter(([id]) => reported.has(id));
  return { ...state, memo: { ...memo, logs: { ...memo.logs, ...Object.fromEntries(logs) } } };
}

/**
 * Remembers that no allocation wants this stranger (a reported placement without a row). The stranger gets no
 * row: otherwise anybody who can name a run could fill the table. Orders omit the stranger as long as the
 * host reports it.
 */
function asUnwanted(memo: WorkerMemo, key: string, now: Instant): WorkerMemo {
  const known = memo.reported[key];
  const { acknowledged, logs, reported } = withoutReported(memo, key);
  if (known === undefined) return { ...memo, acknowledged, logs };
  const { run, epoch } = known;
  const over: Reported = { run, epoch, attempts: [], fingerprint: "", at: now, stranger: true, over: true };
  return { ...memo, acknowledged, logs, reported: { ...reported, [key]: over } };
}

/**
 * Drops the reports of an ended placement, since orders omit the placement in any case. Otherwise the reports
 * would stay until the next full report, and each report in between would read the placement's row.
 */
function withoutReported(memo: WorkerMemo, key: string): WorkerMemo {
  const { [key]: over, ...reported } = memo.reported;
  const { [key]: _, ...acknowledged } = memo.acknowledged;
  const logs = { ...memo.logs };
  for (const { id } of over?.attempts ?? []) delete logs[id];
  return { ...memo, reported, acknowledged, logs };
}

/**
 * The orders for the host. An attempt that is reported but was never ordered stays in the orders until its
 * allocation has answered, since orders may omit only attempts that no allocation wants (rule R5).
 */
export function ordersFor(state: ReadonlyExistingWorker, answers: number, now: Instant): Orders {
  const { record, memo } = state;
  const rows = livePlacements(state);
  const { maxKillMs } = record.intent.settings;
  const attempts = rows
    .flatMap((row) => (row.order?.attempts ?? []).map((one) => withoutUsedPayload(one, row, memo)))
    .map((one) => orderNow(one, maxKillMs, now));
  for (const [key, { attempts: held }] of Object.entries(memo.reported)) {
    if (state.placements.get(key) === undefined)
      attempts.push(...held.map(({ id }) => ({ id, want: "run" as const })));
  }
  const signals = rows.flatMap((row) => row.order?.signals ?? []);
  const drop = unneeded(state);
  const over = isEnding(record);
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
    ...(memo.agent === "" ? {} : { agent: memo.agent }),
  };
}

/**
 * The order without the payload, once the host has said that the attempt has begun: it is in the task's
 * directory by then, and every answer to a report has all orders (host-protocol.md#orders).
 */
function withoutUsedPayload(
  order: WantedAttempt,
  { run, epoch }: PlacementRow,
  { reported }: WorkerMemo,
): WantedAttempt {
  if (order.want !== "run" || order.task?.payload === undefined) return order;
  const held = reported[placementKey(run, epoch)]?.attempts.find(({ id }) => id === order.id);
  if (held === undefined || held.state === "preparing") return order;
  const { payload: _, ...task } = order.task;
  return { ...order, task };
}

/**
 * An attempt's order as sent now: with the remaining times instead of instants, and with kill timeouts
 * limited to what this host grants (tasks.md#kill-6).
 */
function orderNow(
  { startAt = 0, holdUntil, ...order }: WantedAttempt,
  maxKillMs: Millis,
  now: Instant,
): AttemptOrder {
  if (order.want === "run" && holdUntil !== undefined)
    return { ...order, holdMs: Math.max(0, holdUntil - now) };
  if (order.want === "stop") return { ...order, timeoutMs: Math.min(order.timeoutMs, maxKillMs) };
  const start = startAt > now ? { startInMs: startAt - now } : {};
  if (order.task === undefined) return { ...order, ...start };
  const killTimeoutMs = Math.min(order.task.killTimeoutMs, maxKillMs);
  return { ...order, ...start, task: { ...order.task, killTimeoutMs } };
}
