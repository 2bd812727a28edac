import { expect, test } from "vitest";
import { readRun } from "../../../src/core/allocation/read/cost.ts";
import { RunStatus } from "../../../src/schema/run/run.ts";
import {
  at,
  ended,
  existing,
  nothing,
  observed,
  pool,
  reloaded,
  runAt,
  submit,
  T0,
} from "../support/allocation.ts";

const HOUR = 3_600_000;
const placed = (rate?: number, epoch = 1) =>
  pool(1, { kind: "placed", worker: "w1", epoch, ...(rate === undefined ? {} : { rate }) });
const submitted = () => at(nothing(), T0, submit({ reschedule: { attempts: 3, unlimited: false } }));
const costAt = (state: ReturnType<typeof submitted>, now: number) => readRun(existing(state), now).cost;

test("a run costs nothing before it is placed", () => {
  expect(costAt(submitted(), T0 + HOUR)).toEqual({ amount: 0, unpriced: 0, perHour: 0 });
});

test("a run costs its rate times the time of its placement, to the present or the end", () => {
  const state = runAt(submitted(), T0, placed(2));
  expect(costAt(state, T0 + HOUR / 2)).toEqual({ amount: 1, unpriced: 0, perHour: 2 });
  const over = runAt(state, T0 + 2 * HOUR, observed([]), ended("lost"));
  expect(costAt(over, T0 + 9 * HOUR)).toEqual({ amount: 4, unpriced: 0, perHour: 0 });
  expect(costAt(reloaded(over), T0 + 9 * HOUR)).toMatchObject({ amount: 4 });
});

test("a run on a free machine costs nothing, and that is known", () => {
  expect(costAt(runAt(submitted(), T0, placed(0)), T0 + HOUR)).toEqual({
    amount: 0,
    unpriced: 0,
    perHour: 0,
  });
});

test("a price that is not known is never 0 in silence (cases.md#case-21)", () => {
  const state = runAt(submitted(), T0, placed());
  expect(costAt(state, T0 + HOUR)).toEqual({ amount: null, unpriced: 1, perHour: null });
  expect(RunStatus.parse(readRun(state, T0 + HOUR)).cost?.amount).toBeNull();
});

test("a clock that was put back makes nothing cheaper", () => {
  expect(costAt(runAt(submitted(), T0, placed(2)), T0 - HOUR)).toMatchObject({ amount: 0 });
});
