// What does a host's report change in one attempt of a run?
import { shownDoing } from "../../../probes/believed.ts";
import { isUnkillable } from "../../../probes/trouble.ts";
import type { AttemptReport, HostStop } from "../../../schema/host.ts";
import type { Exit } from "../../../schema/run/run.ts";
import { type AttemptParts, parseAttemptId } from "../../../shared/attempt-id.ts";
import { HEARD_AT_ONCE_MS } from "../../../shared/limits.ts";
import type { Instant, Millis } from "../../../shared/machine.ts";
import type { PlacedRun, RunDraft } from "../draft.ts";
import { noteOutputs, withOwedOutputs } from "../output/outputs.ts";
import { attemptsKept } from "../read/texts.ts";
import type { AllocationRecord, AttemptRecord } from "../state.ts";
import { isOver, type Member } from "../tasks/tasks.ts";
import { hasTimedOut } from "../time/time-limits.ts";

/** How far an attempt is in each state. A late report of an earlier state changes nothing. */
const PROGRESS: Record<AttemptReport["state"], number> = {
  preparing: 0,
  running: 1,
  stopping: 2,
  uploading: 3,
  exited: 4,
  gone: 4,
};

/** Applies a host's report on an attempt of the open epoch. Returns whether the report is news. */
export function foldAttempt(
  run: PlacedRun,
  member: Member,
  parts: AttemptParts,
  report: AttemptReport,
  protocol: number,
): boolean {
  const { record, now } = run;
  const before = member.known.attempts.find((one) => one.id === report.id);
  const further = before === undefined || PROGRESS[report.state] > PROGRESS[before.state];
  // A failed kill is news although the attempt makes no progress.
  const stuck = before?.killError === null && !isOver(before) && isUnkillable(report);
  if (!further && !stuck) return noteDoing(run, member, before, report);
  const times = timesOf(record, member, before, parts, report, now);
  const said = { ...report, devices: asked(member, report), state: further ? report.state : before.state };
  const fetching = before?.fetching === true || (hasArtifacts(record, parts.task) && hasPrepared(report));
  const heard = attemptFrom(before, said, { ...times, epoch: parts.epoch, protocol }, now);
  const timedOut = hasTimedOut(record, run.placement, member, heard, report);
  const after = withOwedOutputs(member, { ...heard, timedOut, ...(fetching ? { fetching } : {}) });
  storeAttempt(run, member, after);
  noteAttempt(run, member, before, after, report, times.ended ?? now);
  return true;
}

/** How much time lies at least between two texts about one attempt that are stored (reports.md). */
const DOING_EVERY_MS: Millis = 10_000;

/** Stores what a host does now before the start of an attempt. Returns whether that is news. */
function noteDoing(
  run: PlacedRun,
  member: Member,
  before: AttemptRecord,
  { state, doing }: AttemptReport,
): boolean {
  if (before.state !== "preparing" || state !== "preparing" || doing === undefined) return false;
  const said = doingOf(doing, run.now);
  const isSoon = before.doingAt !== undefined && run.now - before.doingAt < DOING_EVERY_MS;
  if (isSoon || said.doing === before.doing) return false;
  storeAttempt(run, member, { ...before, ...said });
  return true;
}

function doingOf(doing: string, now: Instant): Pick<AttemptRecord, "doing" | "doingAt"> {
  return { doing: shownDoing(doing), doingAt: now };
}

/** Stores an attempt. Drops the oldest attempts beyond the limit, with their logs. */
function storeAttempt(run: RunDraft, { task, known }: Member, attempt: AttemptRecord): void {
  const all = [...known.attempts.filter((one) => one.id !== attempt.id), attempt];
  const most = attemptsKept(run.record.tasks.length);
  run.changeTask(task, { attempts: all.slice(-most) });
  const startedAt = run.record.startedAt ?? attempt.startedAt;
  if (startedAt !== null) run.set({ startedAt });
  const dropped = all.slice(0, -most);
  if (dropped.length === 0) return;
  const logs = { ...run.record.logs };
  for (const { id } of dropped) delete logs[id];
  run.set({ logs });
}

