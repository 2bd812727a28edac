import { describe, expect, test } from "vitest";
import { CREATE_NOT_AFTER_MS } from "../../../src/core/limits.ts";
import { type PoolEvent, poolMachine } from "../../../src/core/pool/machine.ts";
import type { Configured, Hold } from "../../../src/core/pool/state.ts";
import { nextCreateAt } from "../../../src/core/pool/throttle.ts";
import type { PoolConfig } from "../../../src/schema/pool.ts";
import {
  at,
  configured,
  held,
  hold,
  owed,
  reloaded,
  T0,
  vcpus,
  waiting,
  workerRow,
} from "../support/pool.ts";

const tick: PoolEvent = { type: "tick" };
const RUNS = Array.from({ length: 7 }, (_, n) => waiting(`r${n}`, vcpus(4)));
const told = (state: Configured, now: number) => owed(state, now, "create").length;

describe("no more calls in any second than `maxCloudOpsPerSecond` (D8, arvados.md §2.11)", () => {
  const asked = () => at(configured({ maxCloudOpsPerSecond: 3 }, RUNS), T0, tick);

  test("all are permitted at once, and told in their turn", () => {
    expect([...asked().workers.live()].map((row) => (row.tellAt ?? T0) - T0)).toEqual([
      0, 0, 0, 1_000, 1_000, 1_000, 2_000,
    ]);
    expect([0, 999, 1_000, 1_999, 2_000].map((ms) => told(asked(), T0 + ms))).toEqual([3, 3, 6, 6, 7]);
  });

  test("over a restart, too", () => {
    expect([0, 1_000, 2_000].map((ms) => told(reloaded(asked()), T0 + ms))).toEqual([3, 6, 7]);
  });

  test("the pool wakes for each turn", () => {
    const wakes: (number | undefined)[] = [];
    let state = asked();
    for (const ms of [0, 1_000, 2_000]) {
      state = at(state, T0 + ms, tick);
      wakes.push(poolMachine.wakeAt(state));
    }
    expect(wakes).toEqual([T0 + 1_000, T0 + 2_000, undefined]);
  });

  test("its turn does not use up the time that a permit has", () => {
    const last = [...asked().workers.live()].at(-1);
    expect(last?.notAfter).toBe(T0 + 2_000 + CREATE_NOT_AFTER_MS);
  });

  test("a configuration of an earlier version has no limit", () => {
    const state = configured({}, RUNS);
    const { maxCloudOpsPerSecond: _none, ...config } = state.record.config;
    const earlier = { ...state, record: { ...state.record, config: config as PoolConfig } };
    expect(told(at(earlier, T0, tick), T0)).toBe(7);
  });
});

// arvados.md §2.6 point 4
describe("destroys and listings go first: creates wait for them, and never they for creates (D8)", () => {
  const now = T0 + 5_000;
  const destroyed = (worker: string, ms: number) => workerRow(worker, "shutdown", { heardAt: now + ms });

  test.each<[string, Configured, number]>([
    ["no call", configured({ maxCloudOpsPerSecond: 2 }), 0],
    ["one destroy", configured({ maxCloudOpsPerSecond: 2 }, [], [destroyed("w1", 0)]), 0],
    [
      "as many destroys",
      configured({ maxCloudOpsPerSecond: 2 }, [], [destroyed("w1", 0), destroyed("w2", -400)]),
      600,
    ],
    [
      "as many a second ago",
      configured({ maxCloudOpsPerSecond: 2 }, [], [destroyed("w1", -1_000), destroyed("w2", -1_000)]),
      0,
    ],
    [
      "a destroy and a listing",
      at(configured({ maxCloudOpsPerSecond: 2 }, [], [destroyed("w1", 0)]), now - 100, {
        type: "listed",
        answer: { kind: "failed", failure: { class: "temporary", text: "" } },
      }),
      900,
    ],
  ])("after %s", (_what, state, ms) => {
    expect(nextCreateAt(state, now) - now).toBe(ms);
  });
});

describe("while the provider asks for a pause, nobody is told to call it (peers.md §8 case 20)", () => {
  const pause = (cause: Hold["cause"], scope: string) => hold(T0 + 9_000, { cause, scope });
  const workers = [workerRow("w1", "asked"), workerRow("w2", "asked")];

  test.each<[Hold["cause"], string, number]>([
    ["rate_limit", "all", 0],
    ["temporary", "all", 0],
    ["rate_limit", "list", 2],
    ["capacity", "type:small", 2],
  ])("%s of %s: told are %d", (cause, scope, count) => {
    const state = at(held(configured({}, [], workers), pause(cause, scope)), T0, tick);
    expect(told(state, T0 + 8_999)).toBe(count);
    expect(told(state, T0 + 9_000)).toBe(2);
  });

  test("the pool wakes at its end", () => {
    expect(
      poolMachine.wakeAt(at(held(configured({}, [], workers), pause("rate_limit", "all")), T0, tick)),
    ).toBe(T0 + 9_000);
  });
});
