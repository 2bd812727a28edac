import { describe, expect, test } from "vitest";
import { sized } from "../chance/length.ts";
import { FLEET_BUGS } from "./bugs.ts";
import { CHAOS_RUNS, chaos, wrongWith } from "./chaos.ts";
import type { Machines } from "./objects.ts";
import { tellStory } from "./shrink.ts";
import { type Result, simulate } from "./simulation.ts";

/** `npm run sim -- --chaos` goes on for as long as one likes. */
const SEEDS = sized(1, 3);
const SEEDS_FOR_A_BUG = 6;
/** Runs of a story. */
const RUNS = sized(300, CHAOS_RUNS);

/** The stories of the real machines, by seed. */
const told = new Map<number, Promise<Result>>();

function tell(seed: number, machines?: Machines): Promise<Result> {
  if (machines !== undefined) return simulate(chaos(seed, machines, RUNS));
  const story = told.get(seed) ?? simulate(chaos(seed, undefined, RUNS));
  told.set(seed, story);
  return story;
}

async function firstWrong(seeds: number, machines?: Machines): Promise<string | undefined> {
  for (let seed = 1; seed <= seeds; seed += 1) {
    const wrong = wrongWith(await tell(seed, machines));
    if (wrong !== undefined) return `seed ${seed}: ${wrong}`;
  }
  return undefined;
}

describe("a fleet in chaos (pool.md#faults-of-a-provider, rules.md#invariants)", () => {
  test(`of ${RUNS} runs each ends once and well, no machine is forgotten, and none idles`, {
    timeout: 1_800_000,
  }, async () => {
    expect(await firstWrong(SEEDS)).toBeUndefined();
  });

  for (const [bug, machines] of sized([], Object.entries(FLEET_BUGS))) {
    test(`finds the bug "${bug}"`, { timeout: 600_000 }, async () => {
      expect(await firstWrong(SEEDS_FOR_A_BUG, machines)).toBeDefined();
    });
  }

  test("every trouble comes: one that never does would prove nothing", async () => {
    const result = await tell(1);
    const story = tellStory(result);
    const marks = ["internal server error", "10 machines are allowed", "none left", "fails to destroy"];
    marks.push("boots, and says nothing", "stops answering", "finds its machine broken");
    marks.push("is gone with its supervisor", "it leaves a lock on", "a listing misses");
    expect(marks.filter((mark) => !story.includes(mark))).toEqual([]);
    expect(result.ended.size).toBe(RUNS);
  });
});
