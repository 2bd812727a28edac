import { describe, expect, test } from "vitest";
import type { JobEvent, TickOutcome } from "../../../src/core/job/events.ts";
import { jobMachine, type SubmitLetter } from "../../../src/core/job/machine.ts";
import type { JobState, VersionRow } from "../../../src/core/job/record.ts";
import { Rows } from "../../../src/core/rows.ts";
import { JobFields } from "../../../src/schema/job/job.ts";
import type { JobScheduleInput } from "../../../src/schema/job/schedule.ts";
import { check } from "../../../src/shared/machine.ts";
import { MapDisk } from "../support/map-disk.ts";

// The alarm fires, and a run is submitted before its tick is stored (jobs.md#held). The object may die then.

const NOON = Date.parse("2026-11-22T12:00:00Z");
const SECOND = 1_000;
const MINUTE = 60_000;
const TICK = NOON + MINUTE;

class Story {
  state: JobState = { record: null, versions: new Rows(new MapDisk<VersionRow>(), () => true), memo: {} };

  constructor(schedule: Partial<JobScheduleInput> = {}) {
    const whole = { cron: "* * * * *", zone: "UTC", ...schedule };
    const fields = JobFields.parse({ spec: { argv: ["true"] }, schedule: whole });
    const put = { type: "put", name: "nightly", project: "default", by: "user", budget: null } as const;
    this.at(NOON, { ...put, fields });
    const listed = jobMachine.due(this.state, NOON).find((letter) => letter.kind === "list");
    if (listed?.kind === "list") this.at(NOON, { type: "listed", sent: listed.listing });
  }

  at(now: number, event: JobEvent = { type: "woken" }): this {
    const before = this.state;
    this.state = jobMachine.apply(before, event, now);
    expect(check(jobMachine, before, this.state, now)).toEqual([]);
    return this;
  }

  /** Only what is stored is left. */
  dies(): this {
    this.state = { ...this.state, memo: {} };
    return this;
  }

  sent(now: number): SubmitLetter[] {
    return jobMachine.due(this.state, now).filter((letter) => letter.kind === "submit");
  }

  answered(now: number, outcome: TickOutcome): this {
    for (const { owed } of this.sent(now)) this.at(now, { type: "submitted", sent: owed, outcome });
    return this;
  }

  get record() {
    const { record } = this.state;
    if (record === null) throw new Error("the job is gone");
    return record;
  }

  get skips() {
    return this.record.skips.map(({ from, to, count, reason }) => {
      return [(from - NOON) / MINUTE, (to - NOON) / MINUTE, count, reason];
    });
  }
}

const made = { kind: "made" } as const;
const tooLate = { kind: "too_late" } as const;

describe("a tick whose alarm fires on time (jobs.md#held-1)", () => {
  test("is submitted before anything is stored, and stored once, with the answer", () => {
    const story = new Story();
    const { record } = story;
    story.at(TICK);
    expect(story.record).toBe(record);
    expect(story.sent(TICK)).toMatchObject([{ repeatedBy: "peer", notAfter: TICK + MINUTE }]);
    expect(jobMachine.wakeAt(story.state)).toBeUndefined();
    story.answered(TICK + 20, made);
    expect(story.record).toEqual({ ...record, since: { at: TICK, local: "2026-11-22T12:01:00+00:00" } });
    expect(jobMachine.wakeAt(story.state)).toBe(TICK + MINUTE);
  });

  test.each([
    ["a refusal", { kind: "refused", code: "concurrency_held", text: "x" }, [[1, 1, 1, "overlap"]], 0],
    ["no run by then: it came on time, and is owed", tooLate, [], 1],
  ] as const)("stores what comes of it: %s", (_, outcome, skips, owed) => {
    const story = new Story().at(TICK).answered(TICK + 20, outcome);
    expect([story.skips, story.record.owed.length]).toEqual([skips, owed]);
  });

  const others: [string, JobEvent][] = [
    ["somebody reads the job", { type: "tick" }],
    ["the alarm fires again", { type: "woken" }],
    ["the job is paused", { type: "pause", by: "user" }],
  ];
  test.each(others)("is stored as owed if %s before there is an answer", (_, event) => {
    const story = new Story().at(TICK).at(TICK + 10, event);
    expect(story.record).toMatchObject({ since: { at: TICK }, owed: [{ tick: { at: TICK }, version: 1 }] });
    expect(story.sent(TICK + 10)).toMatchObject([{ repeatedBy: "self" }]);
  });

  test("that was owed meanwhile is submitted again if what was sent first was too late", () => {
    const story = new Story({ cron: "1 12 * * *", catchUp: "1h" }).at(TICK + 58 * SECOND);
    const [first] = story.sent(TICK + 58 * SECOND);
    if (first === undefined) throw new Error("nothing was submitted");
    story.at(TICK + 59 * SECOND, { type: "tick" });
    story.at(TICK + 62 * SECOND, { type: "submitted", sent: first.owed, outcome: tooLate });
    expect([story.skips, story.record.owed.length]).toEqual([[], 1]);
    expect(story.sent(TICK + 62 * SECOND)).toMatchObject([{ notAfter: TICK + 60 * MINUTE }]);
    story.answered(TICK + 60 * MINUTE + 1, tooLate);
    expect(story.skips).toContainEqual([1, 1, 1, "not_submitted"]);
  });

  test("is owed at once if another one waits for its run", () => {
    const story = new Story({ catchUp: "1h" }).at(TICK).at(TICK + SECOND, { type: "tick" });
    story.at(TICK + MINUTE);
    expect(story.record.owed).toHaveLength(2);
  });
});

