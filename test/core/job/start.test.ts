import { describe, expect, test } from "vitest";
import { nextStarts, startOf } from "../../../src/core/job/schedule/start.ts";
import { DAY, HOUR, schedule } from "./support/schedule.ts";

const MIDNIGHT = Date.parse("2026-11-22T00:00:00Z");

describe("case 11: 10,000 jobs have a tick at 00:00 (jobs.md#jitter)", () => {
  const JOBS = 10_000;
  const MINUTES = 10;
  const daily = schedule("0 0 * * *", { jitter: "10m" });
  const startsOf = (names: string[]) =>
    names.map((name) => startOf(daily, { at: MIDNIGHT }, { at: MIDNIGHT + DAY }, name) - MIDNIGHT);

  test.each([
    ["numbers at their ends", (i: number) => `nightly-${i}`],
    ["numbers with zeros", (i: number) => `${String(i).padStart(5, "0")}-backup`],
    ["names of teams", (i: number) => `team-${i % 100}-job-${Math.floor(i / 100)}`],
  ])("jobs with %s start evenly over their jitter", (_what, nameOf) => {
    const starts = startsOf(Array.from({ length: JOBS }, (_, i) => nameOf(i)));
    const perMinute = Array.from({ length: MINUTES }, () => 0);
    for (const start of starts) {
      expect(start).toBeGreaterThanOrEqual(0);
      expect(start).toBeLessThan(MINUTES * 60_000);
      const minute = Math.floor(start / 60_000);
      perMinute[minute] = (perMinute[minute] ?? 0) + 1;
    }
    // Evenly: within a fifth of the mean. By chance alone one of 10^10 names would be outside.
    for (const count of perMinute) expect(Math.abs(count - JOBS / MINUTES)).toBeLessThan(JOBS / MINUTES / 5);
  });

  test("a job starts at the same time after each of its ticks", () => {
    const starts = nextStarts(daily, { at: MIDNIGHT - 1 }, 20, "nightly");
    expect(new Set(starts.map(({ tick, startAt }) => startAt - tick.at)).size).toBe(1);
  });
});

test("a start comes before the next tick, even with a longer jitter", () => {
  const minutely = schedule("* * * * *", { jitter: "24h" });
  for (let i = 0; i < 200; i += 1)
    for (const { tick, startAt } of nextStarts(minutely, { at: MIDNIGHT }, 2, `job-${i}`)) {
      expect(startAt).toBeGreaterThanOrEqual(tick.at);
      expect(startAt).toBeLessThan(tick.at + 60_000);
    }
});

test("the last tick has its jitter as well, and without jitter a run starts at its tick", () => {
  const last = { until: "2026-11-22T00:00:01Z" };
  const start = (jitter: string) =>
    nextStarts(schedule("0 0 * * *", { ...last, jitter }), { at: MIDNIGHT - DAY }, 5, "nightly").map(
      ({ startAt }) => startAt - MIDNIGHT,
    );
  expect(start("0s").at(-1)).toBe(0);
  expect(start("1h").at(-1)).toBeGreaterThan(0);
  expect(start("1h").at(-1)).toBeLessThan(HOUR);
});
