import { describe, expect, test } from "vitest";
import { sized } from "../chance/length.ts";
import { BUGS } from "./bugs.ts";
import { ALL_FAULTS } from "./faults.ts";
import { firstViolation } from "./first-violation.ts";
import { shortest, tellStory } from "./shrink.ts";
import { DEFAULTS } from "./simulation.ts";

const STEPS = 2_000;
/** A bug that is not found within so many seeds is not found within a minute. */
const SEEDS_FOR_A_BUG = 600;
/** Files of the simulator share two cores. */
const timeout = 1_800_000;

describe("a bug that is planted is found (rules.md#invariants)", () => {
  // The test of `shortest` below finds one of them in `npm test`, too.
  for (const [bug, machines] of sized([], Object.entries(BUGS))) {
    test(`finds the bug "${bug}"`, { timeout }, async () => {
      const found = await firstViolation({ ...DEFAULTS, steps: STEPS, machines }, SEEDS_FOR_A_BUG);
      expect(found?.found.violation?.message).toMatch(/^(R?\d|hook)/);
    });
  }

  test("the story of a failure is shortened to fewer runs, faults and steps", {
    timeout,
  }, async () => {
    const machines = BUGS["trusting one listing"] ?? DEFAULTS.machines;
    const failing = await firstViolation({ ...DEFAULTS, steps: STEPS, machines }, SEEDS_FOR_A_BUG);
    if (failing === null) throw new Error("the bug was not found");
    const { options, result } = await shortest(failing);
    expect(options.runs).toBeLessThan(DEFAULTS.runs);
    expect(options.faults.length).toBeLessThan(ALL_FAULTS.length / 2);
    expect(result.steps).toBeLessThanOrEqual(failing.found.steps);
    expect(tellStory(result).split("\n").at(-1)).toContain("=> 3: the machine of");
  });
});
