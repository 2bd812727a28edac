// What has time alone changed? Deadlines that have passed are latched here, at each tick.
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
 * Latches what time alone has brought about: the time to start, time limits, the end of the lease or of the
 * machine, graces that are over, the boot probe, looks for a notice, data that are kept for too long, and the
 * end of a machine that can end itself. What has begun stays begun, even if a later answer extends the lease.
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
  const known = sticky === state.sticky && usage === state.usage;
  const notice = elapseNotice(state.notice, now);
  const looks = boot === state.boot && notice === state.notice;
  const same = attempts === state.attempts && looks && known;
  const next = same ? state : { ...state, attempts, boot, notice, usage, sticky };
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

/** The instants at which time alone will do something to this attempt; absent where it has, or never will. */
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
  const looks = earliest(state.boot.nextAt, state.notice.nextAt);
  let at = earliest(looks, leasePowerOffAt(state), sampleDueAt(state), keptUntil(state));
  for (const attempt of Object.values(state.attempts)) {
    const { start, timeout, leaseStop, noticeStop, kill } = momentsOf(state, attempt);
    at = earliest(at, start, timeout, leaseStop, noticeStop, kill);
  }
  return at;
}
