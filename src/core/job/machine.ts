// What does a job decide: which ticks have come, and which of them get a run (jobs.md#the-job)?
import type { ErrorCode } from "../../shared/errors.ts";
import { type Envelope, earliest, type Instant, type Machine } from "../../shared/machine.ts";
import { confirmed } from "../audit/outbox.ts";
import { noteAudit } from "./audit.ts";
import { jobInvariants } from "./check.ts";
import type { JobEvent, TickOutcome } from "./events.ts";
import { foldWait, submitsAt } from "./followed/waiting.ts";
import { heldAsOwed, heldUntil, settledHeld, withHeldOwed } from "./held.ts";
import { tickRunId } from "./ids.ts";
import { foldLook, givenUpAt, looksAt, withoutOwed } from "./look.ts";
import { beginPause, endPause } from "./pause.ts";
import {
  changed,
  type ExistingJob,
  type JobState,
  jobOf,
  type OwedTick,
  versionKey,
  versionOf,
} from "./record.ts";
import { storedOf, withSkip } from "./skips/stored.ts";
import { type JobListing, listingOf } from "./summary.ts";
import { foldPut, type Put } from "./versions.ts";

/** The run of a tick is to be made, but not after `notAfter`. Its spec is that of `owed.version`. */
export type SubmitLetter = Envelope & { kind: "submit"; owed: OwedTick; notAfter: Instant };
/** The registry is to list the job as it is now, and to take its entries of the audit log. */
export type ListLetter = Envelope & { kind: "list"; listing: JobListing };

export type JobMessage = SubmitLetter | ListLetter;

/**
 * How many runs of one version are submitted at a time: made-up ticks keep their order within a few. As many
 * again are asked about that it is too late for, so that those never keep others waiting.
 */
const SUBMITTED_AT_ONCE = 4;

/** The state machine of a job. */
export const jobMachine: Machine<JobState, JobEvent, JobMessage> = {
  name: "job",
  invariants: jobInvariants,

  apply(before, event, now) {
    const isWoken = event.type === "woken" && before.memo.held === undefined;
    const kept = isWoken || event.type === "submitted" ? before : withHeldOwed(before);
    // Ticks that have come belong to the version of before, whatever the event changes.
    const known = elapsed(kept, now, isWoken);
    const folded = noteAudit(known, fold(known, event, now), event, now);
    return withoutRemoved(elapsed(folded, now));
  },

  due(state, now) {
    const { record } = state;
    if (record === null) return [];
    const letters: JobMessage[] = submissionsDue(jobOf(state), now);
    const listing = listingOf(state);
    return listing === undefined
      ? letters
      : [...letters, { to: "registry", kind: "list", repeatedBy: "self", listing }];
  },

  wakeAt(state) {
    const job = jobOf(state);
    return job === undefined ? undefined : earliest(looksAt(job), ...startsOf(job));
  },
};

function elapsed(state: JobState, now: Instant, isWoken = false): JobState {
  const job = jobOf(state);
  return job === undefined ? state : foldLook(job, now, isWoken);
}

/** A submission is repeated until its run has answered: only the run knows whether it was made. */
function submissionsDue(job: ExistingJob | undefined, now: Instant): SubmitLetter[] {
  if (job === undefined) return [];
  const { project, name, owed } = job.record;
  const letterOf = (one: OwedTick, notAfter: Instant, repeatedBy: "self" | "peer"): SubmitLetter => {
    return { to: tickRunId(project, name, one.tick.at), kind: "submit", repeatedBy, owed: one, notAfter };
  };
  const { held } = job.memo;
  // The platform repeats the alarm that fires. Another one would take its place (jobs.md#held-1).
  if (held !== undefined) return [letterOf(held.owed, heldUntil(held.owed.startAt), "peer")];
  const letters = owed
    .filter((one) => submitsAt(job, one) <= now)
    .map((one) => letterOf(one, givenUpAt(job, one), "self"));
  const [late, inTime] = [true, false].map((isLate) => {
    return firstOfVersions(letters.filter(({ notAfter }) => now > notAfter === isLate));
  });
  return [...(inTime ?? []), ...(late ?? [])];
}

