// What does a host's report change in the attempts of a run?
import { isUnkillable } from "../../../probes/trouble.ts";
import type { AttemptReport, HostStop } from "../../../schema/host.ts";
import type { Exit } from "../../../schema/run/run.ts";
import { type AttemptParts, parseAttemptId } from "../../../shared/attempt-id.ts";
import { HEARD_AT_ONCE_MS } from "../../../shared/limits.ts";
import type { Instant, Millis } from "../../../shared/machine.ts";
import type { Observed } from "../../messages.ts";
import { takeLogs } from "../output/logs.ts";
import { outputEvents, withOwedOutputs } from "../output/outputs.ts";
import { spillTails } from "../output/tails.ts";
import { addEvent } from "../read/events.ts";
import { attemptsKept } from "../read/texts.ts";
import {
  type AllocationRecord,
  type AllocationState,
  type AttemptRecord,
  openPlacement,
  type PlacementRecord,
} from "../state.ts";
import { groupView, isOver, type Member, withTask } from "../tasks/tasks.ts";
import { hasTimedOut } from "../time/time-limits.ts";
import { noteContradiction, noteLate } from "./late.ts";
import { newPlacement, storePlacement } from "./placement.ts";
import { withDataEvent, withSaved } from "./sticky.ts";

/** Progress of an attempt. It never goes back: a late report of an earlier state changes nothing. */
const PROGRESS: Record<AttemptReport["state"], number> = {
  preparing: 0,
  running: 1,
  stopping: 2,
  uploading: 3,
  exited: 4,
  gone: 4,
};

/**
 * Folds in a host's report on the open epoch. A restarted allocation may have lost an unstored placement: if
 * the reporting worker accepted an order for it (`held`), this run must have sent that order, and takes the
 * placement up again. Without that acceptance a report proves nothing.
 */
export function foldObserved(state: AllocationState, message: Observed, now: Instant): AllocationState {
  const { record } = state;
  if (record === null || message.kept) return state;
  if (record.ended || message.epoch <= record.endedEpoch)
    return { ...state, record: noteLate(record, message, now) };
  const known = openPlacement(state);
  if (known === null && !message.held) return state;
  const placement = known ?? newPlacement(message.worker, message.epoch, placedSince(record, message, now));
  if (message.epoch !== record.endedEpoch + 1 || placement.worker !== message.worker) return state;
  let next = storePlacement(record, placement);
  const spill = [...state.spill];
  for (const report of message.attempts) {
    const parts = parseAttemptId(report.id);
    if (parts === undefined || parts.epoch !== placement.epoch || !wasOrdered(next, parts)) continue;
    const folded = foldAttempt(next, parts.task, report, { ...message, placement }, now);
    const taken = takeLogs(folded, report, now);
    next = taken.record;
    spill.push(...taken.segments);
  }
  const kept = spillTails(next);
  spill.push(...kept.rows);
  return { ...state, record: kept.record, memo: { ...state.memo, placement: null }, spill };
}

/** Whether the attempt was ever ordered: its number is at most the present one. */
function wasOrdered(record: AllocationRecord, { task, n }: AttemptParts): boolean {
  const known = record.tasks.find(({ name }) => name === task);
  return known !== undefined && n <= known.n;
}

function foldAttempt(
  record: AllocationRecord,
  name: string,
  report: AttemptReport,
  from: Pick<Observed, "protocol"> & { placement: PlacementRecord },
  now: Instant,
): AllocationRecord {
  const member = groupView(record).members.find(({ task }) => task.name === name);
  if (member === undefined) return record;
  const { task, known } = member;
  const before = known.attempts.find((one) => one.id === report.id);
  const further = before === undefined || PROGRESS[report.state] > PROGRESS[before.state];
  // A kill that was given up is news without being progress.
  const stuck = before?.killError === null && !isOver(before) && isUnkillable(report);
  if (!further && !stuck) {
    const next = withSaved(record, report, now);
    return before !== undefined && isOver(before) ? noteContradiction(next, before, report, now) : next;
  }
  const times = timesOf(record, before, report, now);
  const heard = { ...times, protocol: from.protocol };
  const progress = attemptFrom(before, further ? report : { ...report, state: before.state }, heard, now);
  const timed = { ...progress, timedOut: hasTimedOut(record, from.placement, member, progress, report) };
  const attempt = withFetching(record, name, withOwedOutputs(member, timed), before, report);
  const others = known.attempts.filter((one) => one.id !== report.id);
  const all = [...others, attempt];
  const most = attemptsKept(record.tasks.length);
  const attempts = all.slice(-most);
  const dropped = all.slice(0, -most);
  const changed = withTask(record, task, { attempts });
  const startedAt = record.startedAt ?? attempt.startedAt ?? undefined;
  const started = startedAt === undefined ? changed : { ...changed, startedAt };
  const noted = attemptEvents(withoutLogsOf(started, dropped), member, before, attempt, report, {
    ended: times.ended,
    now,
  });
  return withDataEvent(noted, attempt.epoch, report.data, now);
}

