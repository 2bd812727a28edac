import type { Instant } from "../../src/core/machine.ts";
import { LEASE_KILL_MS, WATCHDOG_LEAD_MS } from "./bounds.ts";
import type { LeaseJournal } from "./journal.ts";
import { noticeStopAt } from "./notice.ts";
import type { AttemptState, HostState } from "./types.ts";

/**
 * When an attempt must begin to stop because the lease ends: early enough for its kill timeout and 30 s
 * more (rule R4). A kill timeout above a third of the lease counts as a third: the lease is extended when
 * less than two thirds are left, so anything above that would stop attempts of which the lease is in no
 * danger.
 */
export function leaseStopAt(state: HostState, attempt: AttemptState): Instant | undefined {
  if (state.leaseUntil === undefined) return undefined;
  return state.leaseUntil - LEASE_KILL_MS - Math.min(attempt.plan?.timeoutMs ?? 0, state.leaseMs / 3);
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

/**
 * Whether an attempt may be started now: under a lease, and not only to be stopped again for its end, or that
 * of the machine.
 */
export function mayStart(state: HostState, attempt: AttemptState, now: Instant): boolean {
  const stopAt = leaseStopAt(state, attempt);
  const goesAt = noticeStopAt(state, attempt) ?? Infinity;
  return state.ending === undefined && stopAt !== undefined && now < Math.min(stopAt, goesAt);
}
