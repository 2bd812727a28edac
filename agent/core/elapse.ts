import { earliest, type Instant } from "../../src/core/machine.ts";
import { ownStop, stopAttempt } from "./attempt.ts";
import { elapseChunks } from "./chunks.ts";
import { endHost } from "./ending.ts";
import { leaseKillAt, leasePowerOffAt, leaseStopAt } from "./lease.ts";
import type { AttemptState, HostState } from "./types.ts";
import { sampleDueAt } from "./usage.ts";

/**
 * Latches what time alone has brought about: time limits, the end of the lease, graces that are over, the
 * boot probe, and the end of a machine that can end itself. What has begun stays begun, even if a later
 * answer extends the lease.
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
  const same = attempts === state.attempts && boot === state.boot && usage === state.usage;
  const next = same ? state : { ...state, attempts, boot, usage };
  const powerOffAt = leasePowerOffAt(next);
  if (powerOffAt === undefined || powerOffAt > now) return next;
  return endHost(next, { code: 0, reason: "its lease is over", powerOff: true, by: "lease" }, now);
}

function elapseAttempt(state: HostState, attempt: AttemptState, now: Instant): AttemptState {
  const at = momentsOf(state, attempt);
  let next = elapseChunks(attempt, now);
  if (at.timeout !== undefined && at.timeout <= now) {
    next = stopAttempt({ ...next, timedOut: true }, ownStop(next), now);
  } else if (at.leaseStop !== undefined && at.leaseStop <= now) {
    next = stopAttempt(next, ownStop(next), now, "lease");
  }
  const { kill } = momentsOf(state, next);
  if (next.stop !== undefined && kill !== undefined && kill <= now) {
    next = { ...next, stop: { ...next.stop, killing: true } };
  }
  return next;
}

/** The instants at which time alone will do something to this attempt; absent where it has, or never will. */
function momentsOf(state: HostState, attempt: AttemptState) {
  const { main, stop, deadline } = attempt;
  return {
    timeout: stop === undefined && main !== "over" ? deadline : undefined,
    leaseStop: stop === undefined && main === "running" ? leaseStopAt(state, attempt) : undefined,
    kill:
      stop !== undefined && !stop.killing && main === "running"
        ? earliest(stop.killAt, leaseKillAt(state))
        : undefined,
  };
}

/** When `elapse` will change something next. */
export function elapsesAt(state: HostState): Instant | undefined {
  let at = earliest(state.boot.nextAt, leasePowerOffAt(state), sampleDueAt(state));
  for (const attempt of Object.values(state.attempts)) {
    const { timeout, leaseStop, kill } = momentsOf(state, attempt);
    at = earliest(at, timeout, leaseStop, kill);
  }
  return at;
}
