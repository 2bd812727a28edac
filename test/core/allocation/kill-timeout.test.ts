import { describe, expect, test } from "vitest";
import type { AllocationEvent } from "../../../src/core/allocation/machine.ts";
import { whyOf } from "../../../src/core/allocation/read/why.ts";
import { openPlacement } from "../../../src/core/allocation/state.ts";
import type { PoolAnswer } from "../../../src/core/messages.ts";
import type { RunSpecInput } from "../../../src/schema/run/run.ts";
import { MAX_KILL_MS } from "../../../src/shared/limits.ts";
import {
  abort,
  nothing,
  observed,
  pool,
  reloaded,
  runAt,
  running,
  type Submitted,
  submit,
  T0,
} from "../support/allocation.ts";
import { task } from "../support/group.ts";

/** A run that runs on a worker whose pool bounds kill timeouts by `maxKillMs`. */
function runsUnder(maxKillMs: number | undefined, more: Partial<RunSpecInput>): Submitted {
  const bound = maxKillMs === undefined ? {} : { maxKillMs };
  const placed: PoolAnswer = { kind: "placed", worker: "w1", epoch: 1, ...bound };
  return runAt(nothing(), T0, submit(more), pool(1, placed), observed([running]));
}

const hour = { killTimeout: "1h" };
const timeOver: AllocationEvent = { type: "tick" };

describe("N6: the kill timeout that is shown is the one that the host gets", () => {
  test.each<[string, number | undefined, Partial<RunSpecInput>, string]>([
    ["the bound of the pool", 700, hour, "700ms"],
    ["the spec's own, where it is shorter", 5_000, { killTimeout: "2s" }, "2s"],
    ["the usual bound, where the pool names none", undefined, { killTimeout: "2h" }, "1h"],
  ])("%s", (_what, maxKillMs, more, shown) => {
    expect(MAX_KILL_MS).toBe(3_600_000);
    const state = runAt(runsUnder(maxKillMs, more), T0, abort());
    const killing = state.record.events.find(({ type }) => type === "Killing");
    expect(killing?.details.kill_timeout).toBe(shown);
    expect(whyOf(state, null, "w1", T0).reason.text).toContain(`killed after ${shown}`);
  });

  test("also where its host was heard before its pool, after an eviction", () => {
    const terms = { rate: 0.5, maxKillMs: 700 };
    const placed: PoolAnswer = { kind: "placed", worker: "w1", epoch: 1, ...terms };
    const submitted = runAt(nothing(), T0, submit(hour), pool(1, placed));
    const heard = runAt(reloaded(submitted), T0 + 1, observed([running]));
    expect(openPlacement(heard)).not.toMatchObject(terms);
    const version = heard.record.version;
    const told = runAt(heard, T0 + 2, pool(version, { ...placed, worker: "w2" }), pool(version, placed));
    expect(told.record.placements).toMatchObject([{ worker: "w1", epoch: 1, from: T0 + 1, ...terms }]);
    // They are those of its beginning: a price that changes later is not that of this placement.
    const again = runAt(told, T0 + 3, pool(version, { ...placed, rate: 9 }));
    expect(again.record).toBe(told.record);
    const killing = runAt(told, T0 + 4, abort()).record.events.find(({ type }) => type === "Killing");
    expect(killing?.details.kill_timeout).toBe("700ms");
  });

  test("of a task of a group, and of a run whose time is over", () => {
    const tasks = [task("main", hour), task("side", hour)];
    const spec = { argv: undefined, tasks, timeout: "1m" } as unknown as Partial<RunSpecInput>; // two forms
    const timedOut = observed([{ ...running, state: "stopping", timedOut: true }]);
    const group = runAt(runsUnder(700, spec), T0 + 60_000, timeOver, timedOut);
    const shown = group.record.events.filter(({ type, task: of }) => type === "Killing" && of !== null);
    expect(shown.map(({ details }) => details.kill_timeout)).toEqual(["700ms", "700ms"]);
    const lone = runAt(runsUnder(700, { ...hour, timeout: "1m" }), T0 + 60_000, timeOver, timedOut);
    expect(lone.record.events.at(-1)?.details.kill_timeout).toBe("700ms");
  });
});
