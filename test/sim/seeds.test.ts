import { describe, expect, test } from "vitest";
import { sized } from "../chance/length.ts";
import { firstViolation } from "./first-violation.ts";
import { tellStory } from "./shrink.ts";
import { DEFAULTS } from "./simulation.ts";

const STEPS = 2_000;
/** `npm run sim` goes on from there for as long as one likes. */
const SEEDS = sized(15, 1_000);
/** Longer stories: in these another run is submitted each minute. */
const LONG_STEPS = sized(8_000, 100_000);
const LONG_RUNS = sized(20, 250);
const LONG_SEEDS = sized(2, 8);
/** Files of the simulator share two cores. */
const timeout = 1_800_000;

describe("the simulation (rules.md#invariants, invariants 1, 2, 3, 4 and 9)", () => {
  test(`holds over ${SEEDS} seeds of ${STEPS} steps`, { timeout }, async () => {
    const failure = await firstViolation({ ...DEFAULTS, steps: STEPS }, SEEDS);
    expect(failure === null ? "" : `seed ${failure.seed}\n${tellStory(failure.found)}`).toBe("");
  });

  test(`holds over ${LONG_SEEDS} longer stories of ${LONG_STEPS} steps`, { timeout }, async () => {
    const options = { ...DEFAULTS, steps: LONG_STEPS, runs: LONG_RUNS };
    const failure = await firstViolation(options, LONG_SEEDS);
    expect(failure === null ? "" : `seed ${failure.seed}\n${tellStory(failure.found)}`).toBe("");
  });
});