/** Drops the logs of attempts that are no longer in the record. */
function withoutLogsOf(record: AllocationRecord, dropped: AttemptRecord[]): AllocationRecord {
  if (dropped.length === 0) return record;
  const logs = { ...record.logs };
  for (const { id } of dropped) delete logs[id];
  return { ...record, logs };
}

/**
 * When an attempt started and ended. Hosts say how long ago that was, since their idea of the date is never
 * trusted (host-protocol.md#times), and believed only within what is possible: an attempt starts
 * after its run began to wait for this placement, and after the previous attempt ended; it ends after its
 * start; and nothing is heard before it happens. Even if the clock here has gone back, times remain in
 * order.
 */
function timesOf(
  record: AllocationRecord,
  before: AttemptRecord | undefined,
  report: AttemptReport,
  now: Instant,
) {
  const { task: name, epoch, n = 1 } = parseAttemptId(report.id) ?? {};
  const attempts = record.tasks.find((task) => task.name === name)?.attempts ?? [];
  const last = attempts.findLast((one) => one.epoch === epoch && (parseAttemptId(one.id)?.n ?? n) < n);
  const first = Math.max(record.submittedAt, record.waitingSince, last?.finishedAt ?? 0);
  const started = before?.startedAt ?? ago(startAge(report), first, now);
  return { first, started, ended: ago(report.endedAgoMs, started ?? first, now) };
}

/** How long ago an attempt started; what runs without an age has just been heard to run. */
function startAge({ state, startedAgoMs }: AttemptReport): Millis | undefined {
  return startedAgoMs ?? (state === "running" || state === "uploading" ? 0 : undefined);
}

/** When a reported placement that was lost from memory here began. */
function placedSince(record: AllocationRecord, { attempts }: Observed, now: Instant): Instant {
  const ages = attempts.map(({ startedAgoMs = 0 }) => startedAgoMs);
  return ago(Math.max(0, ...ages), record.waitingSince, now) ?? now;
}

function attemptFrom(
  before: AttemptRecord | undefined,
  report: AttemptReport,
  { first, started, ended, protocol }: ReturnType<typeof timesOf> & { protocol: number },
  now: Instant,
): AttemptRecord {
  const over = report.state === "exited" || report.state === "gone";
  const stopped = report.stopped ?? before?.stopped;
  return {
    id: report.id,
    epoch: parseAttemptId(report.id)?.epoch ?? 0,
    state: report.state,
    startedAt: started,
    finishedAt: over ? (ended ?? Math.max(started ?? first, now)) : null,
    ...(over && ended !== null && now - ended > HEARD_AT_ONCE_MS ? { heardAt: now } : {}),
    exit: report.exit ?? before?.exit ?? null,
    startError: report.startError ?? null,
    timedOut: report.timedOut ?? false,
    protocol,
    ...(stopped === undefined ? {} : { stopped }),
    killError: report.kill?.error ?? before?.killError ?? null,
    ...(report.outputs === undefined || !over ? {} : { outputs: report.outputs }),
  };
}

/** Notes that the host has begun to fetch the attempt's artifacts, if it has any. */
function withFetching(
  record: AllocationRecord,
  task: string,
  attempt: AttemptRecord,
  before: AttemptRecord | undefined,
  report: AttemptReport,
): AttemptRecord {
  const has = before?.fetching === true || (hasArtifacts(record, task) && hasPrepared(report));
  return has ? { ...attempt, fetching: true } : attempt;
}

