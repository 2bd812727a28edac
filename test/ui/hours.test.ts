import { describe, expect, test } from "vitest";
import type { PoolTally } from "../../src/generated/api.ts";
import { endsText, firstHourMs, hoursOf, sumOfHours } from "../../ui/pages/now/hours.ts";

const NOW = Date.parse("2026-11-21T08:30:00Z");
const tally = (from: string, ended: Record<string, number>): PoolTally => ({
  from,
  to: from,
  ended,
  restarts: 0,
  started: { runs: 0, seconds: 0 },
  machines: { created: 0, refused: 0, ready: 0, failed: 0, gone: 0 },
});

describe("the runs that ended in the last day (ui.md#last-day)", () => {
  test("there are 24 hours, and the hour of now is the last one", () => {
    expect(new Date(firstHourMs(NOW)).toISOString()).toBe("2026-11-20T09:00:00.000Z");
    const hours = hoursOf([], NOW);
    expect([hours.length, new Date(hours[23]?.fromMs ?? 0).toISOString()]).toEqual([
      24,
      "2026-11-21T08:00:00.000Z",
    ]);
    expect(endsText(sumOfHours(hours))).toBe("none");
  });

  test("an hour is the sum of all pools, and what is older is not counted", () => {
    const hours = hoursOf(
      [
        tally("2026-11-21T08:00:00.000Z", { complete: 2, failed: 1 }),
        tally("2026-11-21T08:00:00.000Z", { complete: 3 }),
        tally("2026-11-20T09:00:00.000Z", { aborted: 4 }),
        tally("2026-11-20T08:00:00.000Z", { complete: 100 }),
      ],
      NOW,
    );
    expect([hours[0], hours[23]].map((hour) => hour && [endsText(hour), hour.all])).toEqual([
      ["4 aborted", 4],
      ["5 complete, exit code 0; 1 failed", 6],
    ]);
    expect(sumOfHours(hours).all).toBe(10);
  });

  test("a command that ended with another code than 0 did not go well", () => {
    const ended = { ...tally("2026-11-21T08:00:00.000Z", { complete: 5 }), failedExits: 2 };
    const hour = sumOfHours(hoursOf([ended], NOW));
    expect(endsText(hour)).toBe("3 complete, exit code 0; 2 complete, another exit code");
  });
});
