import { describe, expect, test } from "vitest";
import { nextTicks } from "../../src/core/job/schedule/ticks.ts";
import { isZone, zonesLike } from "../../src/core/job/schedule/zone.ts";
import { schedule, ZONES } from "../core/job/support/schedule.ts";

// The time zones of workerd are its own (jobs.md#zones). Here they do what `test/core/job` shows for Node.

describe("in workerd", () => {
  test("there are the zones", () => {
    expect(ZONES.filter((zone) => !isZone(zone))).toEqual([]);
    expect(isZone("Europe/Nowhere")).toBe(false);
    expect(zonesLike("Berlin")).toEqual(["Europe/Berlin"]);
  });

  test.each([
    ["Europe/Berlin", "30 2 * * *", "2027-03-27T12:00:00Z", ["2027-03-28T03:00", "2027-03-29T02:30"]],
    ["Europe/Berlin", "30 2 * * *", "2026-10-24T12:00:00Z", ["2026-10-25T02:30", "2026-10-26T02:30"]],
    ["America/Santiago", "0 0 * * *", "2026-09-05T12:00:00Z", ["2026-09-06T01:00", "2026-09-07T00:00"]],
    ["Australia/Lord_Howe", "15 2 * * *", "2026-10-03T00:00:00Z", ["2026-10-04T02:30", "2026-10-05T02:15"]],
  ])(
    "a daily tick in %s, %s, happens once on each date (jobs.md#daylight-saving)",
    (zone, cron, from, local) => {
      const ticks = nextTicks(schedule(cron, { zone }), { at: Date.parse(from) }, 2);
      expect(ticks.map((tick) => tick.local.slice(0, 16))).toEqual(local);
    },
  );
});
