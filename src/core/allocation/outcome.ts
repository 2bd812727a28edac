// How does a run end: in which state, with which exit code and failure?
import type { HostStop } from "../../schema/host.ts";
import { HEARD_AT_ONCE_MS } from "../../shared/limits.ts";
import type { Instant } from "../../shared/machine.ts";
import type { Ended } from "../messages.ts";
import { outputsFailure, resultOf, uploadingAttempt } from "./output/outputs.ts";
import { failedCheckText } from "./placements/attempts.ts";
import { mayReschedule } from "./placements/reschedule.ts";
import { retryAfter } from "./retry/decide.ts";
import type { AllocationRecord, AttemptRecord, Outcome, StopRequest } from "./state.ts";
import { shellCode } from "./tasks/exit-code.ts";
import { firstFailed } from "./tasks/group.ts";
import { type GroupView, groupView, type Member } from "./tasks/tasks.ts";

const NO_EXIT = { exitCode: null, signal: null, failure: null };

/**
 * The outcome of a run with one task whose attempt is over (api.md#ends-of-a-command).
 *
 * A request to stop that was stored before the exit decides the state (decisions/runs.md#abort). A run is
 * `complete` with any exit code. It fails only if Drover could not run it, or could not store its outputs.
 */
function outcomeOfAttempt(record: AllocationRecord, attempt: AttemptRecord, now: Instant): Outcome {
  if (record.stopRequest !== null) return outcomeOfStop(record.stopRequest, now);
  if (attempt.timedOut) return { state: "timedout", at: now, ...NO_EXIT };
  if (attempt.startError !== null) {
    const { code, text } = attempt.startError;
    return { state: "failed", at: now, ...NO_EXIT, failure: { code, text } };
  }
  if (attempt.exit === null && attempt.killError !== null) return outcomeOfGivenUpKill(attempt, now);
  if (attempt.unhealthy !== undefined) {
    const failure = failureOfCheck(attempt.unhealthy);
    return { state: "failed", at: now, ...NO_EXIT, failure };
  }
  if (attempt.stopped !== undefined) return outcomeOfHostStop(attempt.stopped, now);
  if (attempt.exit === null) {
    const text = "no process of the command is left on its machine, and its exit is unknown";
    return { state: "unknown", at: now, ...NO_EXIT, failure: { code: "status_lost", text } };
  }
  const failure = outputsFailure(attempt);
  const state = failure === null ? "complete" : "failed";
  return { state, at: now, ...NO_EXIT, ...exitOf(attempt), failure };
}

/** The exit of an attempt as a shell reports it, and its stored result. */
function exitOf(attempt: AttemptRecord): Pick<Outcome, "exitCode" | "signal" | "snapshot"> {
  if (attempt.exit === null) return { exitCode: null, signal: null };
  return { exitCode: shellCode(attempt.exit), signal: attempt.exit.signal, ...resultOf(attempt) };
}

/**
 * The outcome of a run whose tasks are all dead. `failedAt`: when the last of them died. If the outcome has
 * `again`, the run is placed again instead of ending (restart.md#eligible, retry.md#next-try).
 */
export function outcomeOf(view: GroupView, failedAt: Instant, now: Instant): Outcome {
  const { record, group, members } = view;
  const at = Math.max(failedAt, record.stopRequest?.at ?? 0, ...members.map(({ deadAt }) => deadAt));
  const outcome = withHeardAt(outcomeOfGroup(view, at), now);
  const retry = retryAfter(view, outcome);
  if (retry !== undefined) return { ...outcome, again: true, retry };
  const failed = interruption(view) !== undefined || members.some((one) => one.failed);
  const again = mayReschedule(group.reschedule, record.reschedules, failedAt);
  return record.stopRequest === null && failed && again ? { ...outcome, again } : outcome;
}

/**
 * Adds `heardAt`, when the end became known, unless it became known at once. Retention counts from `heardAt`.
 */
function withHeardAt(outcome: Outcome, now: Instant): Outcome {
  return now - outcome.at > HEARD_AT_ONCE_MS ? { ...outcome, heardAt: now } : outcome;
}

/**
 * The outcome of a group. A run of a single command ends with the exit of that command. In a group, a failed
 * task fails the run (api.md#group-failure), and the outcome names the task that failed first.
 */
