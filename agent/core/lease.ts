// When must attempts stop because the lease ends (rules.md#r4), and is this machine free?
import type { Instant, Millis } from "../../src/shared/machine.ts";
import { LEASE_AFTER_SLEEP_MS, LEASE_KILL_MS, RENEW_AFTER_SLEEP_MS, WATCHDOG_LEAD_MS } from "./bounds.ts";
import { noticeStopAt } from "./reports/notice.ts";
import { withNews } from "./reports/pace.ts";
import type { AttemptState, HostState, StopPlan } from "./types.ts";

/** The lease as it lies in its file. `ms`: the longest one that is ever granted. */
export interface LeaseJournal {
  until: Instant;
  ms: Millis;
}

/**
 * When an attempt must begin to stop because the lease ends: early enough for its kill timeout and 30 s
 * more (rule R4). A kill timeout above a third of the lease counts as a third: the lease is extended when
 * less than two thirds are left, so anything above that would stop attempts of which the lease is in no
 * danger.
 */
export function leaseStopAt(state: HostState, attempt: AttemptState): Instant | undefined {
  const { leaseUntil, leaseMs, wokeUntil } = state;
  if (leaseUntil === undefined) return undefined;
  const stopAt = stopForLeaseAt({ leaseUntil, leaseMs }, attempt.plan);
  return Math.max(stopAt, wokeUntil ?? stopAt);
}

/** The same by the lease alone, of an attempt that is stopped so. */
export function stopForLeaseAt(
  { leaseUntil, leaseMs }: { leaseUntil: Instant; leaseMs: Millis },
  plan: StopPlan | undefined,
): Instant {
  return leaseUntil - LEASE_KILL_MS - Math.min(plan?.timeoutMs ?? 0, leaseMs / 3);
}

/**
 * After a sleep of the machine in which its control plane has slept, too: nobody can have judged in that
 * time, and the control plane waits for the margin of a lease after it has woken. So a lease that ended in
 * the sleep lasts for a little less than that from its waking, to be renewed. One that was over before the
 * sleep stays so.
 */
export function slept(
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
 * When all trees must be killed, whatever grace they have left: the rest of the lease is for the kill
 * itself.
 */
export function leaseKillAt(state: HostState): Instant | undefined {
  return state.leaseUntil === undefined ? undefined : state.leaseUntil - LEASE_KILL_MS;
}

/**
 * When a machine that can end itself does: at the end of the lease, which nobody has extended, and so nobody
 * will come for what it costs (invariant 8).
 */
export function leasePowerOffAt({ powersOff, leaseUntil, ending }: HostState): Instant | undefined {
  return powersOff && ending === undefined ? leaseUntil : undefined;
}

/**
 * Whether whoever guards the lease in the agent's place may end what runs: one that was extended meanwhile,
 * or is of another boot, is none of its business. Without a lease nothing may run.
 */
export function isLeaseEnding(lease: LeaseJournal | undefined, now: Instant): boolean {
  return lease === undefined || lease.until - now <= WATCHDOG_LEAD_MS;
}

/** Whether this host owes its worker nothing: nothing lives of what it has run, and no lease lasts. */
export function isFree({ attempts, leaseUntil }: HostState, now: Instant): boolean {
  const isOver = leaseUntil === undefined || leaseUntil <= now;
  return isOver && Object.values(attempts).every(({ treeGone }) => treeGone);
}

/**
 * Whether an attempt may be started now: under a lease, and not only to be stopped again for its end, or that
 * of the machine.
 */
export function mayStart(state: HostState, attempt: AttemptState, now: Instant): boolean {
  const stopAt = leaseStopAt(state, attempt);
  const goesAt = noticeStopAt(state, attempt) ?? Infinity;
  return state.ending === undefined && stopAt !== undefined && now < Math.min(stopAt, goesAt);
}
