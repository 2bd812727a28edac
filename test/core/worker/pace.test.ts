import { expect, test } from "vitest";
import {
  chargeCall,
  chargeExtra,
  fullPace,
  UNITS_OF_A_KEPT,
  UNITS_OF_A_STRANGER,
  UNITS_OF_AN_EVENT,
  unitsOf,
} from "../../../src/core/worker/host/pace.ts";
import { MAX_STRANGERS_ASKED } from "../../../src/probes/believed.ts";
import { MAX_REPORT_BYTES } from "../../../src/shared/limits.ts";
import { HOST_UNITS } from "../../../src/shared/tunnel/host-units.ts";
import { at, ready, report, runningOf, T0 } from "../support/worker.ts";

/** How many calls of so many units are taken within a second of calls that never pause. */
function takenIn(seconds: number, units: number): number {
  let pace = fullPace(T0);
  let taken = 0;
  for (let ms = 0; ms < seconds * 1_000; ms += 1) {
    const { pace: next, waitMs } = chargeCall(pace, units, T0 + ms);
    pace = next;
    if (waitMs === 0) taken += 1;
  }
  return taken;
}

test("X5: a host that never pauses is heard so often, and no more", () => {
  for (const bytes of [0, 1_000, MAX_REPORT_BYTES]) {
    const units = unitsOf(bytes);
    const most = (HOST_UNITS.most + 60 * HOST_UNITS.aSecond) / units + 1;
    expect(takenIn(60, units)).toBeLessThanOrEqual(most);
    expect(takenIn(60, units)).toBeGreaterThan(0.9 * most);
  }
});

test("one that has said nothing for a while may say much at once, and what it overdraws it waits for", () => {
  const overdrawn = chargeCall(fullPace(T0), HOST_UNITS.most + HOST_UNITS.aSecond, T0);
  expect(overdrawn.waitMs).toBe(0);
  const { waitMs } = chargeCall(overdrawn.pace, 1, T0);
  expect(waitMs).toBeGreaterThan(900);
  expect(chargeCall(overdrawn.pace, 1, T0 + waitMs).waitMs).toBe(0);
});

test("a clock that goes back neither gives nor takes", () => {
  const pace = chargeExtra(fullPace(T0), HOST_UNITS.most - 1);
  expect(chargeCall(pace, 1, T0 - 60_000)).toEqual({ pace: { units: 0, at: T0 - 60_000 }, waitMs: 0 });
});

test("X5: whom a report makes the worker ask is paid for, once", () => {
  const attempts = Array.from({ length: 100 }, (_, n) => runningOf(`x${n}`));
  const told = at(ready(), T0, report(2, { attempts, kept: ["a/1", "b/1"] }));
  expect(told.memo.spent - ready().memo.spent).toBe(
    MAX_STRANGERS_ASKED * UNITS_OF_A_STRANGER + 2 * UNITS_OF_A_KEPT,
  );
  const again = at(told, T0, report(3, { attempts, kept: ["a/1", "b/1"] }));
  expect(again.memo.spent).toBe(told.memo.spent);
});

test.each([
  ["a notice", { draining: "it goes" }],
  ["another agent", { means: { kill: "cgroup" as const, limits: [], protocol: 1 } }],
  ["a stale run", { stale: ["a"] }],
])("X5: %s is paid for when it is news, and not when it is repeated", (_what, more) => {
  const told = at(ready(), T0, report(2, more));
  expect(told.memo.spent - ready().memo.spent).toBe(UNITS_OF_AN_EVENT);
  expect(at(told, T0, report(3, more)).memo.spent).toBe(told.memo.spent);
});
