import { afterEach, describe, expect, test, vi } from "vitest";
import { instantsAfter, nextTicks, type Tick, tickAt } from "../../../src/core/job/schedule/ticks.ts";
import { isZone, localText, offsetAt, offsetIn, zonesLike } from "../../../src/core/job/schedule/zone.ts";
import { changesOf, DAY, datesOf, FROM, HOUR, schedule, TO, ZONES } from "./support/schedule.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** The ticks of an expression from one instant to another. */
function ticksBetween(cron: string | string[], zone: string, from: number, to: number): Tick[] {
  const bounded = schedule(cron, { zone, until: new Date(to).toISOString() });
  return [...instantsAfter(bounded, { at: from - 1 })].map((at) => tickAt(bounded, at));
}

/** The dates of the ticks that lie on whole dates between two instants. */
function datesOfTicks(cron: string, zone: string, from: number, to: number): string[] {
  const whole = new Set(datesOf(zone, from, to));
  const dates = ticksBetween(cron, zone, from, to).map(({ local }) => local.slice(0, 10));
  return dates.filter((date) => whole.has(date));
}

const localTimes = (ticks: Tick[]) => ticks.map(({ local }) => local);

describe.each(ZONES)("in %s, over two years", (zone) => {
  test.each(["0 0 * * *", "15 2 * * *"])(
    "case 1: a daily tick, %s, happens once on each date (jobs.md#daylight-saving)",
    (cron) => {
      expect(datesOfTicks(cron, zone, FROM, TO)).toEqual(datesOf(zone, FROM, TO));
    },
  );

  // At midnight, in the hours in which clocks are moved somewhere, and at a harmless time.
  const DAILY = ["@daily", "30 0 * * *", "0 1 * * *", "45 1 * * *", "0 2 * * *", "30 2 * * *", "45 2 * * *"];
  test.each([...DAILY, "0 3 * * *", "45 3 * * *", "0 12 * * *", "59 23 * * *"])(
    "case 1: so does %s, on each date around those on which clocks move (jobs.md#daylight-saving)",
    (cron) => {
      for (const { at } of changesOf(zone))
        expect(datesOfTicks(cron, zone, at - 3 * DAY, at + 3 * DAY)).toEqual(
          datesOf(zone, at - 3 * DAY, at + 3 * DAY),
        );
    },
  );

  test("case 2: an hourly tick happens in each real hour, on days when clocks move, too", () => {
    for (const { at, by } of changesOf(zone)) {
      const from = at - 2 * DAY;
      const ticks = ticksBetween("0 * * * *", zone, from, at + 2 * DAY);
      // Where clocks move by half an hour, full hours are half an hour nearer or further apart.
      const expected = by % HOUR === 0 ? 96 : 95;
      expect(ticks.length).toBeGreaterThanOrEqual(expected);
      expect(ticks.length).toBeLessThanOrEqual(expected + 2);
      if (by % HOUR !== 0) continue;
      expect(ticks.map((tick) => tick.at)).toEqual(ticks.map((_, i) => (ticks[0]?.at ?? 0) + i * HOUR));
    }
  });

  test("each tick is later than the one before, and its local time is that of its zone", () => {
    for (const { at } of changesOf(zone).slice(0, 4)) {
      const ticks = ticksBetween(["*/20 * * * *", "30 2 * * *"], zone, at - DAY / 4, at + DAY / 4);
      for (const [i, tick] of ticks.entries()) {
        expect(tick.at).toBeGreaterThan(ticks[i - 1]?.at ?? 0);
        expect(Date.parse(tick.local)).toBe(tick.at);
      }
    }
  });
});

