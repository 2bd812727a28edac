import { describe, expect, test } from "vitest";
import { sized } from "../../chance/length.ts";
import { firstViolation } from "../first-violation.ts";
import { tellStory } from "../shrink.ts";
import { DEFAULTS } from "../simulation.ts";
import { JOB_BUGS } from "./bugs.ts";

const STEPS = 2_000;
const SEEDS = sized(30, 1_000);
/** A bug that is not found within so many seeds is not found within a minute. */
const SEEDS_FOR_A_BUG = 300;
/** Files of the simulator share two cores. */
const timeout = 1_800_000;

const stories = { ...DEFAULTS, steps: STEPS, runs: 2, hasJobs: true };

describe("jobs in the simulation (jobs.md#tick-1)", () => {
  test(`each tick has one run or one reason over ${SEEDS} seeds of ${STEPS} steps`, { timeout }, async () => {
    const failure = await firstViolation(stories, SEEDS);
    expect(failure === null ? "" : `seed ${failure.seed}\n${tellStory(failure.found)}`).toBe("");
  });

  for (const [bug, machines] of Object.entries(JOB_BUGS)) {
    test(`finds the bug "${bug}"`, { timeout }, async () => {
      const found = await firstViolation({ ...stories, machines }, SEEDS_FOR_A_BUG);
      expect(found?.found.violation?.message).toMatch(/^(tick-1|following|R?\d)/);
    });
  }
});
