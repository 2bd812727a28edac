import type { HostStop } from "../../schema/host.ts";
import { HEARD_AT_ONCE_MS } from "../../shared/limits.ts";
import type { Instant } from "../../shared/machine.ts";
import type { Ended } from "../messages.ts";
import { outputsFailure, resultOf, uploadingAttempt } from "./output/outputs.ts";
import { mayReschedule } from "./placements/reschedule.ts";
import type { AllocationRecord, AttemptRecord, Outcome, Wish } from "./state.ts";
import { firstFailed } from "./tasks/lifecycle.ts";
import { type GroupView, groupOfRun, type Member } from "./tasks/tasks.ts";

/** Signal numbers, for the exit code that a shell would give (128 + n). */
const SIGNAL_NUMBERS: Record<string, number> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGILL: 4,
  SIGTRAP: 5,
  SIGABRT: 6,
  SIGBUS: 7,
  SIGFPE: 8,
  SIGKILL: 9,
  SIGUSR1: 10,
  SIGSEGV: 11,
  SIGUSR2: 12,
  SIGPIPE: 13,
  SIGALRM: 14,
  SIGTERM: 15,
  SIGXCPU: 24,
  SIGXFSZ: 25,
  SIGSYS: 31,
};

const NO_EXIT = { exitCode: null, signal: null, failure: null };

/**
 * How a run ends whose one main task's attempt is over (api.md#ends-of-a-command).
 *
 * A wish that was stored before the exit decides the state, whatever the command did then
 * (decisions/runs.md#abort). An exit code, zero or not, is `complete`; only the mechanism fails a run.
 */
function outcomeOfAttempt(record: AllocationRecord, attempt: AttemptRecord, now: Instant): Outcome {
  if (record.wish !== null) return outcomeOfWish(record.wish, now);
  if (attempt.timedOut) return { state: "timedout", at: now, ...NO_EXIT };
  if (attempt.startError !== null) {
    const { code, text } = attempt.startError;
    return { state: "failed", at: now, ...NO_EXIT, failure: { code, text } };
  }
  if (attempt.exit === null && attempt.killError !== null) return outcomeOfGivenUpKill(attempt, now);
  if (attempt.stopped !== undefined) return outcomeOfHostStop(attempt.stopped, now);
  if (attempt.exit === null) {
    const text = "nothing of the command is left on its machine, and how it ended is not known";
    return { state: "unknown", at: now, ...NO_EXIT, failure: { code: "status_lost", text } };
  }
  const failure = outputsFailure(attempt);
  const state = failure === null ? "complete" : "failed";
  return { state, at: now, ...NO_EXIT, ...exitOf(attempt), failure };
}

/** What an attempt exited with, as a shell would say it, and the result that it has left. */
function exitOf(attempt: AttemptRecord): Pick<Outcome, "exitCode" | "signal" | "snapshot"> {
  if (attempt.exit === null) return { exitCode: null, signal: null };
  const { code, signal } = attempt.exit;
  const exitCode = signal === null ? code : 128 + (SIGNAL_NUMBERS[signal] ?? 0);
  return { exitCode, signal, ...resultOf(attempt) };
}

/**
 * How a run ends all of whose tasks are dead, the last of them at `failedAt`, and whether it is placed anew
 * before that (restart.md#eligible).
 */
export function outcomeOf(view: GroupView, failedAt: Instant, now: Instant): Outcome {
  const { record, group, members } = view;
  const at = Math.max(failedAt, record.wish?.at ?? 0, ...members.map(({ deadAt }) => deadAt));
  const outcome = heard(outcomeOfGroup(view, at), now);
  const failed = interruption(view) !== undefined || members.some((one) => one.failed);
  const again = mayReschedule(group.reschedule, record.reschedules ?? [], failedAt);
  return record.wish === null && failed && again ? { ...outcome, again } : outcome;
}

/** An outcome that becomes known now. What counts from when it is known must not count from its end. */
function heard(outcome: Outcome, now: Instant): Outcome {
  return now - outcome.at > HEARD_AT_ONCE_MS ? { ...outcome, heardAt: now } : outcome;
}

/**
 * The end of the group. A command by itself ends with what it said, in a group a failed
 * task fails the run (api.md#group-failure); who is blamed is decided by time, then by name.
 */
function outcomeOfGroup(view: GroupView, now: Instant): Outcome {
  const { record, group, members } = view;
  if (record.wish !== null) return outcomeOfWish(record.wish, now);
  const only = group.lone ? members[0]?.attempt : undefined;
  if (only !== undefined) return outcomeOfAttempt(record, only, now);
  const present = members.filter(({ known }) => known.removed === undefined);
  const mains = present.filter(({ task }) => task.hook === "main");
  const shown = present.find(({ task }) => task.leader) ?? (mains.length === 1 ? mains[0] : undefined);
  const culprit = firstFailed(members);
  const stopped = culprit === undefined ? interruption(view) : undefined;
  if (stopped !== undefined) return outcomeOfHostStop(stopped, now);
  if (culprit === undefined) {
    const attempt = shown?.attempt;
    return { state: "complete", at: now, ...NO_EXIT, ...(attempt === undefined ? {} : exitOf(attempt)) };
  }
  const { attempt } = shown ?? culprit;
  const exit = attempt === undefined ? {} : exitOf(attempt);
  return { state: "failed", at: now, ...NO_EXIT, ...exit, failure: failureOf(culprit) };
}