test.each([
  ["whole hours", "Europe/Berlin", [1, -1, 1, -1]],
  ["whole hours, at midnight", "America/Santiago", [-1, 1, -1, 1]],
  ["half an hour", "Australia/Lord_Howe", [-0.5, 0.5, -0.5, 0.5]],
  ["nothing", "Asia/Kolkata", []],
])("the two years have clocks that move by %s: %s", (_what, zone, hours) => {
  expect(changesOf(zone).map(({ by }) => by / HOUR)).toEqual(hours);
});

describe("on a day when clocks move (jobs.md#daylight-saving)", () => {
  test.each<[string, string | string[], string, string, string[]]>([
    [
      "case 1: a time that is left out comes with the first time that exists",
      "30 2 * * *",
      "Europe/Berlin",
      "2027-03-28",
      ["2027-03-28T03:00:00+02:00"],
    ],
    [
      "case 1: a time that comes twice counts the first time",
      "30 2 * * *",
      "Europe/Berlin",
      "2026-10-25",
      ["2026-10-25T02:30:00+02:00"],
    ],
    [
      "so does each time of a list",
      "30 2,14 * * *",
      "Europe/Berlin",
      "2026-10-25",
      ["2026-10-25T02:30:00+02:00", "2026-10-25T14:30:00+01:00"],
    ],
    [
      "a list keeps what is left out, too",
      "30 2,14 * * *",
      "Europe/Berlin",
      "2027-03-28",
      ["2027-03-28T03:00:00+02:00", "2027-03-28T14:30:00+02:00"],
    ],
    [
      "a midnight that is left out does not lose the day",
      "0 0 * * *",
      "America/Santiago",
      "2026-09-06",
      ["2026-09-06T01:00:00-03:00"],
    ],
    [
      "nor does half an hour",
      "15 2 * * *",
      "Australia/Lord_Howe",
      "2026-10-04",
      ["2026-10-04T02:30:00+11:00"],
    ],
    [
      "two expressions with the same instant are one tick",
      ["0 3 * * *", "30 2 * * *"],
      "Europe/Berlin",
      "2027-03-28",
      ["2027-03-28T03:00:00+02:00"],
    ],
  ])("%s", (_what, cron, zone, date, expected) => {
    const day = Date.parse(`${date}T00:00:00Z`);
    const ticks = localTimes(ticksBetween(cron, zone, day - DAY, day + 2 * DAY));
    expect(ticks.filter((local) => local.startsWith(date))).toEqual(expected);
  });

  test.each([
    ["25 times when an hour comes twice", "2026-10-25", 25],
    ["23 times when an hour is left out", "2027-03-28", 23],
    ["24 times on any other day", "2026-10-24", 24],
  ])("case 2: an hourly job runs %s", (_what, date, count) => {
    const day = Date.parse(`${date}T00:00:00Z`);
    const ticks = localTimes(ticksBetween("0 * * * *", "Europe/Berlin", day - DAY, day + 2 * DAY));
    expect(ticks.filter((local) => local.startsWith(date))).toHaveLength(count);
  });
});

describe("ticks", () => {
  test("come after the given instant, not at it", () => {
    const at = Date.parse("2026-11-22T02:30:00Z");
    const daily = schedule("30 2 * * *");
    expect(nextTicks(daily, { at: at - 1 }, 1)[0]?.at).toBe(at);
    expect(nextTicks(daily, { at }, 1)[0]?.at).toBe(at + DAY);
    expect(nextTicks(daily, { at: at - 999 }, 1)[0]?.at).toBe(at);
  });

  test("of several expressions are one sequence", () => {
    const ticks = nextTicks(schedule(["0 0 * * *", "0 12 * * *", "@daily"]), { at: FROM - 1 }, 4);
    expect(ticks.map(({ at }) => at - FROM)).toEqual([0, DAY / 2, DAY, 1.5 * DAY]);
  });

  test("begin at `from` and end before `until`", () => {
    const bounded = schedule("0 0 * * *", { from: "2026-03-01T00:00:00Z", until: "2026-03-03T00:00:00Z" });
    const ticks = nextTicks(bounded, { at: FROM }, 10);
    expect(localTimes(ticks)).toEqual(["2026-03-01T00:00:00+00:00", "2026-03-02T00:00:00+00:00"]);
    expect(nextTicks(bounded, { at: TO }, 10)).toEqual([]);
  });

  test("depend on no clock", () => {
    const daily = schedule("30 2 * * *", { zone: "Europe/Berlin" });
    const here = nextTicks(daily, { at: FROM }, 5);
    vi.useFakeTimers({ now: Date.parse("2041-07-01T00:00:00Z") });
    expect(nextTicks(daily, { at: FROM }, 5)).toEqual(here);
  });
});

