import { expect, test } from "vitest";
import { takeCall } from "../../../src/core/pool/provider/asked-calls.ts";
import { freeAt } from "../../../src/core/pool/provider/turns.ts";
import type { Configured } from "../../../src/core/pool/state.ts";
import { at, configured, held, hold, owed, T0, workerRow } from "../support/pool.ts";

// Calls that people ask for share the rate of all calls of a pool (clouds.md#console).

/** A pool whose latest listing was a while ago. */
function pool(maxCloudOpsPerSecond: number, workers: ReturnType<typeof workerRow>[] = []): Configured {
  const state = configured({ maxCloudOpsPerSecond }, [], workers);
  state.memo.sweptAt = T0 - 30_000;
  return state;
}

test("no more are made in any second than the pool may make (clouds.md#console)", () => {
  const state = pool(2);
  const waits = [0, 0, 10, 999, 1_000, 1_001, 1_500].map((ms) => takeCall(state, T0 + ms));
  expect(waits).toEqual([0, 0, 990, 1, 0, 0, 500]);
});

test("a listing and the turns of workers count, too (clouds.md#console)", () => {
  const listed = pool(1);
  listed.memo.sweptAt = T0 - 400;
  expect(takeCall(listed, T0)).toBe(600);
  const turn = { version: 1, at: T0 - 100, call: "destroy" as const };
  expect(takeCall(pool(1, [workerRow("w1", "shutdown", { turn })]), T0)).toBe(900);
});

test("workers and listings wait for them (clouds.md#console)", () => {
  const state = pool(2, [workerRow("w1", "shutdown", { waits: "destroy" })]);
  expect([takeCall(state, T0), takeCall(state, T0)]).toEqual([0, 0]);
  expect(freeAt(state)).toBe(T0 + 1_000);
  const turns = (ms: number) => owed(at(state, T0 + ms, { type: "tick" }), T0 + ms, "turn").length;
  expect([turns(1), turns(999), turns(1_000)]).toEqual([0, 0, 1]);
});

test("none is made while the provider wants a pause (clouds.md#console)", () => {
  const paused = held(pool(10), hold(T0 + 3_000, { cause: "rate_limit" }));
  expect([takeCall(paused, T0), takeCall(paused, T0 + 3_000)]).toEqual([3_000, 0]);
  // What keeps machines from being created does not keep their consoles from being read.
  expect(takeCall(held(pool(10), hold(T0 + 3_000, { cause: "quota" })), T0)).toBe(0);
});
