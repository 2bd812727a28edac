import type { AttemptOrder, AttemptReport, Orders, Report } from "../../schema/host.ts";
import { parseAttemptId } from "../attempt-id.ts";
import { LAST_BYTE_MS, MAX_KILL_MS } from "../limits.ts";
import type { Instant, Millis } from "../machine.ts";
import { keepsTimeLimits, waitsToStart } from "../means.ts";
import type { Observed, ObservedAnswer, WantedAttempt } from "../messages.ts";
import { foldBoot } from "./boot.ts";
import { foldFarewell, isLetGo } from "./ending.ts";
import { readClock } from "./host-clock.ts";
import { keptNow, questionsDue, unneeded, withAnswer } from "./kept.ts";
import { foldNotice } from "./notice.ts";
import { endPlacement } from "./placements.ts";
import { foldStale } from "./stale.ts";
import {
  type Living,
  livePlacements,
  ordersRevision,
  type PlacementRow,
  placementKey,
  type Reported,
  type WorkerRecord,
  type WorkerState,
  whatIsSaid,
} from "./state.ts";
import { foldTrouble } from "./trouble.ts";
import { usageReported } from "./usage.ts";

/** The share of a lease that must be used up before it is extended: each extension is a row (rule R4). */
const EXTEND_BELOW = 2 / 3;

/** What is to be done with a report: an older incarnation must end, an older sequence number says nothing. */
export function judgeReport(state: Living, report: Report): "stale" | "unknown" | "old" | "fresh" {
  if (report.incarnation < state.record.incarnation) return "stale";
  if (report.incarnation > state.record.incarnation) return "unknown";
  return report.seq <= state.memo.lastSeq ? "old" : "fresh";
}

/** Folds in what the host says (`host-protocol.md`, Report). Only a fresh report means anything. */
export function foldReport(state: Living, report: Report, now: Instant): WorkerState {
  if (judgeReport(state, report) !== "fresh") return state;
  const { hostClock, waitedMs } = heardClock(state, report, now);
  const whole = state.memo.whole || report.full;
  const usage = usageReported(state, report, now);
  const kept = keptNow(state.memo.kept, report);
  const memo = { ...state.memo, lastSeq: report.seq, lastReportAt: now, hostClock, whole, usage, kept };
  let record = extendLease(state.record, now);
  // Trouble first: a boot that says at its end that it is broken has failed (`arvados.md` §1.6, 4a).
  record = foldTrouble(foldStale(record, report, now), report, now);
  record = foldBoot(record, report, now);
  record = foldNotice(record, report, now);
  record = foldActs(record, report);
  if (report.ordersSeen > ordersRevision(state)) record = { ...record, revision: report.ordersSeen };
  if (record.overdueSince !== null && !isLetGo(state)) record = { ...record, overdueSince: null };
  if (record !== state.record) record = { ...record, lastSeq: report.seq, lastReportAt: now, hostClock };
  const next: Living = { ...state, record, memo };
  const reported = reportedBy(next, { ...report, attempts: aged(report.attempts, waitedMs) }, now);
  const folded = { ...next, memo: { ...memo, reported, heard: pick(memo.heard, reported) } };
  return foldFarewell(folded, report, now);
}

/** What a report shows of its host's clock; older agents do not say what that says. */
function heardClock({ memo }: Living, { clock }: Report, now: Instant) {
  return clock === undefined ? { hostClock: null, waitedMs: 0 } : readClock(memo.hostClock, clock, now);
}

/**
 * The entries whose keys `others` has too: what is answered of a placement that is no longer reported is
 * forgotten.
 */