describe("case 3: a zone changes its rules after an update (jobs.md#zones)", () => {
  const daily = schedule("30 2 * * *", { zone: "Europe/Berlin" });
  const ofDay = (local: string) => ({ at: Date.parse(local), local });

  test.each([
    [
      "the clocks were moved forward: the tick that was handled is not handled again",
      "2026-11-22T02:30:00+02:00",
      "2026-11-23T02:30:00+01:00",
    ],
    ["the clocks were moved back: nor is it then", "2026-11-22T02:30:00+00:00", "2026-11-23T02:30:00+01:00"],
    ["nothing has changed", "2026-11-22T02:30:00+01:00", "2026-11-23T02:30:00+01:00"],
  ])("%s", (_what, handled, next) => {
    expect(localTimes(nextTicks(daily, ofDay(handled), 1))).toEqual([next]);
  });

  test("without the local time of the handled tick, the same date would be handled twice", () => {
    const { at } = ofDay("2026-11-22T02:30:00+02:00");
    expect(localTimes(nextTicks(daily, { at }, 1))).toEqual(["2026-11-22T02:30:00+01:00"]);
  });

  test("a repeated hour is no change of rules: each of its ticks counts", () => {
    const hourly = schedule("0 * * * *", { zone: "Europe/Berlin" });
    const next = nextTicks(hourly, ofDay("2026-10-25T02:00:00+02:00"), 2);
    expect(localTimes(next)).toEqual(["2026-10-25T02:00:00+01:00", "2026-10-25T03:00:00+01:00"]);
  });
});

describe("time zones (jobs.md#zones)", () => {
  test.each([...ZONES, "Etc/GMT+5", "America/Argentina/Buenos_Aires"])("%s is one", (zone) => {
    expect(isZone(zone)).toBe(true);
  });

  test.each(["", "Berlin", "Europe/Berln", "+01:00", "-08", "Europe/", "UTC+1", "../UTC", "Europe/Berlin "])(
    "%j is none",
    (zone) => {
      expect(isZone(zone)).toBe(false);
    },
  );

  test.each([
    ["Berlin", ["Europe/Berlin"]],
    ["Europe/Berln", ["Europe/Berlin"]],
    ["europe/new york", ["America/New_York"]],
    ["nowhere at all", []],
  ])("instead of %j, %j is offered", (name, offered) => {
    expect(zonesLike(name)).toEqual(offered);
  });

  test.each([
    ["Asia/Kolkata", "2026-01-01T05:30:00+05:30"],
    ["America/New_York", "2025-12-31T19:00:00-05:00"],
    ["Pacific/Chatham", "2026-01-01T13:45:00+13:45"],
    ["UTC", "2026-01-01T00:00:00+00:00"],
  ])("the local time of %s is %s, and names its offset", (zone, local) => {
    expect(localText(zone, FROM)).toBe(local);
    expect(offsetIn(local)).toBe(offsetAt(zone, FROM));
  });

  test("before 1970 and between two seconds, the offset is the same", () => {
    expect(offsetAt("Europe/Berlin", Date.parse("1969-07-01T00:00:00.001Z"))).toBe(HOUR);
    expect(offsetAt("Europe/Berlin", FROM + 999)).toBe(HOUR);
  });
});
