// What of an attempt must survive the agent? It is written to the journal and read at the next start.
import type { Means, StartError } from "../../src/schema/host.ts";
import type { Exit } from "../../src/schema/run/run.ts";
import type { Instant, Millis } from "../../src/shared/machine.ts";
import { newAttempt } from "./attempts/attempt.ts";
import { type LeaseJournal, stopForLeaseAt } from "./lease.ts";
import type { AttemptState, Beginning, HostState, StickyState } from "./types.ts";

/**
 * What of an attempt must outlive the agent. The rest is found again: its process, the size of its streams,
 * what the control plane has stored of them, and whether it is wanted.
 */
export type AttemptJournal = Pick<
  AttemptState,
  | "plan"
  | "by"
  | "startedAt"
  | "deadline"
  | "timeoutMs"
  | "timedOut"
  | "stop"
  | "exit"
  | "startError"
  | "endedAt"
  | "signaledUpTo"
  | "outputs"
  | "collected"
>;

/**
 * What a new start of the agent finds of an attempt of an earlier one. `journal`: absent if there is none of
 * this boot that can be read.
 *
 * - `running`: its shim lives, and it is the same one: the same pid and the same start.
 * - `ended`: its shim has left what became of it.
 * - `lost`: neither; what lives of it must be killed.
 * - `rebooted`: the machine has booted since, so nothing of it lives, and no number of it means anything.
 */
export interface FoundAttempt {
  id: string;
  journal?: AttemptJournal | undefined;
  main:
    | { kind: "running" | "lost" | "rebooted" }
    | { kind: "ended"; at: Instant; exit: Exit }
    | { kind: "ended"; at: Instant; startError: StartError };
}

/** What lies on the disk of sticky runs, by placement. */
export interface FoundSticky {
  begun: Record<string, Beginning>;
  keptForMs: Record<string, Millis>;
}

/** All that a new start of the agent finds. */
export interface FoundHost {
  attempts: FoundAttempt[];
  /** Placements of which there are directories, `<run>/<epoch>`. */
  placements?: string[];
  /** Of sticky ones: how they began, and which are kept, since how long. */
  sticky?: FoundSticky;
  lease?: LeaseJournal | undefined;
  /** Absent: nothing is known to be had. */
  means?: Means | undefined;
  /** See `HostState`. */
  powersOff?: boolean;
}

/** What must be on disk of this attempt before anything that follows from it is done or told (rule R1). */
export function journalOf(attempt: AttemptState): AttemptJournal {
  const { plan, by, startedAt, deadline, timeoutMs, timedOut, stop, exit, startError, endedAt } = attempt;
  const { signaledUpTo, outputs, collected } = attempt;
  const ends = { exit, startError, endedAt };
  return {
    plan,
    by,
    startedAt,
    deadline,
    timeoutMs,
    timedOut,
    stop,
    ...ends,
    signaledUpTo,
    outputs,
    collected,
  };
}

/** The lease to keep in its file; undefined while there is none. */
export function leaseOf({ leaseUntil, leaseMs }: HostState): LeaseJournal | undefined {
  return leaseUntil === undefined ? undefined : { until: leaseUntil, ms: leaseMs };
}

/**
 * The attempt as the new start takes it on (tasks.md#restore). What lives is adopted with its time limit and
 * the stop that has begun; what ended meanwhile has its exit; of anything else the rest is killed, and then
 * it is `gone`. None is ever started again.
 */
export function adopt({ id, journal, main }: FoundAttempt, now: Instant, lease?: LeaseJournal): AttemptState {
  const known = { ...newAttempt(id, "run"), ...journal };
  switch (main.kind) {
    case "rebooted":
      return { ...newAttempt(id, "run"), treeGone: true };
    case "running":
      return { ...known, main: "running", startedAt: known.startedAt ?? now };
    case "ended": {
      if (known.exit !== undefined || known.startError !== undefined) return known;
      const { kind: _, at, ...end } = main;
      const ended = { ...known, ...end, startedAt: known.startedAt ?? at, endedAt: at };
      return known.stop === undefined && isEndOfLease(ended, at, lease) ? stoppedByLease(ended, at) : ended;
    }
    case "lost":
      return { ...known, endedAt: known.endedAt ?? now };
  }
}

/**
 * Whether the end of the lease has stopped an attempt of whose stop nothing is written: a full disk takes no
 * journal, but the lease stands in a file of its own. Else a signal of this host would be the task's failure.
 */
function isEndOfLease({ exit, plan }: AttemptState, at: Instant, lease: LeaseJournal | undefined): boolean {
  if (lease === undefined || exit?.signal == null) return false;
  return at >= stopForLeaseAt({ leaseUntil: lease.until, leaseMs: lease.ms }, plan);
}

function stoppedByLease(attempt: AttemptState, at: Instant): AttemptState {
  const stop = { signal: "SIGTERM", killAt: at, killing: false, signaled: true, by: "lease" } as const;
  return { ...attempt, stop };
}

/** What was found of sticky runs, by this clock. */
export function stickyFound({ begun, keptForMs }: FoundSticky, now: Instant): StickyState {
  const kept = Object.entries(keptForMs).map(([placement, ms]) => [placement, { since: now - ms }]);
  return { begun, kept: Object.fromEntries(kept) };
}

/**
 * Until when the lease lasts that was found. One that would last longer than any that is granted is of
 * another clock: it counts from now. Without a word of it there is none, because attempts may run (rule R4).
 */
export function adoptLease(lease: LeaseJournal | undefined, now: Instant): Instant {
  return lease === undefined ? now : Math.min(lease.until, now + lease.ms);
}
