// What must outlive the agent, and how does its next start adopt the attempts that it finds?
import type { Means, StartError } from "../../src/schema/host.ts";
import type { Exit } from "../../src/schema/run/run.ts";
import type { Instant } from "../../src/shared/machine.ts";
import { newAttempt } from "./attempts/attempt.ts";
import { mayBeInside } from "./attempts/hold.ts";
import { type LeaseJournal, stopForLeaseAt } from "./lease.ts";
import type { AttemptState, HostState, StickyState } from "./types.ts";

/**
 * The fields that the journal keeps of an attempt. The next start finds out the rest: the attempt's process,
 * the sizes of its streams, how much of them the control plane has stored, and whether the orders want the
 * attempt.
 */
const JOURNAL_FIELDS = [
  ...(["plan", "by", "deadline", "timeoutMs", "timedOut", "stop", "signaledUpTo", "outputs"] as const),
  ...(["startedAt", "endedAt", "exit", "startError", "collected", "peaks"] as const),
  ...(["hasSecrets", "secretsOnDisk", "hold", "image", "devices", "freed"] as const),
  ...(["checks", "unhealthy"] as const),
] as const;

/** The journal of an attempt. */
export type AttemptJournal = Pick<AttemptState, (typeof JOURNAL_FIELDS)[number]>;

/**
 * What a new start of the agent finds of an earlier attempt. `journal`: absent if there is no readable
 * journal from this boot of the machine.
 *
 * - `running`: its shim lives, with the same pid and start time.
 * - `ended`: its shim has written the exit status.
 * - `lost`: its shim neither lives nor has written the exit status. Whatever is left of the attempt must be
 *   killed.
 * - `rebooted`: the machine has booted since, so none of its processes lives, and its pids mean nothing.
 */
export interface FoundAttempt {
  id: string;
  journal?: AttemptJournal | undefined;
  main:
    | { kind: "running" | "lost" | "rebooted" }
    | { kind: "ended"; at: Instant; exit: Exit }
    | { kind: "ended"; at: Instant; startError: StartError };
}

/** All that a new start of the agent finds. */
export interface FoundHost {
  attempts: FoundAttempt[];
  /** Placements with directories, `<run>/<epoch>`. */
  placements?: string[];
  sticky?: StickyState;
  lease?: LeaseJournal | undefined;
  /** Absent: no cgroups and no limits. */
  means?: Means | undefined;
  /** See `HostState`. */
  powersOff?: boolean;
}

/**
 * The journal of an attempt. It is on disk before anything that depends on it is done or reported (rule R1).
 */
export function journalOf(attempt: AttemptState): AttemptJournal {
  const journal: Partial<Record<(typeof JOURNAL_FIELDS)[number], unknown>> = {};
  for (const field of JOURNAL_FIELDS) journal[field] = attempt[field];
  return journal as AttemptJournal; // has each of the fields
}

/** The journal of the attempt has no start, no end and no stop. */
export function isUntouched({ startedAt, endedAt, startError, stop }: AttemptJournal): boolean {
  return [startedAt, endedAt, startError, stop].every((word) => word === undefined);
}

/** The lease for its file; undefined while there is none. */
export function leaseOf({ leaseUntil, leaseMs }: HostState): LeaseJournal | undefined {
  return leaseUntil === undefined ? undefined : { until: leaseUntil, ms: leaseMs };
}

/**
 * The state in which a new start adopts an attempt (tasks.md#restore). A running attempt keeps its time limit
 * and a stop that has begun; an attempt that has ended meanwhile gets its exit; any other attempt is killed
 * and reported as `gone`. No attempt is started again.
 */
export function adopt({ id, journal, main }: FoundAttempt, now: Instant, lease?: LeaseJournal): AttemptState {
  const known = { ...newAttempt(id, "run"), ...journal };
  switch (main.kind) {
    case "rebooted":
      return { ...newAttempt(id, "run"), treeGone: true };
    case "running":
      return { ...known, main: "running", startedAt: known.startedAt ?? now };
    case "ended": {
      if (known.exit !== undefined || known.startError !== undefined) {
        // Nothing of the attempt itself was left. What was started there since then goes on.
        return { ...known, treeGone: mayBeInside(known) };
      }
      const { kind: _, at, ...end } = main;
      const ended = { ...known, ...end, startedAt: known.startedAt ?? at, endedAt: at };
      return known.stop === undefined && isEndOfLease(ended, at, lease) ? stoppedByLease(ended, at) : ended;
    }
    case "lost": {
      const lost = { ...known, endedAt: known.endedAt ?? now };
      // Without its journal nobody knows which devices it was given.
      return journal === undefined ? { ...lost, devices: "unknown" } : lost;
    }
  }
}

/**
 * Whether the end of the lease has stopped an attempt although the attempt's journal names no stop. The disk
 * may have been too full for the journal, but the lease has its own file. Without this check, the signal of
 * this host would count as the task's failure.
 */
function isEndOfLease({ exit, plan }: AttemptState, at: Instant, lease: LeaseJournal | undefined): boolean {
  if (lease === undefined || exit?.signal == null) return false;
  return at >= stopForLeaseAt({ leaseUntil: lease.until, leaseMs: lease.ms }, plan);
}

function stoppedByLease(attempt: AttemptState, at: Instant): AttemptState {
  const stop = { signal: "SIGTERM", killAt: at, killing: false, signaled: true, by: "lease" } as const;
  return { ...attempt, stop };
}

/**
 * The end of the lease in the file. A lease that would last longer than `ms`, the longest lease, was written
 * by another clock, and counts from now. A missing lease counts as ended, because attempts may run (rule R4).
 */
export function adoptLease(lease: LeaseJournal | undefined, now: Instant): Instant {
  return lease === undefined ? now : Math.min(lease.until, now + lease.ms);
}