/**
 * When an attempt started and ended. Hosts report ages, since their clocks are never trusted
 * (host-protocol.md#times). Each time is kept within what is possible: an attempt starts after its run began
 * to wait for this placement and after the previous attempt ended, it ends after its start, and neither is in
 * the future. So times stay in order even if the clock here was set back.
 */
function timesOf(
  { submittedAt, waitingSince }: AllocationRecord,
  { known: { attempts } }: Member,
  before: AttemptRecord | undefined,
  { epoch, n }: AttemptParts,
  report: AttemptReport,
  now: Instant,
) {
  const last = attempts.findLast((one) => one.epoch === epoch && (parseAttemptId(one.id)?.n ?? n) < n);
  const first = Math.max(submittedAt, waitingSince, last?.finishedAt ?? 0);
  const started = before?.startedAt ?? ago(startAge(report), first, now);
  return { first, started, ended: ago(report.endedAgoMs, started ?? first, now) };
}

/** How long ago an attempt started: 0 if it is reported as running or uploading, but without an age. */
function startAge({ state, startedAgoMs }: AttemptReport): Millis | undefined {
  return startedAgoMs ?? (state === "running" || state === "uploading" ? 0 : undefined);
}

function attemptFrom(
  before: AttemptRecord | undefined,
  report: AttemptReport,
  { first, started, ended, ...host }: ReturnType<typeof timesOf> & { epoch: number; protocol: number },
  now: Instant,
): AttemptRecord {
  const over = report.state === "exited" || report.state === "gone";
  const stopped = report.stopped ?? before?.stopped;
  const image = report.image ?? before?.image;
  const unhealthy = unhealthyFrom(report) ?? before?.unhealthy;
  return {
    id: report.id,
    ...host,
    state: report.state,
    startedAt: started,
    finishedAt: over ? (ended ?? Math.max(started ?? first, now)) : null,
    ...(over && ended !== null && now - ended > HEARD_AT_ONCE_MS ? { heardAt: now } : {}),
    exit: report.exit ?? before?.exit ?? null,
    startError: report.startError ?? null,
    ...(image === undefined ? {} : { image }),
    ...(report.doing === undefined || report.state !== "preparing" ? {} : doingOf(report.doing, now)),
    timedOut: report.timedOut ?? false,
    ...(stopped === undefined ? {} : { stopped }),
    ...(unhealthy === undefined ? {} : { unhealthy }),
    killError: report.kill?.error ?? before?.killError ?? null,
    ...(report.outputs === undefined || !over ? {} : { outputs: report.outputs }),
    ...devicesOf(report.devices ?? before?.devices),
    ...(report.peaks === undefined || !over ? {} : { peaks: report.peaks }),
  };
}

/** The devices of an attempt, of which it can have no more than its task asks for (devices.md#exclusive). */
function asked({ task }: Member, { devices }: AttemptReport): string[] | undefined {
  return devices?.slice(0, task.spec.resources.gpus);
}

function devicesOf(devices: string[] | undefined): Pick<AttemptRecord, "devices"> {
  return devices === undefined || devices.length === 0 ? {} : { devices };
}

function hasArtifacts({ spec }: AllocationRecord, task: string): boolean {
  return (spec.tasks?.find(({ name }) => name === task)?.artifacts ?? []).length > 0;
}

/**
 * Whether the host has begun to prepare the attempt. The first report may already show the attempt as running
 * or failed. Then the host had begun to fetch its artifacts, unless the check of its user failed: this check
 * comes before the fetch.
 */
function hasPrepared({ state, waits, startedAgoMs, startError }: AttemptReport): boolean {
  if (startError !== undefined) return startError.code !== "user_not_found";
  return startedAgoMs !== undefined || (state === "preparing" && waits !== true);
}

function ago(ms: number | undefined, earliest: Instant, now: Instant): Instant | null {
  return ms === undefined ? null : Math.max(earliest, Math.min(now, Math.round(now - ms)));
}

const ON_DISK =
  "the files of its secrets are on a disk of the machine, which has no file system in memory for them";

const HOST_STOPS: Record<HostStop, string> = {
  lease: "its host stops it, because the lease ends",
  agent: "its host stops it, because the agent there was told to end",
  interruption: "its host stops it, because its machine is about to be taken away",
};