describe("an object that dies while it holds a tick (jobs.md#held-2)", () => {
  test("holds it again, and finds the run that it has made", () => {
    const story = new Story()
      .at(TICK)
      .dies()
      .at(TICK + 2 * SECOND);
    expect(story.sent(TICK + 2 * SECOND).map(({ to }) => to)).toEqual(["nightly-at-20261122t1201z"]);
    story.answered(TICK + 3 * SECOND, made);
    expect([story.record.owed, story.skips]).toEqual([[], []]);
  });

  const LATE = TICK + 10 * MINUTE + 90 * SECOND;
  test.each([
    ["skip", "0s", made, [[2, 11, 10, "missed"]]],
    ["skip", "0s", tooLate, [[1, 11, 11, "missed"]]],
    ["one", "2m", made, [[2, 10, 9, "too_old"]]],
    ["one", "2m", tooLate, [[1, 10, 10, "too_old"]]],
  ] as const)("and comes back after minutes: with `missed: %s` its run is asked (%s, %j)", (...given) => {
    const [missed, catchUp, outcome, skips] = given;
    const story = new Story({ missed, catchUp }).at(TICK).dies().at(LATE);
    const [asked] = story.sent(LATE).filter(({ owed }) => owed.tick.at === TICK);
    // Neither is a run made by this, nor by what was sent before.
    expect(asked?.notAfter).toBe(TICK + MINUTE);
    if (asked !== undefined) story.at(LATE, { type: "submitted", sent: asked.owed, outcome });
    expect(story.skips.filter(([, , , reason]) => reason !== "superseded")).toEqual(skips);
  });

  test("is asked for it by an object that has looked before the tick, as the clock went back", () => {
    const story = new Story({ missed: "skip" }).at(TICK).dies();
    story.at(TICK - 15 * SECOND).at(LATE);
    story.answered(LATE, made);
    expect(story.skips).toEqual([[2, 11, 10, "missed"]]);
  });

  test.each([
    [made, [[2, 2, 1, "paused"]]],
    [tooLate, [[1, 2, 2, "paused"]]],
  ] as const)(
    "is asked for it at the end of a pause that began as the clock went back: %j",
    (outcome, skips) => {
      const story = new Story()
        .at(TICK)
        .dies()
        .at(TICK - 15 * SECOND, { type: "pause", by: "user" });
      const end = TICK + 90 * SECOND;
      story.at(end, { type: "resume", makeUp: false, by: "user" });
      expect(story.sent(end)).toMatchObject([{ owed: { tick: { at: TICK } }, notAfter: 0 }]);
      story.answered(end, outcome);
      expect([story.skips, story.record.owed]).toEqual([skips, []]);
    },
  );

  test("in whose place one that has looked before asks nobody", () => {
    const story = new Story({ missed: "skip" }).at(NOON + SECOND).at(LATE);
    expect(story.sent(LATE).map(({ owed }) => owed.otherwise)).not.toContain("missed");
  });
});
