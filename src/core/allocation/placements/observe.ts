import { isUnkillable } from "../../../probes/broken.ts";
import type { AttemptReport, HostStop } from "../../../schema/host.ts";
import type { Exit } from "../../../schema/run/run.ts";
import { type AttemptParts, parseAttemptId } from "../../../shared/attempt-id.ts";
import { HEARD_AT_ONCE_MS } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";
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

/** How far an attempt is. It never goes back: a late report of an earlier state changes nothing. */
const PROGRESS: Record<AttemptReport["state"], number> = {
  preparing: 0,
  running: 1,
  stopping: 2,
  uploading: 3,
  exited: 4,
  gone: 4,
};

/**
 * Folds in what the host of the open epoch says. An allocation that restarted may have forgotten a placement
 * of which the worker reports: if that worker has accepted it, nobody but this run can have ordered it, so it
 * takes the placement up again. What a host alone says of a run that it was never given counts for nothing.
 */
export function foldObserved(state: AllocationState, message: Observed, now: Instant): AllocationState {
  const { record } = state;
  if (record === null || message.kept) return state;
  if (record.ended || message.epoch <= record.endedEpoch)
    return { ...state, record: noteLate(record, message, now) };
  const known = openPlacement(state);
  if (known === null && !message.held) return state;
  const placement = known ?? newPlacement(message.worker, message.epoch, since(record, message, now));
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

/** An attempt with a higher number than the present one was never ordered: the host cannot know it. */
function wasOrdered(record: AllocationRecord, { task, n }: AttemptParts): boolean {
  const known = record.tasks.find(({ name }) => name === task);
  return known !== undefined && n <= (known.n ?? 1);
}

function foldAttempt(
  record: AllocationRecord,
  name: string,
  report: AttemptReport,
  from: Pick<Observed, "waits" | "keepsTime"> & { placement: PlacementRecord },
  now: Instant,
): AllocationRecord {
  const member = groupView(record).members.find(({ task }) => task.name === name);
  if (member === undefined) return record;
  const { task, known } = member;
  const before = known.attempts.find((one) => one.id === report.id);
  const further = before === undefined || PROGRESS[report.state] > PROGRESS[before.state];
  // That its kill was given up is news, though it is no progress.
  const stuck = before?.killError === null && !isOver(before) && isUnkillable(report);
  if (!further && !stuck) {
    const next = withSaved(record, report, now);
    return before !== undefined && isOver(before) ? noteContradiction(next, before, report, now) : next;
  }
  const times = timesOf(record, before, report, now);
  const said = advance(before, further ? report : { ...report, state: before.state }, times, now);
  const keepsTime: Pick<AttemptRecord, "keepsTime"> = from.keepsTime ? { keepsTime: true } : {};
  const kept = { ...said, ...keepsTime };
  const timed = { ...kept, timedOut: hasTimedOut(record, from.placement, member, kept, report) };
  const attempt = withFetching(record, name, withOwedOutputs(member, timed), before, report);
  const others = known.attempts.filter((one) => one.id !== report.id);
  const all = [...others, attempt];
  const most = attemptsKept(record.tasks.length);
  const attempts = all.slice(-most);
  const dropped = all.slice(0, -most);
  const changed = withTask(record, task, { attempts, ...(isOver(attempt) ? { hostWaits: from.waits } : {}) });
  const startedAt = record.startedAt ?? attempt.startedAt ?? undefined;
  const started = startedAt === undefined ? changed : { ...changed, startedAt };
  const told = attemptEvents(withoutLogsOf(started, dropped), member, before, attempt, report, {
    ended: times.ended,
    now,
  });
  return withDataEvent(told, attempt.epoch, report.data, now);
}

/** An attempt that is no longer remembered has no logs any more. */
function withoutLogsOf(record: AllocationRecord, dropped: AttemptRecord[]): AllocationRecord {
  if (dropped.length === 0) return record;
  const logs = { ...record.logs };
  for (const { id } of dropped) delete logs[id];
  return { ...record, logs };
}

/**
 * When an attempt started and ended. Hosts say how long ago that was, since their idea of the date is never
 * trusted (host-protocol.md#times), and that is believed only within what is possible: an attempt starts
 * after its run began to wait for this place and after the attempt before it had ended, it ends after its
 * start, and nothing is heard before it happens; unless the clock here has gone back: then times still lie in
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
  const first = Math.max(record.waitingSince, last?.finishedAt ?? 0);
  const started = before?.startedAt ?? ago(report.startedAgoMs, first, now);
  return { started, ended: ago(report.endedAgoMs, started ?? first, now) };
}

/** Since when a placement has been open of which its worker reports, and which was forgotten here. */
function since(record: AllocationRecord, { attempts }: Observed, now: Instant): Instant {
  const ages = attempts.map(({ startedAgoMs = 0 }) => startedAgoMs);
  return ago(Math.max(0, ...ages), record.waitingSince, now) ?? now;
}

function advance(
  before: AttemptRecord | undefined,
  report: AttemptReport,
  { started, ended }: { started: Instant | null; ended: Instant | null },
  now: Instant,
): AttemptRecord {
  const over = report.state === "exited" || report.state === "gone";
  const stopped = report.stopped ?? before?.stopped;
  return {
    id: report.id,
    epoch: parseAttemptId(report.id)?.epoch ?? 0,
    state: report.state,
    startedAt: started,
    finishedAt: over ? (ended ?? Math.max(started ?? now, now)) : null,
    ...(over && ended !== null && now - ended > HEARD_AT_ONCE_MS ? { heardAt: now } : {}),
    exit: report.exit ?? before?.exit ?? null,
    startError: report.startError ?? null,
    timedOut: report.timedOut ?? false,
    ...(stopped === undefined ? {} : { stopped }),
    killError: report.kill?.error ?? before?.killError ?? null,
    ...(report.outputs === undefined || !over ? {} : { outputs: report.outputs }),
  };
}

/** An attempt with the mark that its host has begun to fetch its artifacts, if it has some. */
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
 * Whether a host that says this has begun to prepare the attempt. It may be heard of first when it runs
 * already, or has failed: artifacts come before all of that, but for the look whether its user is there.
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
  // What is heard with the end came before it, or with it.
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
    // What was stopped before it had started is not missed.
    const isToStop = member.isStopping || member.restarting || after.stopped !== undefined;
    if (after.startedAt === null && (after.timedOut || isToStop)) return next;
    return addEvent(next, "Lost", at, "nothing of it is left, and how it ended is not known", { task });
  }
  if (after.exit !== null && (before?.exit ?? null) === null)
    next = terminated(next, task, after.exit, report, at);
  return isOver(after) ? outputEvents(next, task, after, now) : next;
}

function terminated(
  record: AllocationRecord,
  task: string,
  { code, signal, oomKilled, message }: Exit,
  { id, kill }: AttemptReport,
  at: Instant,
): AllocationRecord {
  const said = [code === null ? "" : `exit code ${code}`, signal === null ? "" : `signal ${signal}`, message];
  const details = {
    attempt: id,
    exit_code: String(code ?? ""),
    signal: signal ?? "",
    oom_killed: String(oomKilled),
    exit_message: message,
  };
  // The proof that a kill was one, and by which means: what the ordinary end does not need.
  const proof: Record<string, string> =
    kill === undefined ? {} : { killed_by: kill.by, tree_gone: String(kill.treeGone) };
  const text = said.filter((part) => part !== "").join(", ");
  return addEvent(record, "Terminated", at, text, {
    task,
    details: { ...details, ...proof },
  });
}

function hasArtifacts({ spec }: AllocationRecord, task: string): boolean {
  return (spec.tasks?.find(({ name }) => name === task)?.artifacts ?? []).length > 0;
}
