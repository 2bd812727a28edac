import { describe, expect, test } from "vitest";
import { makeClock } from "../../agent/clock.ts";

// The time since boot as the agent sees it: host-protocol.md#lease, decisions/hosts.md.

const HOUR = 3_600_000;

/** A machine whose clocks a test moves. `looks`: how often the uptime was read. */
function machine() {
  const at = { awake: 5_000, asleep: 7_000, date: 1_000_000, looks: 0 };
  const now = makeClock({
    uptime: () => {
      at.looks += 1;
      return at.awake + at.asleep;
    },
    awake: () => at.awake,
    date: () => at.date,
  });
  const pass = (ms: number) => {
    at.awake += ms;
    at.date += ms;
  };
  return { at, now, pass };
}

describe("the agent's clock (rule R4)", () => {
  test("counts the time of a sleep at the first look after it", () => {
    const { at, now, pass } = machine();
    pass(10);
    expect(now()).toBe(12_010);
    at.asleep += HOUR;
    at.date += HOUR;
    pass(1);
    expect(now()).toBe(12_011 + HOUR);
  });

  test("counts it half a second later at most if the date was set back by as much", () => {
    const { at, now, pass } = machine();
    at.asleep += HOUR;
    pass(499);
    expect(now()).toBe(12_499);
    pass(1);
    expect(now()).toBe(12_500 + HOUR);
  });

  test("does not follow the date", () => {
    const { at, now, pass } = machine();
    for (const set of [HOUR, -3 * HOUR]) {
      const before = now();
      at.date += set;
      pass(20);
      expect(now()).toBe(before + 20);
    }
  });

  test("reads the uptime twice a second, however often it is looked at", () => {
    const { at, now, pass } = machine();
    const before = at.looks;
    for (let ms = 0; ms < 10_000; ms += 1) {
      pass(1);
      now();
    }
    expect(at.looks - before).toBe(20);
  });
});
