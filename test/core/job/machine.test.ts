import { describe, expect, test } from "vitest";
import type { JobEvent } from "../../../src/core/job/events.ts";
import { type JobMessage, jobMachine, type SubmitLetter } from "../../../src/core/job/machine.ts";
import { jobView } from "../../../src/core/job/read.ts";
import {
  type JobState,
  MAX_OWED,
  MAX_SKIPS,
  MAX_VERSIONS,
  type VersionRow,
} from "../../../src/core/job/record.ts";
import { runOfJob } from "../../../src/core/job/run-of-job.ts";
import { Rows } from "../../../src/core/rows.ts";
import { JobFields, type JobFieldsInput } from "../../../src/schema/job/job.ts";
import type { JobScheduleInput } from "../../../src/schema/job/schedule.ts";
import { ASK_AGAIN_MS } from "../../../src/shared/jobs/to-follow.ts";
import { check } from "../../../src/shared/machine.ts";
import { MapDisk } from "../support/map-disk.ts";

// What a job decides, event by event (jobs.md#the-job). No clock, no network.

const NOON = Date.parse("2026-11-22T12:00:00Z");
const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const fieldsOf = (schedule: Partial<JobScheduleInput> | null = {}, more: Partial<JobFieldsInput> = {}) =>
  JobFields.parse({
    spec: { argv: ["true"] },
    ...(schedule === null ? {} : { schedule: { cron: "* * * * *", zone: "UTC", ...schedule } }),
    ...more,
  });

/** A job that was stored at noon, to which things happen. */
class Story {
  state: JobState = { record: null, versions: new Rows(new MapDisk<VersionRow>(), () => true), memo: {} };

  constructor(schedule: Partial<JobScheduleInput> | null = {}) {
    this.put(NOON, fieldsOf(schedule));
  }

  at(now: number, event: JobEvent = { type: "tick" }): this {
    const before = this.state;
    this.state = jobMachine.apply(before, event, now);
    expect(check(jobMachine, before, this.state, now)).toEqual([]);
    return this;
  }

  put(now: number, fields: JobFields, paused?: boolean): this {
    const named = { name: "nightly", project: "default" };
    return this.at(now, { type: "put", ...named, fields, paused, by: "user", budget: null });
  }

  due(now: number): JobMessage[] {
    return jobMachine.due(this.state, now);
  }

  submissions(now: number): SubmitLetter[] {
    return this.due(now).filter((letter) => letter.kind === "submit");
  }

  /** Every run that is to be submitted is answered like this. */
  answered(
    now: number,
    outcome: Extract<JobEvent, { type: "submitted" }>["outcome"] = { kind: "made" },
  ): this {
    for (const { owed } of this.submissions(now)) this.at(now, { type: "submitted", sent: owed, outcome });
    return this;
  }

  get record() {
    const { record } = this.state;
    if (record === null) throw new Error("the job is gone");
    return record;
  }

  get owed() {
    return this.record.owed.map(({ tick, version }) => [(tick.at - NOON) / MINUTE, version]);
  }

  get skips() {
    return this.record.skips.map(({ from, to, count, reason }) => {
      return [(from - NOON) / MINUTE, (to - NOON) / MINUTE, count, reason];
    });
  }

  /** The object is evicted: only what is stored is left. */
  evicted(): this {
    this.state = { ...this.state, memo: {} };
    return this;
  }
}