/**
 * Whether the host has begun to prepare the attempt. The first report may show it running or failed already:
 * artifacts are fetched before that, but after the check of its user.
 */
function hasPrepared({ state, waits, startedAgoMs, startError }: AttemptReport): boolean {
  if (startError !== undefined) return startError.code !== "user_not_found";
  return startedAgoMs !== undefined || (state === "preparing" && waits !== true);
}

function ago(ms: number | undefined, earliest: Instant, now: Instant): Instant | null {
  return ms === undefined ? null : Math.max(earliest, Math.min(now, Math.round(now - ms)));
}

const HOST_STOPS: Record<HostStop, string> = {
  lease: "its host stops it, because the lease ends",
  agent: "its host stops it, because the agent there was told to end",
  interruption: "its host stops it, because its machine is about to be taken away",
};

function attemptEvents(
  record: AllocationRecord,
  member: Member,
  before: AttemptRecord | undefined,
  after: AttemptRecord,
  report: AttemptReport,
  { ended, now }: { ended: Instant | null; now: Instant },
): AllocationRecord {
  const task = member.task.name;
  let next = record;
  if (after.fetching && !before?.fetching) {
    const fetchedAt = after.startedAt ?? after.finishedAt ?? now;
    next = addEvent(next, "Downloading Artifacts", fetchedAt, "the host fetches its artifacts", { task });
  }
  if (after.startedAt !== null && (before?.startedAt ?? null) === null) {
    const details = { attempt: after.id };
    next = addEvent(next, "Started", after.startedAt, "the command was started", { task, details });
  }
  // Whatever is reported together with the end happened before it, or with it.
  const at = ended ?? now;
  if (after.stopped !== undefined && before?.stopped === undefined) {
    const reason = HOST_STOPS[after.stopped];
    next = addEvent(next, "Killing", at, reason, { task, details: { kill_reason: reason } });
  }
  if (after.killError !== null && (before?.killError ?? null) === null) {
    const message = `the host could not kill it in five tries and goes on trying: ${after.killError}`;
    next = addEvent(next, "Kill Failed", at, message, { task, details: { kill_error: after.killError } });
  }
  if (after.startError !== null) {
    const { code, text } = after.startError;
    return code === "artifact_failed"
      ? addEvent(next, "Failed Artifact Download", at, text, { task, details: { download_error: text } })
      : addEvent(next, "Driver Failure", at, text, { task, details: { driver_error: text } });
  }
  if (after.state === "gone" && after.exit === null) {
    // An attempt that was stopped before it started is not lost.
    const isToStop = member.isStopping || member.restarting || after.stopped !== undefined;
    if (after.startedAt === null && (after.timedOut || isToStop)) return next;
    return addEvent(next, "Lost", at, "no process of it is left, and its exit is unknown", { task });
  }
  if (after.exit !== null && (before?.exit ?? null) === null)
    next = noteTermination(next, task, after.exit, report, at);
  return isOver(after) ? outputEvents(next, task, after, now) : next;
}

function noteTermination(
  record: AllocationRecord,
  task: string,
  { code, signal, oomKilled, message }: Exit,
  { id, kill }: AttemptReport,
  at: Instant,
): AllocationRecord {
  const parts = [
    code === null ? "" : `exit code ${code}`,
    signal === null ? "" : `signal ${signal}`,
    message,
  ];
  const details = {
    attempt: id,
    exit_code: String(code ?? ""),
    signal: signal ?? "",
    oom_killed: String(oomKilled),
    exit_message: message,
  };
  // How it was killed, which an ordinary end does not need.
  const proof: Record<string, string> =
    kill === undefined ? {} : { killed_by: kill.by, tree_gone: String(kill.treeGone) };
  const text = parts.filter((part) => part !== "").join(", ");
  return addEvent(record, "Terminated", at, text, {
    task,
    details: { ...details, ...proof },
  });
}

function hasArtifacts({ spec }: AllocationRecord, task: string): boolean {
  return (spec.tasks?.find(({ name }) => name === task)?.artifacts ?? []).length > 0;
}