/**
 * Why the host has kept a group from ending by itself; undefined if it has not. A group whose leader, or all
 * of whose tasks but sidecars and poststop tasks, had ended by themselves has had its end: what was stopped
 * then would have been stopped anyway.
 */
function interruption({ group, members, hostStop }: GroupView): HostStop | undefined {
  const leader = group.tasks.find((task) => task.leader);
  const needed = members.filter(({ task, known }) => {
    if (leader !== undefined) return task === leader;
    return !task.sidecar && task.hook !== "poststop" && known.removed === undefined;
  });
  return needed.every(({ known }) => known.dead?.how === "terminated") ? undefined : hostStop;
}

/**
 * How a run ends that its host has stopped by itself, and that may not be placed anew. At the end of a lease,
 * or of the machine, it is what the worker would say (rule R4: the machine counts as lost). An agent that was
 * told to end is the mechanism that fails the run (api.md#ends-of-a-command). What the command made of the
 * signal is no result.
 */
function outcomeOfHostStop(stopped: HostStop, now: Instant): Outcome {
  if (stopped === "lease") {
    const text = "its host lost the control plane, and stopped it before the end of its lease";
    return { state: "unknown", at: now, ...NO_EXIT, failure: { code: "machine_lost", text } };
  }
  if (stopped === "interruption") {
    const text = "its machine was about to be taken away, and its host stopped it before";
    return { state: "unknown", at: now, ...NO_EXIT, failure: { code: "machine_lost", text } };
  }
  const text = "the agent of its machine was told to end, and stopped it";
  return { state: "failed", at: now, ...NO_EXIT, failure: { code: "agent_ended", text } };
}

function failureOf({ task, attempt }: Member): Outcome["failure"] {
  const name = `task "${task.name}"`;
  if (attempt?.startError) {
    const { code, text } = attempt.startError;
    return { code, text: `${name} could not be started: ${text}` };
  }
  if (attempt?.exit === null && attempt.killError !== null) {
    return { code: "unkillable", text: `${name} could not be killed: ${attempt.killError}` };
  }
  if (attempt === undefined || attempt.exit === null) {
    return { code: "status_lost", text: `${name} was lost: how it ended is not known` };
  }
  const lost = outputsFailure(attempt);
  if (lost !== null) return { ...lost, text: `${name}: ${lost.text}` };
  const { code, signal } = attempt.exit;
  return { code: "task_failed", text: `${name} failed with ${signal ?? `exit code ${code}`}` };
}

/** How a run ends by a wish: abort, time-out, or giving up. `at`: its end, of which is heard at `now`. */
export function outcomeOfWish(wish: Wish, at: Instant, now = at): Outcome {
  const failure = wish.failure === null ? null : { code: wish.failure, text: wish.reason };
  return heard({ state: wish.state, at, ...NO_EXIT, failure }, now);
}

/**
 * How a run ends whose machine was lost after the host may have begun it: nobody can know
 * (api.md#ends-of-a-command). But of one command that had ended by itself only its outputs are lost.
 */
export function outcomeOfLoss(record: AllocationRecord, ended: Ended, at: Instant, now: Instant): Outcome {
  const { worker, cause } = ended;
  const uploading = groupOfRun(record).lone ? uploadingAttempt(record) : undefined;
  if (uploading !== undefined && uploading.exit !== null) {
    const error = `worker ${worker} was lost while it stored them`;
    return heard(outcomeOfAttempt(record, { ...uploading, outputs: { error } }, at), now);
  }
  const why = cause === undefined ? "lost" : "lost to an interruption,";
  const text = `worker ${worker} was ${why} while it may have run the command: how that ended is not known`;
  const failure = { code: "machine_lost" as const, text };
  return heard({ state: "unknown", at, ...NO_EXIT, failure }, now);
}

/**
 * The attempts of the open epoch that its host had given up killing, and of which it has not said since that
 * they are over (tasks.md#kill-6).
 */
export function givenUpKills({ tasks, endedEpoch }: AllocationRecord): AttemptRecord[] {
  const attempts = tasks.flatMap((task) => task.attempts).filter(({ epoch }) => epoch > endedEpoch);
  return attempts.filter(({ killError, finishedAt }) => killError !== null && finishedAt === null);
}

/**
 * How a run ends of which something could not be killed, once nothing of it can be left
 * (decisions/tasks.md#kill-that-gave-up). It outranks the wish to stop: what was wished for did not happen,
 * and who asked for it must know. An exit that the host has told in the end counts as any other: then nothing
 * was left there.
 */
export function outcomeOfGivenUpKill({ id, killError }: AttemptRecord, now: Instant): Outcome {
  const text = `${id} could not be killed, and ended with its machine at the latest: ${killError}`;
  return { state: "failed", at: now, ...NO_EXIT, failure: { code: "unkillable", text } };
}
