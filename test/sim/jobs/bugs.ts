import type { JobEvent } from "../../../src/core/job/events.ts";
import { toFollow } from "../../../src/core/job/followed/to-follow.ts";
import type { JobRecord, JobState } from "../../../src/core/job/record.ts";
import { type Machines, REAL_MACHINES } from "../objects.ts";
import type { JobMachine } from "./node.ts";

const { job } = REAL_MACHINES;

function withJob(bug: Partial<JobMachine>): Machines {
  return { ...REAL_MACHINES, job: { ...job, ...bug } };
}

/** The state with another record. */
function changed(state: JobState, change: (record: JobRecord) => Partial<JobRecord>): JobState {
  return state.record === null ? state : { ...state, record: { ...state.record, ...change(state.record) } };
}

/** Bugs of jobs, put in by hand: stories with jobs must find them. */
export const JOB_BUGS: Record<string, Machines> = {
  /** A tick is taken for settled when its run is submitted, whether there is an answer or not (rule R1). */
  "a run that is submitted once": withJob({
    apply(before, event, now) {
      const after = job.apply(before, event, now);
      const sent = new Set(before.record?.owed.map(({ tick }) => tick.at));
      return event.type === "tick"
        ? changed(after, ({ owed }) => ({ owed: owed.filter(({ tick }) => !sent.has(tick.at)) }))
        : after;
    },
  }),
  /** A tick that waits for its run gets the version that the job has by then (jobs.md#versions). */
  "ticks with the version of later": withJob({
    apply(before, event, now) {
      const after = job.apply(before, event, now);
      return changed(after, ({ owed, version }) => ({ owed: owed.map((one) => ({ ...one, version })) }));
    },
  }),
  /** A change of the job is stored before the ticks that have come are (jobs.md#tick-1). */
  "a change that comes before its ticks": withJob({
    apply(before, event, now) {
      const isChange = event.type === "put" && before.record !== null && before.record.removed === undefined;
      return job.apply(isChange ? changed(before, () => ({ since: { at: now } })) : before, event, now);
    },
  }),
  /** A tick whose run could not be made in time is dropped without a word (jobs.md#skips). */
  "ticks that nobody hears of": withJob({
    apply(before, event, now) {
      const after = job.apply(before, event, now);
      const skips = before.record?.skips ?? [];
      return event.type === "submitted" ? changed(after, () => ({ skips })) : after;
    },
  }),
  /** An owed tick is given up by the clock, though its run may have been made (jobs.md#not-submitted). */
  "a tick that is given up unasked": withJob({
    apply: (before, event, now) => job.apply(givenUp(before, event, now), event, now),
  }),
  /** A late tick is skipped though its run may have been made before a crash (jobs.md#held-2). */
  "a held tick that nobody asks about": withJob({
    apply(before, event, now) {
      const after = job.apply(before, event, now);
      const [asked] = after.record?.owed.filter(({ otherwise }) => otherwise !== undefined) ?? [];
      if (asked === undefined || event.type === "submitted") return after;
      return job.apply(after, { type: "submitted", sent: asked, outcome: { kind: "too_late" } }, now);
    },
  }),
  /** A job that is paused owes what comes during the pause (jobs.md#paused). */
  "a pause that nobody sees": withJob({
    apply(before, event, now) {
      const { paused = null } = before.record ?? {};
      if (event.type !== "tick" || paused === null) return job.apply(before, event, now);
      const awake = changed({ ...before, memo: {} }, () => ({ paused: null }));
      return changed(job.apply(awake, event, now), () => ({ paused }));
    },
  }),
  /** A run follows what is there, and not what its job is about to submit (jobs.md#following). */
  "a follower that takes what is there": withJob({
    toFollow: ({ record }, ...rest) =>
      toFollow({ record: { ...record, owed: [] }, schedule: undefined }, ...rest),
  }),
  /** The ticks of a pause are passed over at its end without a word (jobs.md#skips). */
  "a pause that ends in silence": withJob({
    apply(before, event, now) {
      const isEnd = event.type === "resume" && before.record?.paused != null;
      return job.apply(isEnd ? changed(before, () => ({ since: { at: now } })) : before, event, now);
    },
  }),
};

function givenUp(state: JobState, event: JobEvent, now: number): JobState {
  const late = state.record?.owed.find(({ startAt }) => startAt < now - 60_000);
  if (late === undefined || event.type === "submitted") return state;
  const outcome = { kind: "too_late" as const };
  return job.apply(state, { type: "submitted", sent: late, outcome }, now);
}