describe("a tick (jobs.md#ticks)", () => {
  test("is owed until its run has answered, through evictions, and then is not looked at again", () => {
    const story = new Story().at(NOON + MINUTE).evicted();
    expect(story.submissions(NOON + MINUTE)).toMatchObject([{ to: "nightly-at-20261122t1201z" }]);
    story
      .at(NOON + MINUTE + SECOND)
      .answered(NOON + MINUTE + SECOND)
      .evicted();
    expect(story.at(NOON + MINUTE + 2 * SECOND).owed).toEqual([]);
    expect(story.at(NOON).owed).toEqual([]);
  });

  test("case 7: while a run goes on the next tick is skipped as an overlap, after an eviction too", () => {
    const story = new Story()
      .at(NOON + MINUTE)
      .answered(NOON + MINUTE)
      .evicted()
      .at(NOON + 2 * MINUTE);
    const text = "the concurrency key has no slot";
    story.answered(NOON + 2 * MINUTE, { kind: "refused", code: "concurrency_held", text });
    expect(story.skips).toEqual([[2, 2, 1, "overlap"]]);
    expect(story.record.skips[0]?.text).toBe(text);
  });

  test("is shown as the next one until it starts, whatever its jitter (jobs.md#tick-3)", () => {
    const story = new Story({ cron: "0 * * * *", jitter: "50m" }).at(NOON + HOUR + SECOND);
    const [next] = jobView({ ...story.state, record: story.record }, NOON + HOUR + SECOND).next;
    expect([next?.at, story.owed]).toEqual([new Date(NOON + HOUR).toISOString(), []]);
    expect(Date.parse(next?.startAt ?? "")).toBeGreaterThan(NOON + HOUR + SECOND);
  });

  test("case 12: a late run sees its tick", () => {
    const cause = { job: "nightly", version: 1, tick: NOON, isScheduled: true };
    const { values } = runOfJob(fieldsOf(), {}, cause);
    expect(values?.env).toMatchObject({ DROVER_SCHEDULED_AT: "2026-11-22T12:00:00.000Z" });
    expect(values?.labels).toMatchObject({ "drover.tick": "2026-11-22T12:00:00.000Z" });
    expect(values?.concurrency).toEqual({ key: "job:nightly", limit: 1, strategy: "cancel-new" });
  });

  test("waits for a busy pool, and its run says when that was for too long (jobs.md#not-submitted)", () => {
    const story = new Story({ cron: "0 * * * *", catchUp: "2m" }).at(NOON + HOUR);
    const [letter] = story.submissions(NOON + HOUR + 90 * SECOND);
    expect(letter?.notAfter).toBe(NOON + HOUR + 2 * MINUTE);
    expect(story.at(NOON + HOUR + 10 * MINUTE).owed).toEqual([[60, 1]]);
    story.answered(NOON + HOUR + 10 * MINUTE, { kind: "too_late" });
    expect([story.owed, story.skips]).toEqual([[], [[60, 60, 1, "not_submitted"]]]);
  });

  test("that is too late keeps none waiting that is in time", () => {
    const story = new Story({ catchUp: "1m" });
    for (let minute = 1; minute <= 8; minute += 1) story.at(NOON + minute * MINUTE);
    const sent = story.submissions(NOON + 8 * MINUTE).map(({ to }) => to.slice(-3));
    expect(sent).toEqual(["07z", "08z", "01z", "02z", "03z", "04z"]);
  });
});

describe("a change (jobs.md#versions)", () => {
  test("is not kept waiting by ticks of the version of before, whose pool takes none", () => {
    const story = new Story({ overlap: "allow" });
    for (let minute = 1; minute <= 6; minute += 1) story.at(NOON + minute * MINUTE);
    story.put(NOON + 6 * MINUTE + 1, fieldsOf({ overlap: "allow" }, { description: "another pool" }));
    const sent = story.at(NOON + 7 * MINUTE).submissions(NOON + 7 * MINUTE);
    expect(sent.map(({ owed: { version } }) => version)).toEqual([1, 1, 1, 1, 2]);
  });

  test("of the schedule after days of absence leaves each tick of before its run or its reason", () => {
    const days = 3 * 1_440;
    const story = new Story({ missed: "one" });
    story.put(NOON + days * MINUTE + 1, fieldsOf({ cron: "0 0 * * *" }));
    const skipped = story.record.skips.reduce((sum, { count }) => sum + count, 0);
    expect([story.owed, skipped]).toEqual([[[days, 1]], days - 1]);
    expect(story.skips[0]?.[0]).toBe(1);
  });

  test.each([
    ["other commands", {}, [[1, 1]]],
    ["another schedule", { cron: "0 0 * * *" }, [[1, 1]]],
  ])("case 9: to %s leaves a tick within its jitter to the version of its time", (_, schedule, owed) => {
    const story = new Story({ jitter: "50s" }).at(NOON + MINUTE);
    expect(story.owed).toEqual([]);
    story.put(NOON + MINUTE + 1, fieldsOf({ jitter: "50s", ...schedule }, { description: "other" }));
    expect(story.owed).toEqual(owed);
    expect(story.submissions(NOON + MINUTE + 1)).toEqual([]);
    expect(story.submissions(NOON + 2 * MINUTE - 1)).toHaveLength(1);
  });

  test("with the same fields, in whatever order, is none", () => {
    const { schedule, spec, ...rest } = fieldsOf();
    const story = new Story();
    const { revision } = story.record;
    story.put(NOON + SECOND, { spec, ...rest, schedule });
    expect([story.record.version, story.record.revision]).toEqual([1, revision]);
  });

  test(`keeps ${MAX_VERSIONS} versions, and those of owed ticks`, () => {
    const story = new Story().at(NOON + MINUTE);
    const change = (n: number) => story.put(NOON + MINUTE + n, fieldsOf({}, { description: `${n}` }));
    for (let n = 1; n <= MAX_VERSIONS + 10; n += 1) change(n);
    const kept = () => [...story.state.versions.live()].map(({ version }) => version).sort((a, b) => a - b);
    expect(kept()[0]).toBe(1);
    story.answered(NOON + 2 * MINUTE - 1);
    change(MAX_VERSIONS + 11);
    expect([kept().length, kept()[0]]).toEqual([MAX_VERSIONS, 13]);
  });

  test("of a paused job's schedule skips the ticks of the pause", () => {
    const story = new Story().at(NOON + SECOND, { type: "pause", by: "user" });
    story.put(NOON + 3 * MINUTE + SECOND, fieldsOf({ cron: "0 0 * * *" }));
    expect([story.skips, story.owed]).toEqual([[[1, 3, 3, "paused"]], []]);
  });
});

