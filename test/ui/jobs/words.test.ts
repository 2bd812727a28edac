import { describe, expect, test } from "vitest";
import { localTime, localWords } from "../../../ui/pages/jobs/local.ts";
import { matching } from "../../../ui/pages/jobs/matching.ts";
import { cronWords, scheduleWords } from "../../../ui/pages/jobs/words.ts";

describe("a schedule in words (jobs.md#schedule)", () => {
  test.each([
    ["30 2 * * *", "daily at 02:30"],
    ["30 2,14 * * *", "daily at 02:30 and 14:30"],
    ["0 9 * * 1-5", "Monday to Friday at 09:00"],
    ["0 9 * * 6,0", "Saturday and Sunday at 09:00"],
    ["0 9 * * 7", "Sunday at 09:00"],
    ["5 4 1 * *", "monthly on day 1 at 04:05"],
    ["0 0 24 12 *", "yearly on 24 December at 00:00"],
    ["* * * * *", "every minute"],
    ["*/15 * * * *", "every 15 minutes"],
    ["*/15 * * * 1-5", "Monday to Friday every 15 minutes"],
    ["0 * * * *", "every hour"],
    ["20 * * * *", "every hour, 20 min. past"],
    ["0 */6 * * *", "every 6 hours"],
    ["@daily", "daily at 00:00"],
    ["@Hourly", "every hour"],
    ["@weekly", "Sunday at 00:00"],
    ["@yearly", "yearly on 1 January at 00:00"],
  ])("%s is %s", (cron, words) => {
    expect(cronWords(cron)).toBe(words);
  });

  test.each([
    // The steps are not the same all round: 49, 56, 0.
    "*/7 * * * *",
    "0 */5 * * *",
    "0 9 13 * 5",
    "0 9 L * *",
    "0 9 * * 5#1",
    "0 9 * * MON",
    "0 9 * * 5-1",
    "0-10 9 * * *",
    "99 9 * * *",
    "0 9 0 * *",
    "0 9 * 6 *",
    "0 9 1 13 *",
    "0 9 * *",
    "0 0 9 * * *",
    "nonsense",
  ])("%s stays as it is", (cron) => {
    expect(cronWords(cron)).toBe(cron);
  });

  test("names its zone, and each of its expressions", () => {
    const cron = ["30 2 * * *", "0 9 * * 1"];
    expect(scheduleWords({ cron, zone: "Europe/Berlin" })).toBe(
      "daily at 02:30; Monday at 09:00, Europe/Berlin",
    );
  });
});

describe("local times", () => {
  test.each([
    ["2026-11-22T02:30:00+01:00", "2026-11-22 02:30:00 +01:00"],
    ["2026-11-22T01:30:00Z", "2026-11-22 01:30:00 UTC"],
    ["no time", "no time"],
  ])("%s is shown as %s", (local, words) => {
    expect(localWords(local)).toBe(words);
  });

  test.each([
    ["Europe/Berlin", "2026-11-22 02:30"],
    ["America/New_York", "2026-11-21 20:30"],
    ["Not/A_Zone", "2026-11-22 01:30 UTC"],
  ])("in %s an instant is %s", (zone, words) => {
    expect(localTime("2026-11-22T01:30:00.000Z", zone)).toBe(words);
  });
});

describe("the list of jobs shows what the address chooses (ui.md#d15)", () => {
  const job = { version: 1, schedule: null, paused: false, next: null, changedAt: "" };
  const jobs = [
    { ...job, name: "nightly", project: "default", pool: "default", description: "Builds all" },
    { ...job, name: "deploy", project: "web", pool: "large", description: "" },
  ];

  test.each([
    [{ text: "", pool: "" }, ["nightly", "deploy"]],
    [{ text: "BUILDS", pool: "" }, ["nightly"]],
    [{ text: "web/", pool: "" }, ["deploy"]],
    [{ text: "", pool: "large" }, ["deploy"]],
    [{ text: "nightly", pool: "large" }, []],
  ])("%j", (filter, names) => {
    expect(matching(jobs, filter).map(({ name }) => name)).toEqual(names);
  });
});