function outcomeOfGroup(view: GroupView, now: Instant): Outcome {
  const { record, group, members } = view;
  if (record.stopRequest !== null) return outcomeOfStop(record.stopRequest, now);
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
 * Why the host stopped a group before the end of the group; undefined if the host did not stop it. A group
 * has reached its end once its leader has ended by itself. A group without a leader has reached its end once
 * every task except sidecars and poststop tasks has ended by itself. The remaining tasks would have been
 * stopped anyway.
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
 * The outcome of a run that its host stopped without an order, unless the run is placed again. If the lease
 * or the machine was about to end, the machine counts as lost (rule R4). If the agent was told to end, the
 * run fails (api.md#ends-of-a-command). The exit that the stop caused is not a result.
 */
function outcomeOfHostStop(stopped: HostStop, now: Instant): Outcome {
  if (stopped === "lease") {
    const text = "its host lost contact with the control plane, and stopped it before the end of its lease";
    return { state: "unknown", at: now, ...NO_EXIT, failure: { code: "machine_lost", text } };
  }
  if (stopped === "interruption") {
    const text = "its host stopped it because its machine was about to be taken away";
    return { state: "unknown", at: now, ...NO_EXIT, failure: { code: "machine_lost", text } };
  }
  const text = "the agent on its machine was told to end, and stopped it";
  return { state: "failed", at: now, ...NO_EXIT, failure: { code: "agent_ended", text } };
}

/** The failure of a task that its host has stopped for a check (health.md#restart). */
function failureOfCheck({ check, failures, output }: NonNullable<AttemptRecord["unhealthy"]>) {
  const text = `its ${failedCheckText(check, failures)}, and so it was stopped: ${output}`;
  return { code: "check_failed" as const, text };
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
  if (attempt?.unhealthy !== undefined) {
    const failure = failureOfCheck(attempt.unhealthy);
    return { ...failure, text: `${name}: ${failure.text}` };
  }
  if (attempt === undefined || attempt.exit === null) {
    return { code: "status_lost", text: `${name} was lost, and its exit is unknown` };
  }
  const lost = outputsFailure(attempt);
  if (lost !== null) return { ...lost, text: `${name}: ${lost.text}` };
  const { code, signal } = attempt.exit;
  return { code: "task_failed", text: `${name} failed with ${signal ?? `exit code ${code}`}` };
}

/** The outcome of a run after a request to stop it. `at`: when it ended. `now`: when the end became known. */
export function outcomeOfStop(request: StopRequest, at: Instant, now = at): Outcome {
  const failure = request.failure === null ? null : { code: request.failure, text: request.reason };
  return withHeardAt({ state: request.state, at, ...NO_EXIT, failure }, now);
}

/**
 * The outcome of a run whose machine was lost after its host may have started the run: `unknown`
 * (api.md#ends-of-a-command). If the run is a single command that had already ended, only its outputs are
 * lost.
 */
export function outcomeOfLoss(record: AllocationRecord, ended: Ended, at: Instant, now: Instant): Outcome {
  const { worker, cause } = ended;
  const uploading = groupView(record).group.lone ? uploadingAttempt(record) : undefined;
  if (uploading !== undefined && uploading.exit !== null) {
    const error = `worker ${worker} was lost while it stored them`;
    return withHeardAt(outcomeOfAttempt(record, { ...uploading, outputs: { error } }, at), now);
  }
  const why = cause === undefined ? "lost" : "lost to an interruption,";
  const text = `worker ${worker} was ${why} while it may have run the command, whose exit is unknown`;
  const failure = { code: "machine_lost" as const, text };
  return withHeardAt({ state: "unknown", at, ...NO_EXIT, failure }, now);
}

/**
 * The attempts of the open epoch that the host failed to kill, and has not reported as ended since then
 * (tasks.md#kill-6).
 */
export function givenUpKills({ tasks, endedEpoch }: AllocationRecord): AttemptRecord[] {
  const attempts = tasks.flatMap((task) => task.attempts).filter(({ epoch }) => epoch > endedEpoch);
  return attempts.filter(({ killError, finishedAt }) => killError !== null && finishedAt === null);
}

/**
 * The outcome of a run with processes that could not be killed, once none of these processes can be left
 * (decisions/tasks.md#kill-that-gave-up). This outcome outranks the request to stop: the stop failed, and
 * whoever requested the stop must learn this. If the host reported an exit after the failed kill, that exit
 * counts instead.
 */
export function outcomeOfGivenUpKill({ id, killError }: AttemptRecord, now: Instant): Outcome {
  const text = `${id} could not be killed, and ended with its machine at the latest: ${killError}`;
  return { state: "failed", at: now, ...NO_EXIT, failure: { code: "unkillable", text } };
}
