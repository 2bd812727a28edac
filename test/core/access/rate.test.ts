import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { judgeRate, type RateState } from "../../../src/shared/time/rate.ts";

const policy = { quota: 5, windowMs: 60_000 };

/** The verdicts of requests at these instants, all of one caller. */
function verdicts(...instants: number[]): boolean[] {
  let state: RateState | undefined;
  return instants.map((now) => {
    const verdict = judgeRate(policy, state, now);
    state = verdict.state;
    return verdict.allowed;
  });
}

describe("a rate limit (access.md#rate-limits)", () => {
  test("allows its quota at once, then one more each time a part of the window is over", () => {
    expect(verdicts(0, 0, 0, 0, 0, 0, 11_999, 12_000, 12_001)).toEqual([
      ...[true, true, true, true, true],
      ...[false, false, true, false],
    ]);
  });

  test("counts down, says when the next request is worth sending, and forgets what is old", () => {
    expect(judgeRate(policy, undefined, 7)).toMatchObject({ allowed: true, left: 4 });
    const full = [1, 2, 3, 4, 5].reduce<RateState | undefined>(
      (state) => judgeRate(policy, state, 0).state,
      undefined,
    );
    expect(judgeRate(policy, full, 2_000)).toMatchObject({ allowed: false, left: 0, retryAfterMs: 10_000 });
    expect(judgeRate(policy, full, 60_000)).toMatchObject({ allowed: true, left: 4 });
  });

  test("never allows more than twice its quota in any window, and always its quota in an idle one", () => {
    const steps = fc.array(fc.integer({ min: 0, max: 5_000 }), { minLength: 1, maxLength: 100 });
    fc.assert(
      fc.property(steps, (pauses) => {
        let now = 0;
        const instants = pauses.map((pause) => {
          now += pause;
          return now;
        });
        const allowed = instants.filter((_, index) => verdicts(...instants)[index]);
        for (const from of instants) {
          const inWindow = allowed.filter((at) => at >= from && at < from + policy.windowMs);
          expect(inWindow.length).toBeLessThanOrEqual(2 * policy.quota);
        }
        expect(allowed.length).toBeGreaterThanOrEqual(Math.min(instants.length, policy.quota));
      }),
    );
  });
});
