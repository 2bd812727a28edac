// What changes through the passing of time alone?
import { earliest, type Instant } from "../../../src/shared/machine.ts";
import { elapseChecks, nextCheckAt } from "../checks/checks.ts";
import { leaseKillAt, leasePowerOffAt, leaseStopAt } from "../lease.ts";
import { elapseChunks } from "../reports/chunks.ts";
import { noticeKillAt, noticeStopAt } from "../reports/notice.ts";
import { sampleDueAt } from "../reports/usage.ts";
import type { AttemptState, HostState } from "../types.ts";
import { mapAttempts, ownStop, stopAttempt } from "./attempt.ts";
import { endHost } from "./ending.ts";
import { endHold, isKept } from "./hold.ts";
import { isStoppable, owesOutputs } from "./outputs.ts";
import { clearsAgainAt, elapseRemains } from "./remains.ts";
import { elapseKept, keptUntil } from "./sticky.ts";

/**
 * Begins everything that has become due: starts of attempts; stops because of a time limit, the lease or the
 * end of the machine; kills after a grace period; the boot probe, checks for a notice and samples; deletions
 * of kept data; the power-off. None of this is undone later, not even by an answer that extends the lease.
 */
export function elapse(state: HostState, now: Instant): HostState {
  const sampleAt = sampleDueAt(state);
  const sampling = state.usage.sampling || (sampleAt !== undefined && sampleAt <= now);
  const next: HostState = {
    ...state,
    attempts: mapAttempts(state, (attempt) => elapseAttempt(state, attempt, now)),
    boot: begun(state.boot, now),
    notice: begun(state.notice, now),
    fitness: begun(state.fitness, now),
    devices: begun(state.devices, now),
    remains: elapseRemains(state, now),
    usage: { ...state.usage, sampling },
    sticky: elapseKept(state, now),
  };
  const powerOffAt = leasePowerOffAt(next);
  if (powerOffAt === undefined || powerOffAt > now) return next;
  return endHost(next, { code: 0, reason: "its lease is over", powerOff: true, by: "lease" }, now);
}

/** Begins a periodic check that is due. */
function begun<Check extends { running: boolean; nextAt?: Instant | undefined }>(
  check: Check,
  now: Instant,
): Check {
  if (check.nextAt === undefined || check.nextAt > now) return check;
  return { ...check, nextAt: undefined, running: true };
}

function elapseAttempt(state: HostState, attempt: AttemptState, now: Instant): AttemptState {
  const at = momentsOf(state, attempt);
  let next = elapseChecks(elapseChunks(attempt, now), now);
  if (at.start !== undefined && at.start <= now) next = { ...next, notBefore: undefined };
  if (at.timeout !== undefined && at.timeout <= now) {
    next = stopAttempt({ ...next, timedOut: true }, ownStop(next), now);
  } else if (at.leaseStop !== undefined && at.leaseStop <= now) {
    next = stopAttempt(next, ownStop(next), now, "lease");
  } else if (at.noticeStop !== undefined && at.noticeStop <= now) {
    next = stopAttempt(next, ownStop(next), now, "interruption");
  }
  if (at.hold !== undefined && at.hold <= now) next = endHold(next);
  const { kill } = momentsOf(state, next);
  if (next.stop !== undefined && kill !== undefined && kill <= now) {
    next = { ...next, stop: { ...next.stop, killing: true } };
  }
  return next;
}

/**
 * The instants at which time alone changes this attempt. An instant is undefined if its change is done, or
 * will never come.
 */
function momentsOf(state: HostState, attempt: AttemptState) {
  const { main, stop, deadline, notBefore: start } = attempt;
  const runs = main === "running" || owesOutputs(attempt);
  return {
    start,
    check: nextCheckAt(attempt),
    hold: holdEndsAt(state, attempt),
    timeout: stop === undefined && isStoppable(attempt) ? deadline : undefined,
    noticeStop: stop === undefined && runs ? noticeStopAt(state, attempt) : undefined,
    leaseStop: stop === undefined && runs ? leaseStopAt(state, attempt) : undefined,
    kill:
      stop !== undefined && !stop.killing && main === "running"
        ? earliest(stop.killAt, leaseKillAt(state), noticeKillAt(state))
        : undefined,
  };
}

/** When this host ends a hold by itself: at its end, or when the lease or the machine ends. */
function holdEndsAt(state: HostState, attempt: AttemptState): Instant | undefined {
  if (!isKept(attempt)) return undefined;
  return earliest(attempt.hold?.until, leaseStopAt(state, attempt), noticeStopAt(state, attempt));
}

/** When `elapse` will change something next. */
export function elapsesAt(state: HostState): Instant | undefined {
  const { boot, notice, fitness, devices, attempts } = state;
  const moments = Object.values(attempts).map((one) => earliest(...Object.values(momentsOf(state, one))));
  const dueAt = [
    boot.nextAt,
    notice.nextAt,
    fitness.nextAt,
    devices.nextAt,
    leasePowerOffAt(state),
    sampleDueAt(state),
    keptUntil(state),
    clearsAgainAt(state),
  ];
  return earliest(...dueAt, ...moments);
}