/** A version whose runs are not taken, such as by a busy pool, keeps no other one waiting. */
function firstOfVersions(letters: readonly SubmitLetter[]): SubmitLetter[] {
  const taken = new Map<number, number>();
  return letters.filter(({ owed: { version } }) => {
    const before = taken.get(version) ?? 0;
    taken.set(version, before + 1);
    return before < SUBMITTED_AT_ONCE;
  });
}

function startsOf(job: ExistingJob): Instant[] {
  return job.record.owed.map((one) => submitsAt(job, one));
}

function fold(state: JobState, event: JobEvent, now: Instant): JobState {
  if (event.type === "put") return foldPutPaused(state, event, now);
  const { record } = state;
  if (event.type === "listed") return foldListed(state, event.sent);
  const job = jobOf(state);
  if (job === undefined || record === null) return state;
  switch (event.type) {
    case "tick":
    case "woken":
      return state;
    case "pause":
      return beginPause(job, event.by, now);
    case "resume":
      return endPause(job, event.makeUp, now);
    case "remove":
      return changed(job, { removed: { at: now, by: event.by }, owed: [] });
    case "submitted":
      return foldSubmitted(job, event.sent, event.outcome, now);
  }
}

/**
 * Stores what is put, and pauses or resumes the job by the same request. A pause begins before the change: no
 * tick starts any more, not even by the version of before.
 */
function foldPutPaused(state: JobState, put: Put, now: Instant): JobState {
  const { paused, by } = put;
  const existing = jobOf(state);
  const begun = existing !== undefined && paused === true ? beginPause(existing, by, now) : state;
  const stored = foldPut(begun, put, now);
  const job = jobOf(stored);
  if (job === undefined || paused === undefined) return stored;
  return paused ? beginPause(job, by, now) : endPause(job, false, now);
}

/** The words of a refusal may name each type of a pool. */
const MAX_SKIP_TEXT_CHARS = 500;

/** The pool says so of a run whose job has a run that has not ended. */
const OVERLAPS: readonly ErrorCode[] = ["concurrency_held", "concurrency_full"];

/** A run that was made needs nothing more: the pool has it. One that was refused is a skipped tick. */
function foldSubmitted(job: ExistingJob, sent: OwedTick, outcome: TickOutcome, now: Instant): ExistingJob {
  if (outcome.kind === "waits" && sent.otherwise === undefined)
    return foldWait(heldAsOwed(job), sent, outcome.text, now);
  const left = settledHeld(job, sent) ?? withoutOwed(job, sent);
  if (left === job || outcome.kind === "made") return left;
  const { at } = sent.tick;
  if (outcome.kind !== "refused") return foldTooLate(job, left, sent, now);
  const reason = OVERLAPS.includes(outcome.code) ? "overlap" : "refused";
  const text = outcome.text.slice(0, MAX_SKIP_TEXT_CHARS);
  const skip = { from: at, to: at, count: 1, reason, text, at: now } as const;
  return withSkip(left, skip, versionOf(job, sent.version).fields.schedule);
}

/** There is no run, and this submission makes none any more. */
function foldTooLate(job: ExistingJob, left: ExistingJob, sent: OwedTick, now: Instant): ExistingJob {
  // It came on time: from now on it is owed like any other.
  if (job.memo.held !== undefined) return heldAsOwed(job);
  const owed = job.record.owed.find(({ tick }) => tick.at === sent.tick.at);
  // Too late is what was sent while it was held: there is time for another submission.
  if (owed !== undefined && now <= givenUpAt(job, owed)) return job;
  const { otherwise, version } = owed ?? sent;
  const reason = otherwise ?? "not_submitted";
  const skip = storedOf({ from: sent.tick, to: sent.tick, count: 1, reason }, now);
  return withSkip(left, skip, versionOf(job, version).fields.schedule);
}

function foldListed(state: JobState, sent: JobListing): JobState {
  const { record } = state;
  if (record === null) return state;
  const audit = confirmed(record.audit, sent.entries);
  const listed = Math.max(record.listed, sent.revision);
  if (listed === record.listed && audit === record.audit) return state;
  return { ...state, record: { ...record, listed, audit } };
}

/** A removed job is gone once the registry knows that, and has all of its entries. */
function withoutRemoved(state: JobState): JobState {
  const { record } = state;
  if (record?.removed === undefined || listingOf(state) !== undefined) return state;
  for (const { version } of [...state.versions.live()]) state.versions.delete(versionKey(version));
  return { ...state, record: null, memo: {} };
}
