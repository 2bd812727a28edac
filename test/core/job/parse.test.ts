import { describe, expect, test } from "vitest";
import { scheduleProblems } from "../../../src/core/job/schedule/parse.ts";
import { JobSchedule } from "../../../src/schema/job/schedule.ts";
import { MAX_CATCH_UP, MAX_CRONS, MAX_JITTER } from "../../../src/shared/jobs/limits.ts";
import { schedule } from "./support/schedule.ts";

const NOW = Date.parse("2026-11-22T12:00:00Z");

/** What is wrong with a schedule: `/field: why`. */
function problemsOf(cron: string | string[], more: object = {}): string[] {
  return scheduleProblems(schedule(cron, more), NOW).map(({ pointer, detail }) => `${pointer}: ${detail}`);
}

test.each([
  "* * * * *",
  "30 2 * * *",
  "*/5 8-18 * * MON-FRI",
  "0 0 1,15 * *",
  "0 0 L * *",
  "0 0 * * 1#1",
  "0 0 15W * *",
  "0 0 * * 7",
  "0 0 29 2 *",
  "@daily",
  "@HOURLY",
  "  0   0 * * *  ",
])("%j is a schedule (jobs.md#schedule)", (cron) => {
  expect(problemsOf(cron)).toEqual([]);
  expect(problemsOf([cron, cron])).toEqual([]);
});

describe("refused, with what to do (jobs.md#schedule)", () => {
  test.each([
    ["a day that never comes", "0 0 31 2 *", "has no tick within the next five years: check day, month and"],
    ["one that comes too rarely", "0 0 29 2 +MON", "has no tick within the next five years"],
    ["one of two months without it", "0 0 31 4,6 *", "has no tick within the next five years"],
    [
      "seconds",
      "*/10 * * * * *",
      "has 6 fields, and a schedule has five (minute, hour, day, month, weekday)",
    ],
    ["seconds and years", "0 0 0 1 1 * 2030", "has 7 fields"],
    ["too few fields", "0 0 * *", 'must have five fields (minute, hour, day, month, weekday), such as "30 2'],
    ["an instant", "2026-12-01T00:00:00", "must have five fields"],
    ["a nickname that nobody knows", "@fortnightly", "is no nickname that Drover knows: use one of @yearly"],
    ["the start of a machine", "@reboot", "is no nickname that Drover knows"],
    ["a minute that is none", "60 * * * *", "has the minute 60, but a minute is from 0 to 59"],
    ["an hour that is none", "0 24 * * *", "has the hour 24, but a hour is from 0 to 23"],
    ["a day that is none", "0 0 32 * *", "has the day 32, but a day is from 1 to 31"],
    ["day 0", "0 0 0 * *", "has the day 0, but a day is from 1 to 31"],
    ["a month that is none", "0 0 1 13 *", "has the month 13, but a month is from 1 to 12"],
    ["a weekday that is none", "0 0 * * 8", "has the weekday 8, but a weekday is from 0 to 7"],
    [
      "a range that goes back",
      "0 18-8 * * *",
      "is not a cron expression: From value is larger than to value",
    ],
    ["a step of nothing", "*/0 * * * *", "is not a cron expression: Syntax error, illegal stepping: 0"],
    ["words", "at two in the morning", "is not a cron expression: "],
  ])("%s: %s", (_what, cron, detail) => {
    expect(problemsOf(cron)).toEqual([expect.stringContaining(`/cron: ${detail}`)]);
    expect(problemsOf(["0 0 * * *", cron], { zone: "Asia/Tehran" })).toEqual([
      expect.stringContaining(`/cron/1: ${detail}`),
    ]);
  });

  test.each([
    ["Berlin", 'is not a time zone: did you mean "Europe/Berlin"?'],
    ["+01:00", 'is not a time zone: write a name of the IANA time zone database, such as "Europe/Berlin"'],
  ])("the zone %s", (zone, detail) => {
    expect(problemsOf("0 0 * * *", { zone })).toEqual([expect.stringContaining(`/zone: ${detail}`)]);
  });

  test("everything that is wrong is said at once", () => {
    expect(problemsOf(["60 * * * *", "0 0 31 2 *"], { zone: "Nowhere" })).toHaveLength(3);
  });

  test.each([
    ["ends before it begins", "2027-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "must be later than `from`"],
    ["ends as it begins", "2027-01-01T00:00:00Z", "2027-01-01T00:00:00Z", "must be later than `from`"],
    ["has no tick in between", "2027-01-01T00:00:01Z", "2027-01-02T00:00:00Z", "leaves no tick between"],
  ])("a schedule that %s", (_what, from, until, detail) => {
    expect(problemsOf("0 0 * * *", { from, until })).toEqual([expect.stringContaining(`/until: ${detail}`)]);
  });
});

test("what was accepted once is accepted after its end, too", () => {
  expect(problemsOf("0 0 * * *", { until: "2020-01-01T00:00:00Z" })).toEqual([]);
  expect(problemsOf("0 0 * * *", { from: "2019-01-01T00:00:00Z", until: "2020-01-01T00:00:00Z" })).toEqual(
    [],
  );
});

describe("the fields of a schedule", () => {
  const isTaken = (fields: object) =>
    JobSchedule.safeParse({ cron: "0 0 * * *", zone: "UTC", ...fields }).success;

  test("have defaults, but for the zone", () => {
    expect(JobSchedule.parse({ cron: "0 0 * * *", zone: "UTC" })).toEqual({
      cron: "0 0 * * *",
      zone: "UTC",
      jitter: "0s",
      overlap: "skip",
      missed: "one",
      catchUp: "1h",
    });
    expect(isTaken({ zone: undefined })).toBe(false);
  });

  test.each([
    ["as many expressions as possible", { cron: Array(MAX_CRONS).fill("@daily") }, true],
    ["one more", { cron: Array(MAX_CRONS + 1).fill("@daily") }, false],
    ["no expression", { cron: [] }, false],
    ["an empty one", { cron: "" }, false],
    ["the longest jitter", { jitter: MAX_JITTER }, true],
    ["a longer one", { jitter: "24h1ms" }, false],
    ["the longest time to catch up", { catchUp: MAX_CATCH_UP }, true],
    ["a longer one", { catchUp: "31d1ms" }, false],
    ["no time to catch up", { catchUp: "0s" }, true],
    ["an instant with an offset", { from: "2026-11-22T12:00:00+01:00" }, false],
    ["a field that is none", { timezone: "UTC" }, false],
    ["an overlap that is none", { overlap: "forbid" }, false],
  ])("%s: %j is taken: %j", (_what, fields, taken) => {
    expect(isTaken(fields)).toBe(taken);
  });
});
