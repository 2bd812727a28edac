import { describe, expect, test } from "vitest";
import { Tally } from "./tally.ts";

const story = (seed: number) => ({ seed, steps: 3_000, ends: { complete: 6, failed: 2 }, cpuMs: 100 });

describe("what a long run of the simulator tells (shell.md#what-the-simulator-holds)", () => {
  test("goes on from the first seed that was not told, in whatever order stories end", () => {
    const tally = new Tally(11, 0);
    for (const seed of [12, 11, 14]) tally.held(story(seed));
    expect(tally.next).toBe(13);
    tally.held(story(13));
    expect(tally.next).toBe(15);
  });

  test("says seeds, steps, and how many a second by the clock and by the processor", () => {
    const tally = new Tally(1, 1_000);
    expect(tally.line(1_000)).toContain("no seeds, 0 steps");
    for (const seed of [1, 2]) tally.held(story(seed));
    expect(tally.line(3_000)).toBe(
      "seeds 1 to 2, 6,000 steps in 2 s: 3,000 steps/s, 30,000 per second of a core",
    );
    expect(tally.ends()).toBe("12 complete, 4 failed");
  });
});
