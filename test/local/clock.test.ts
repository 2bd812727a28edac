import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Clocks, DroverClock, firstReading, nextReading } from "../../local/clock.ts";
import { scratchDir, until } from "./support/scratch.ts";

const HOUR = 3_600_000;
const BEFORE = { bootId: "one", upMs: 10_000, wallMs: 50 * HOUR, aheadMs: 0 };

function later(upMs: number, wallMs: number): Clocks {
  return { bootId: "one", upMs: BEFORE.upMs + upMs, wallMs: BEFORE.wallMs + wallMs };
}

describe("N10: Drover's time goes on with the time since boot", () => {
  test.each([
    { what: "nothing but time", seen: later(100, 100), aheadMs: 0 },
    { what: "the clock is set back", seen: later(100, 100 - 2 * HOUR), aheadMs: 2 * HOUR },
    { what: "the clock is set forth", seen: later(100, 100 + 2 * HOUR), aheadMs: -2 * HOUR },
    { what: "a suspend, which is time that passes", seen: later(8 * HOUR, 8 * HOUR), aheadMs: 0 },
    { what: "a clock that is set back in a suspend", seen: later(8 * HOUR, 7 * HOUR), aheadMs: HOUR },
    { what: "a clock that is slowed or hastened", seen: later(200_000, 200_100), aheadMs: 0 },
    { what: "a step that no delay feels", seen: later(100, 900), aheadMs: 0 },
  ])("$what", ({ seen, aheadMs }) => {
    expect(nextReading(BEFORE, seen)).toEqual({ ...seen, aheadMs });
    expect(nextReading({ ...BEFORE, aheadMs: -7 }, seen)).toEqual({ ...seen, aheadMs: aheadMs - 7 });
  });

  test("a clock that is set back and then right again needs no correction any more", () => {
    const wrong = nextReading(BEFORE, later(100, 100 - HOUR));
    expect(nextReading(wrong, later(200, 200)).aheadMs).toBe(0);
  });

  test.each([
    { what: "the same boot, and nothing but time", seen: later(HOUR, HOUR), aheadMs: 0 },
    { what: "the same boot, and the clock was set back", seen: later(HOUR, -HOUR), aheadMs: 2 * HOUR },
    { what: "the same boot, and the clock was set forth", seen: later(HOUR, 2 * HOUR), aheadMs: -HOUR },
    { what: "a reboot", seen: { bootId: "two", upMs: 1, wallMs: BEFORE.wallMs + HOUR }, aheadMs: 0 },
    { what: "a reboot into the past", seen: { bootId: "two", upMs: 1, wallMs: 0 }, aheadMs: BEFORE.wallMs },
    { what: "a container that began again", seen: { ...later(0, HOUR), upMs: 1 }, aheadMs: 0 },
  ])("drover up goes on after the last one: $what", ({ seen, aheadMs }) => {
    expect(firstReading(BEFORE, seen)).toEqual({ ...seen, aheadMs });
  });

  test("after a reboot a correction is left away if that is no step back", () => {
    const seen = { bootId: "two", upMs: 1, wallMs: BEFORE.wallMs + HOUR };
    expect(firstReading({ ...BEFORE, aheadMs: -HOUR }, seen).aheadMs).toBe(0);
    expect(firstReading({ ...BEFORE, aheadMs: 3 * HOUR }, seen).aheadMs).toBe(2 * HOUR);
  });

  test("at first Drover's time is that of the wall clock", () => {
    expect(firstReading(undefined, BEFORE)).toEqual(BEFORE);
  });
});

describe("N10: all that lives is woken when alarms go by another time", () => {
  /** A clock that is set by hand, in a state directory that a later one finds again. */
  function begin(dir: string, at: Clocks) {
    const wakings: number[] = [];
    const clock = new DroverClock(dir, () => at);
    let fails = false;
    const told: number[] = [];
    const confirmed: number[] = [];
    const end = clock.watch({
      wake: async (aheadMs) => {
        wakings.push(aheadMs);
        if (fails) throw new Error("the Worker is not there");
      },
      confirm: async (wallMs) => void confirmed.push(wallMs),
      onSet: (byMs) => told.push(byMs),
      onFailure: () => {},
    });
    onTestFinished(end);
    const set = (wallMs: number) => Object.assign(at, { wallMs: at.wallMs + wallMs });
    const fail = (value: boolean) => {
      fails = value;
    };
    return { clock, wakings, told, confirmed, end, set, fail };
  }

  test("once for each time that the clock is set, and again after a failure", async () => {
    const { clock, wakings, told, set, fail } = begin(scratchDir(), later(0, 0));
    set(-HOUR);
    await until("all is woken", () => told.length === 1 || undefined);
    fail(true);
    set(3 * HOUR);
    await until("waking has failed", () => wakings.length === 2 || undefined);
    expect(told).toEqual([-HOUR]);
    fail(false);
    await until("all is woken again", () => told.length === 2 || undefined);
    expect(told).toEqual([-HOUR, 3 * HOUR]);
    expect([...new Set(wakings)]).toEqual([HOUR, -2 * HOUR]);
    expect(clock.aheadMs()).toBe(-2 * HOUR);
  });

  test("also by the next drover up, which begins with another correction than the last one had", async () => {
    const dir = scratchDir();
    const first = begin(dir, later(0, 0));
    first.set(2 * HOUR);
    await until("all is woken", () => first.told.length === 1 || undefined);
    first.end();
    const second = begin(dir, { bootId: "two", upMs: 1, wallMs: BEFORE.wallMs + 2 * HOUR });
    await until("all is woken", () => second.wakings.length === 1 || undefined);
    expect(second.wakings).toEqual([0]);
    expect(second.told).toEqual([]);
  });

  test("until the clock is set it is confirmed, and never by what it was set to", async () => {
    const at = later(0, 0);
    const { confirmed, wakings, told, set, fail } = begin(scratchDir(), at);
    const pass = () => Object.assign(at, { upMs: at.upMs + 1_000, wallMs: at.wallMs + 1_000 });
    await until("it is confirmed", () => confirmed.length === 1 || undefined);
    pass();
    await until("it is confirmed again", () => confirmed.length === 2 || undefined);
    expect(confirmed).toEqual([BEFORE.wallMs, BEFORE.wallMs + 1_000]);
    fail(true);
    set(HOUR);
    pass();
    await until("waking has failed", () => wakings.length === 1 || undefined);
    expect(confirmed).toHaveLength(2);
    fail(false);
    await until("all is woken", () => told.length === 1 || undefined);
    pass();
    await until("it is confirmed by the new time", () => confirmed.length === 3 || undefined);
    expect(confirmed[2]).toBeGreaterThan(BEFORE.wallMs + HOUR);
  });

  test("a note that cannot be read is none", () => {
    const dir = scratchDir();
    writeFileSync(join(dir, "clock.json"), "{");
    expect(new DroverClock(dir, () => later(0, 0)).aheadMs()).toBe(0);
  });
});
