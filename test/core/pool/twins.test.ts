import { describe, expect, test } from "vitest";
import { type PoolEvent, poolMachine } from "../../../src/core/pool/machine.ts";
import { plan } from "../../../src/core/pool/plan/plan.ts";
import type { PoolConfigInput } from "../../../src/schema/pool.ts";
import { at, configured, createsOf, held, hold, MINUTE, T0, waiting } from "../support/pool.ts";

const tick: PoolEvent = { type: "tick" };
const m = { vcpus: 4, memory: "1GiB", price: 1, preemptible: true, fallback: { price: 3 } };
const POOL: Partial<PoolConfigInput> = { instanceTypes: { m }, spotPatience: "2m" };
/** A pool in which a run waits, and its preemptible machine cannot be requested for an hour. */
const stuck = () =>
  held(configured(POOL, [waiting("a")]), hold(T0 + 60 * MINUTE, { cause: "capacity", scope: "type:m" }));

describe("the on-demand twin of a preemptible type (clouds.md#twins)", () => {
  test("is not requested while the preemptible machine can be", () => {
    expect(createsOf(plan(configured(POOL, [waiting("a")]), T0))).toEqual(["m"]);
  });

  test("case 44: is requested while that is held off", () => {
    expect(createsOf(plan(stuck(), T0))).toEqual(["m:on-demand"]);
  });

  test("the pool looks again when a run has waited for `spotPatience`", () => {
    const full = () => configured({ ...POOL, maxInstances: 0 }, [waiting("a")]);
    expect(poolMachine.wakeAt(at(full(), T0, tick))).toBe(T0 + 2 * MINUTE);
    expect(poolMachine.wakeAt(at(full(), T0 + 2 * MINUTE, tick))).toBeUndefined();
  });

  test("case 47: is requested first if it costs no more", () => {
    const cheap = { ...m, fallback: { price: 1 } };
    expect(createsOf(plan(configured({ instanceTypes: { m: cheap } }, [waiting("a")]), T0))).toEqual([
      "m:on-demand",
    ]);
  });

  test("is all that a run gets which must not be interrupted", () => {
    const run = waiting("a", { asks: { spot: "never" } });
    expect(createsOf(plan(configured(POOL, [run]), T0))).toEqual(["m:on-demand"]);
  });
});