function pick<T>(entries: Record<string, T>, others: Record<string, unknown>): Record<string, T> {
  return Object.fromEntries(Object.entries(entries).filter(([key]) => key in others));
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
 * What the host says of each placement. A full report also says what it does not hold; a delta is absolute
 * for the attempts that it names, and of all others what was said before holds. An attempt that waits for its
 * time as it was ordered is there, and no news.
 */
function reportedBy(state: Living, report: Report, now: Instant): Record<string, Reported> {
  const byPlacement = new Map<string, AttemptReport[]>();
  const add = (run: string, epoch: number, attempt: AttemptReport) => {
    const key = placementKey(run, epoch);
    byPlacement.set(key, [...(byPlacement.get(key) ?? []), attempt]);
  };
  for (const attempt of report.attempts) {
    const parts = parseAttemptId(attempt.id);
    if (parts === undefined) continue;
    const { run, epoch } = parts;
    const isNews = attempt.waits !== true || state.placements.get(placementKey(run, epoch)) === undefined;
    if (isNews) add(run, epoch, attempt);
  }
  const listed = new Set(report.attempts.map((attempt) => attempt.id));
  for (const row of report.full ? livePlacements(state) : []) {
    // The host has applied these orders and does not hold it: it is gone (`host-protocol.md`, Report).
    const missing = (row.order?.attempts ?? []).filter(
      ({ id }) => report.ordersSeen >= row.revision && !listed.has(id),
    );
    for (const { id } of missing) add(row.run, row.epoch, { id, state: "gone" });
  }
  const reported: Record<string, Reported> = report.full ? {} : { ...state.memo.reported };
  for (const [key, attempts] of byPlacement) {
    if (state.placements.get(key)?.state === "ended") continue;
    const [run = "", epoch = "0"] = key.split("/");
    const named = new Set(attempts.map(({ id }) => id));
    const before = reported[key];
    const others = (before?.attempts ?? []).filter(({ id }) => !named.has(id));
    const all = [...aged(others, now - (before?.at ?? now)), ...attempts];
    reported[key] = { run, epoch: Number(epoch), attempts: all, said: whatIsSaid(all), at: now };
  }
  return reported;
}

/** What a host said so long ago, as it would say it now: ages grow while nobody hears of them. */
function aged(attempts: AttemptReport[], ms: Millis): AttemptReport[] {
  if (ms <= 0) return attempts;
  return attempts.map(({ startedAgoMs, endedAgoMs, ...said }) => ({
    ...said,
    ...(startedAgoMs === undefined ? {} : { startedAgoMs: startedAgoMs + ms }),
    ...(endedAgoMs === undefined ? {} : { endedAgoMs: endedAgoMs + ms }),
  }));
}

/**
 * What allocations must be told: whatever their placements' hosts say that they have not answered yet. That
 * everything is over is said again after a while: the allocation may have given up waiting for the last byte.
 * So is anything that it wants to hear again: a delay of its own is over by then.
 */
export function observationsDue(state: Living, now: Instant): Observed[] {
  const owed: Observed[] = [];
  // Whoever kills a machine loses what runs on it: how that ended then is no outcome of the command.
  if (state.record.killedBy !== null) return owed;
  const { acts } = state.record;
  const waits = waitsToStart(acts) ? { waits: true as const } : {};
  const keepsTime = keepsTimeLimits(acts) ? { keepsTime: true as const } : {};
  for (const [key, { run, epoch, attempts: told, at, said }] of Object.entries(state.memo.reported)) {
    const row = state.placements.get(key);
    const heard = state.memo.heard[key];
    const attempts = aged(told, now - at);
    const over = attempts.every(({ state: how }) => how === "exited" || how === "gone");
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
  const again = answer.kind === "order" && answer.askAgain === true;
  const memo = {
    ...state.memo,
    heard: { ...state.memo.heard, [key]: { said: whatIsSaid(sent.attempts), at: now, again } },
  };
  if (row?.state === "ended") return { ...state, memo: withoutReported(state.memo, key) };
  if (answer.kind === "no_such" || answer.attempts.length === 0) {
    const stranger: PlacementRow = {
      run: sent.run,
      epoch: sent.epoch,
      state: "live",
      revision: 0,
      at: now,
      order: null,
      end: null,
    };
    endPlacement({ ...state, memo }, row ?? stranger, "gone", false, now);
    return { ...state, memo: withoutReported(state.memo, key) };
  }
  if (row !== undefined && answer.revision > (row.order?.revision ?? 0)) {
    const order = {
      revision: answer.revision,
      attempts: answer.attempts,
      resources: row.order?.resources ?? NOTHING,
      ...(answer.signals === undefined ? {} : { signals: answer.signals }),
    };
    state.placements.set(key, { ...row, revision: ordersRevision(state) + 1, order }, now);
  }
  const reportedIds = new Set(
    Object.values(memo.reported).flatMap((one) => one.attempts.map(({ id }) => id)),
  );
  const logs = Object.entries({ ...memo.logs, ...answer.logs }).filter(([id]) => reportedIds.has(id));
  return { ...state, memo: { ...memo, logs: Object.fromEntries(logs) } };
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

const NOTHING = { vcpus: 0, memoryBytes: 0, diskBytes: 0, gpus: 0 };

/**
 * What the host shall hold. An attempt that it reports and that no order knows is kept until its allocation
 * has been asked: orders omit it only after that said so (rule R5).
 */
export function ordersFor(state: Living, answers: number, now: Instant): Orders {
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
 * may take here at most (`nomad.md` §4.6 step 6).
 */
function orderNow({ startAt = 0, ...order }: WantedAttempt, maxKillMs: Millis, now: Instant): AttemptOrder {
  if (order.want === "stop") return { ...order, timeoutMs: Math.min(order.timeoutMs, maxKillMs) };
  const start = startAt > now ? { startInMs: startAt - now } : {};
  if (order.task === undefined) return { ...order, ...start };
  const killTimeoutMs = Math.min(order.task.killTimeoutMs, maxKillMs);
  return { ...order, ...start, task: { ...order.task, killTimeoutMs } };
}