describe("a pause (jobs.md#paused)", () => {
  const paused = (schedule = {}) => new Story(schedule).at(NOON + SECOND, { type: "pause", by: "user" });
  const AS_PAUSED = { action: "job.put", reason: "version 1, paused" };
  const resume = { type: "resume", by: "user", makeUp: false } as const;

  test("case 10: of three days is followed by no storm", () => {
    const end = NOON + 3 * 24 * HOUR + SECOND;
    const story = paused()
      .at(end - HOUR)
      .at(end, resume);
    expect([story.owed, story.skips]).toEqual([[], [[1, 4_320, 4_320, "paused"]]]);
  });

  test("of months counts those of a week, and says the first and the last", () => {
    const story = paused().at(NOON + 90 * 24 * HOUR, resume);
    expect(story.skips).toMatchObject([[1, 90 * 1_440, expect.any(Number), "paused"]]);
    expect(story.at(NOON + 90 * 24 * HOUR + MINUTE).owed).toEqual([[90 * 1_440 + 1, 1]]);
  });

  test("that ends within the jitter of a tick leaves that tick its run", () => {
    const story = paused({ jitter: "50s" }).at(NOON + 3 * MINUTE + 1, resume);
    expect(story.skips).toEqual([[1, 2, 2, "paused"]]);
    expect(story.at(NOON + 4 * MINUTE - 1).owed).toEqual([[3, 1]]);
  });

  test("comes and goes with a put, whose other fields are the same", () => {
    const story = new Story().put(NOON + SECOND, fieldsOf(), true);
    expect([story.record.version, story.record.paused]).toEqual([1, { at: NOON + SECOND, by: "user" }]);
    story.put(NOON + 2 * SECOND, fieldsOf(), true);
    story.put(NOON + 3 * MINUTE + SECOND, fieldsOf());
    expect(story.record).toMatchObject({ paused: { at: NOON + SECOND }, audit: { owed: [{}, AS_PAUSED] } });
    story.put(NOON + 3 * MINUTE + 2 * SECOND, fieldsOf(), false);
    expect([story.record.paused, story.owed, story.skips]).toEqual([null, [], [[1, 3, 3, "paused"]]]);
    expect(story.at(NOON + 4 * MINUTE).owed).toEqual([[4, 1]]);
  });

  test("ends with a put that has another schedule, which skips the ticks of the pause", () => {
    const story = paused().put(NOON + 3 * MINUTE + SECOND, fieldsOf({ cron: "30 * * * *" }), false);
    expect([story.owed, story.skips]).toEqual([[], [[1, 3, 3, "paused"]]]);
    expect(story.at(NOON + 30 * MINUTE).owed).toEqual([[30, 2]]);
  });

  test("begins with a put of another version: no tick starts any more, nor one within its jitter", () => {
    const other = fieldsOf({ jitter: "50s" }, { description: "other" });
    const story = new Story({ jitter: "50s" }).put(NOON + MINUTE + 1, other, true);
    expect(story.at(NOON + 3 * MINUTE).owed).toEqual([]);
    expect(story.at(NOON + 3 * MINUTE + 1, resume).skips).toEqual([[1, 2, 2, "paused"]]);
  });

  test("leaves what is owed: a tick that came before is submitted", () => {
    const story = new Story().at(NOON + MINUTE).at(NOON + MINUTE + 1, { type: "pause", by: "user" });
    expect(story.submissions(NOON + MINUTE + 1)).toHaveLength(1);
    expect(jobMachine.wakeAt(story.answered(NOON + MINUTE + 2).state)).toBeUndefined();
  });
});

