// When must attempts stop because the lease ends (rules.md#r4), and is this machine free?
import type { Instant, Millis } from "../../src/shared/machine.ts";
import { mayBeInside } from "./attempts/hold.ts";
import { LEASE_KILL_MS, WATCHDOG_LEAD_MS } from "./bounds.ts";
import { noticeStopAt } from "./reports/notice.ts";
import { withNews } from "./reports/pace.ts";
import type { AttemptState, HostState, StopPlan } from "./types.ts";

/**
 * A lease that ended while machine and control plane slept lasts this long after they wake. It ends before
 * the control plane declares the worker lost (`LEASE_MARGIN_MS`).
 */
export const LEASE_AFTER_SLEEP_MS: Millis = 55_000;
/** For this long after a sleep the end of the lease stops no attempt: the lease may still be renewed. */
export const RENEW_AFTER_SLEEP_MS: Millis = 20_000;

/** The lease as stored in its file. `ms`: the longest lease that is ever granted. */
export interface LeaseJournal {
  until: Instant;
  ms: Millis;
}

/**
 * When an attempt must begin to stop because the lease ends: early enough for its kill timeout and
 * `LEASE_KILL_MS` more (rule R4). A kill timeout counts as at most a third of the lease: a lease is extended
 * when less than two thirds are left, so a longer timeout would stop attempts under a healthy lease.
 */
export function leaseStopAt(state: HostState, attempt: AttemptState): Instant | undefined {
  const { leaseUntil, leaseMs, wokeUntil } = state;
  if (leaseUntil === undefined) return undefined;
  const stopAt = stopForLeaseAt({ leaseUntil, leaseMs }, attempt.plan);
  return Math.max(stopAt, wokeUntil ?? stopAt);
}

/** Like `leaseStopAt`, from the lease alone. `plan`: how the attempt is stopped. */
export function stopForLeaseAt(
  { leaseUntil, leaseMs }: { leaseUntil: Instant; leaseMs: Millis },
  plan: StopPlan | undefined,
): Instant {
  return leaseUntil - LEASE_KILL_MS - Math.min(plan?.timeoutMs ?? 0, leaseMs / 3);
}

/**
 * Extends a lease that ended while the machine and its control plane slept. Nobody could renew or judge it
 * meanwhile, and the control plane waits a lease margin after waking. So the lease lasts a little less than
 * that margin after waking. A lease that had ended before the sleep stays ended.
 */
export function foldSleep(
  state: HostState,
  { since, wokeAt }: { since: Instant; wokeAt: Instant },
  now: Instant,
): HostState {
  if (state.leaseUntil === undefined || state.leaseUntil <= since) return state;
  const leaseUntil = Math.max(state.leaseUntil, wokeAt + LEASE_AFTER_SLEEP_MS);
  if (leaseUntil === state.leaseUntil) return state;
  return withNews({ ...state, leaseUntil, wokeUntil: wokeAt + RENEW_AFTER_SLEEP_MS }, now);
}

/**
 * When all processes must be killed, even within a grace period: the rest of the lease is for the kill
 * itself.
 */
export function leaseKillAt(state: HostState): Instant | undefined {
  return state.leaseUntil === undefined ? undefined : state.leaseUntil - LEASE_KILL_MS;
}

/**
 * When this machine must power itself off, if it can: at the end of its lease. Nobody has extended the lease,
 * so perhaps nobody is left to destroy a machine that costs money (invariant 8).
 */
export function leasePowerOffAt({ powersOff, leaseUntil, ending }: HostState): Instant | undefined {
  return powersOff && ending === undefined ? leaseUntil : undefined;
}

/**
 * Whether the watchdog may end all attempts in the agent's place: the lease is about to end, or there is no
 * lease. Without a lease nothing may run.
 */
export function isLeaseEnding(lease: LeaseJournal | undefined, now: Instant): boolean {
  return lease === undefined || lease.until - now <= WATCHDOG_LEAD_MS;
}

/**
 * Whether this machine may become another worker's host: no process of an attempt lives, and no lease is in
 * force.
 */
export function isFree({ attempts, leaseUntil }: HostState, now: Instant): boolean {
  const isOver = leaseUntil === undefined || leaseUntil <= now;
  return isOver && Object.values(attempts).every((one) => one.treeGone && !mayBeInside(one));
}

/**
 * Whether an attempt may start now: there is a lease, the agent is not ending, and neither the end of the
 * lease nor the end of the machine would stop the attempt at once.
 */
export function mayStart(state: HostState, attempt: AttemptState, now: Instant): boolean {
  const stopAt = leaseStopAt(state, attempt);
  const goesAt = noticeStopAt(state, attempt) ?? Infinity;
  return state.ending === undefined && stopAt !== undefined && now < Math.min(stopAt, goesAt);
}
