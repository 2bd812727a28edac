// What has time alone changed?
import { earliest, type Instant } from "../../../src/shared/machine.ts";
import { leaseKillAt, leasePowerOffAt, leaseStopAt } from "../lease.ts";
import { elapseChunks } from "../reports/chunks.ts";
import { elapseNotice, noticeKillAt, noticeStopAt } from "../reports/notice.ts";
import { sampleDueAt } from "../reports/usage.ts";
import type { AttemptState, HostState } from "../types.ts";
import { ownStop, stopAttempt } from "./attempt.ts";
import { endHost } from "./ending.ts";
import { isStoppable, owesOutputs } from "./outputs.ts";
import { elapseKept, keptUntil } from "./sticky.ts";

/**
 * Notes for good what has become due: starts, time limits, ends of the lease or the machine, grace periods,
 * the boot probe, checks for a notice, samples, bounds of kept data, the power-off. A later answer that
 * extends the lease does not undo what has begun.
 */
export function elapse(state: HostState, now: Instant): HostState {
  let { attempts, boot } = state;
  for (const [id, attempt] of Object.entries(state.attempts)) {
    const next = elapseAttempt(state, attempt, now);
    if (next !== attempt) attempts = { ...attempts, [id]: next };
  }
  if (boot.nextAt !== undefined && boot.nextAt <= now) {
    const { nextAt: _, ...rest } = boot;
    boot = { ...rest, running: true };
  }
  const sampleAt = sampleDueAt(state);
  const usage = sampleAt !== undefined && sampleAt <= now ? { ...state.usage, sampling: true } : state.usage;
  const sticky = elapseKept(state, now);
  const notice = elapseNotice(state.notice, now);
  const isSame =
    attempts === state.attempts &&
    boot === state.boot &&
    usage === state.usage &&
    sticky === state.sticky &&
    notice === state.notice;
  const next = isSame ? state : { ...state, attempts, boot, usage, sticky, notice };
  const powerOffAt = leasePowerOffAt(next);
  if (powerOffAt === undefined || powerOffAt > now) return next;
  return endHost(next, { code: 0, reason: "its lease is over", powerOff: true, by: "lease" }, now);
}

function elapseAttempt(state: HostState, attempt: AttemptState, now: Instant): AttemptState {
  const at = momentsOf(state, attempt);
  let next = elapseChunks(attempt, now);
  if (at.start !== undefined && at.start <= now) next = withoutWait(next);
  if (at.timeout !== undefined && at.timeout <= now) {
    next = stopAttempt({ ...next, timedOut: true }, ownStop(next), now);
  } else if (at.leaseStop !== undefined && at.leaseStop <= now) {
    next = stopAttempt(next, ownStop(next), now, "lease");
  } else if (at.noticeStop !== undefined && at.noticeStop <= now) {
    next = stopAttempt(next, ownStop(next), now, "interruption");
  }
  const { kill } = momentsOf(state, next);
  if (next.stop !== undefined && kill !== undefined && kill <= now) {
    next = { ...next, stop: { ...next.stop, killing: true } };
  }
  return next;
}

function withoutWait({ notBefore: _, ...attempt }: AttemptState): AttemptState {
  return attempt;
}

/** The instants at which time alone changes this attempt; undefined where it already has, or never will. */
function momentsOf(state: HostState, attempt: AttemptState) {
  const { main, stop, deadline, notBefore: start } = attempt;
  const runs = main === "running" || owesOutputs(attempt);
  return {
    start,
    timeout: stop === undefined && isStoppable(attempt) ? deadline : undefined,
    noticeStop: stop === undefined && runs ? noticeStopAt(state, attempt) : undefined,
    leaseStop: stop === undefined && runs ? leaseStopAt(state, attempt) : undefined,
    kill:
      stop !== undefined && !stop.killing && main === "running"
        ? earliest(stop.killAt, leaseKillAt(state), noticeKillAt(state))
        : undefined,
  };
}

/** When `elapse` will change something next. */
export function elapsesAt(state: HostState): Instant | undefined {
  const { boot, notice, attempts } = state;
  const moments = Object.values(attempts).map((one) => earliest(...Object.values(momentsOf(state, one))));
  const dueAt = [boot.nextAt, notice.nextAt, leasePowerOffAt(state), sampleDueAt(state), keptUntil(state)];
  return earliest(...dueAt, ...moments);
}