describe("a tick that waits for the run of another job (jobs.md#following)", () => {
  const waits = { kind: "waits", text: "names job" } as const;
  const waiting = () => new Story({ catchUp: "2m" }).at(NOON + MINUTE).answered(NOON + MINUTE, waits);

  test("is asked about again, and takes no place from ticks that need not wait", () => {
    const story = waiting();
    expect(story.submissions(NOON + MINUTE + ASK_AGAIN_MS - 1)).toEqual([]);
    expect(jobMachine.wakeAt(story.state)).toBe(NOON + MINUTE + ASK_AGAIN_MS);
    expect(story.submissions(NOON + MINUTE + ASK_AGAIN_MS)).toHaveLength(1);
    expect(story.evicted().submissions(NOON + MINUTE + 1)).toHaveLength(1);
  });

  test("is submitted once the other run is there, and then waits for nothing", () => {
    const story = waiting().answered(NOON + MINUTE + ASK_AGAIN_MS);
    expect([story.owed, story.skips]).toEqual([[], []]);
  });

  test("says for what it waits, and after `catchUp` is skipped with that", () => {
    const story = waiting();
    const shown = jobView({ ...story.state, record: story.record }, NOON + MINUTE + 1);
    expect(shown.waiting).toMatchObject([{ text: "names job" }]);
    story.at(NOON + 2 * MINUTE).answered(NOON + 3 * MINUTE, waits);
    expect(story.skips).toEqual([]);
    story.answered(NOON + 3 * MINUTE + ASK_AGAIN_MS, waits);
    expect(story.skips).toEqual([[1, 1, 1, "not_submitted"]]);
    expect(story.record.skips[0]?.text).toContain("names job");
  });

  test("is gone with its job", () => {
    const story = waiting().at(NOON + MINUTE + 1, { type: "remove", by: "user" });
    expect(jobMachine.wakeAt(story.state)).toBeUndefined();
  });
});

describe("the end of a job (jobs.md#the-job)", () => {
  test("in the middle of a tick makes no more runs, whatever is answered", () => {
    const story = new Story().at(NOON + MINUTE);
    const [sent] = story.submissions(NOON + MINUTE);
    story.at(NOON + MINUTE + 1, { type: "remove", by: "user" });
    expect(story.submissions(NOON + HOUR)).toEqual([]);
    if (sent !== undefined)
      story.at(NOON + HOUR, { type: "submitted", sent: sent.owed, outcome: { kind: "too_late" } });
    expect(jobMachine.wakeAt(story.state)).toBeUndefined();
  });

  test("waits for the registry, which is asked again until it has answered, and then nothing is left", () => {
    const story = new Story().at(NOON + SECOND, { type: "remove", by: "user" });
    const [letter] = story.evicted().due(NOON + HOUR);
    if (letter?.kind !== "list") throw new Error("the registry is told nothing");
    expect(letter.listing.job).toBeNull();
    story.at(NOON + HOUR, { type: "listed", sent: letter.listing });
    expect([story.state.record, [...story.state.versions.live()]]).toEqual([null, []]);
  });
});

const refusedAs = (text: string) => ({ kind: "refused", code: "unknown_pool", text }) as const;

test("ticks in a row that are refused with the same words are one stretch (jobs.md#skips)", () => {
  const story = new Story({ overlap: "allow" });
  for (let minute = 1; minute <= 5; minute += 1) {
    const outcome = minute === 3 ? ({ kind: "made" } as const) : refusedAs("there is no pool");
    story.at(NOON + minute * MINUTE).answered(NOON + minute * MINUTE, outcome);
  }
  story.at(NOON + 6 * MINUTE).answered(NOON + 6 * MINUTE, refusedAs("x".repeat(10_000)));
  const stretches = [
    [1, 2, 2, "refused"],
    [4, 5, 2, "refused"],
    [6, 6, 1, "refused"],
  ];
  expect(story.skips).toEqual(stretches);
  expect(story.record.skips.at(-1)?.text).toHaveLength(500);
});

test(`at most ${MAX_OWED} ticks are owed; later ones wait (jobs.md#state)`, () => {
  const story = new Story({ overlap: "allow", missed: "all", catchUp: "31d" });
  for (let minute = 1; minute <= MAX_OWED + 50; minute += 1) story.at(NOON + minute * MINUTE);
  const now = NOON + (MAX_OWED + 50) * MINUTE;
  expect(story.record.owed).toHaveLength(MAX_OWED);
  expect(jobMachine.wakeAt(story.state)).toBeLessThanOrEqual(now);
  while (story.submissions(now).length > 0) story.answered(now);
  story.at(now + MINUTE);
  expect([story.record.since.at, story.skips]).toEqual([now + MINUTE, []]);
});

test(`at most ${MAX_SKIPS} stretches of skipped ticks are kept, the latest (jobs.md#skips)`, () => {
  const story = new Story({ overlap: "allow" });
  for (let minute = 1; minute <= MAX_SKIPS + 5; minute += 1)
    story
      .at(NOON + minute * MINUTE)
      .answered(NOON + minute * MINUTE, refusedAs(`there is no pool ${minute}`));
  expect(story.skips).toHaveLength(MAX_SKIPS);
  expect(story.skips[0]).toEqual([6, 6, 1, "refused"]);
});