/** Adds events for the news in a report. `at`: when the attempt ended, or now if it has not ended. */
function noteAttempt(
  run: RunDraft,
  member: Member,
  before: AttemptRecord | undefined,
  after: AttemptRecord,
  report: AttemptReport,
  at: Instant,
): void {
  const task = member.task.name;
  if (after.fetching && !before?.fetching) {
    const fetchedAt = after.startedAt ?? after.finishedAt ?? run.now;
    run.note("Downloading Artifacts", fetchedAt, "the host fetches its artifacts", { task });
  }
  if (after.startedAt !== null && (before?.startedAt ?? null) === null) {
    const details = { attempt: after.id };
    run.note("Started", after.startedAt, "the command was started", { task, details });
    if (report.secretsOnDisk) run.note("Secrets On Disk", after.startedAt, ON_DISK, { task, details });
  }
  if (after.stopped !== undefined && before?.stopped === undefined) {
    const reason = HOST_STOPS[after.stopped];
    run.note("Killing", at, reason, { task, details: { kill_reason: reason } });
  }
  if (after.unhealthy !== undefined && before?.unhealthy === undefined)
    noteUnhealthy(run, task, after.unhealthy, ago(report.unhealthy?.agoMs, after.startedAt ?? 0, at) ?? at);
  if (after.killError !== null && (before?.killError ?? null) === null) {
    const message = `the host could not kill it in five tries and keeps trying: ${after.killError}`;
    run.note("Kill Failed", at, message, { task, details: { kill_error: after.killError } });
  }
  if (after.startError !== null) {
    const { code, text } = after.startError;
    if (code === "artifact_failed")
      run.note("Failed Artifact Download", at, text, { task, details: { download_error: text } });
    else run.note("Driver Failure", at, text, { task, details: { driver_error: text } });
  } else if (after.state === "gone" && after.exit === null) {
    // An attempt that was stopped before it started is not lost.
    const isToStop =
      member.isStopping || member.restarting || (after.stopped ?? after.unhealthy) !== undefined;
    if (after.startedAt !== null || !(after.timedOut || isToStop))
      run.note("Lost", at, "no process of it is left, and its exit is unknown", { task });
  } else {
    if (after.exit !== null && (before?.exit ?? null) === null)
      noteTermination(run, task, after.exit, report, at);
    if (isOver(after)) noteOutputs(run, task, after);
  }
}

/** The check for which its host has stopped an attempt. */
function unhealthyFrom({ unhealthy }: AttemptReport): AttemptRecord["unhealthy"] {
  if (unhealthy === undefined) return undefined;
  const { agoMs: _, ...check } = unhealthy;
  return check;
}

/** Its host stops an attempt since one of its checks has failed too often (health.md#restart). */
function noteUnhealthy(
  run: RunDraft,
  task: string,
  { check, failures, output }: NonNullable<AttemptRecord["unhealthy"]>,
  at: Instant,
): void {
  const reason = failedCheckText(check, failures);
  const details = { restart_reason: reason, check, check_output: output };
  run.note("Restart Signaled", at, `its host stops it: ${reason}: ${output}`, { task, details });
}

/** That a check has failed too often, in words. */
export function failedCheckText(check: string, failures: number): string {
  return `check "${check}" has failed ${failures === 1 ? "once" : `${failures} times in a row`}`;
}

function noteTermination(
  run: RunDraft,
  task: string,
  { code, signal, oomKilled, message }: Exit,
  { id, kill }: AttemptReport,
  at: Instant,
): void {
  const parts = [
    code === null ? "" : `exit code ${code}`,
    signal === null ? "" : `signal ${signal}`,
    message,
  ];
  // How the attempt was killed. Empty after an ordinary end.
  const proof: Record<string, string> =
    kill === undefined ? {} : { killed_by: kill.by, tree_gone: String(kill.treeGone) };
  const details = {
    attempt: id,
    exit_code: String(code ?? ""),
    signal: signal ?? "",
    oom_killed: String(oomKilled),
    exit_message: message,
    ...proof,
  };
  run.note("Terminated", at, parts.filter((part) => part !== "").join(", "), { task, details });
}
