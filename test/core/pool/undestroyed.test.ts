import { expect, test } from "vitest";
import { poolView } from "../../../src/core/pool/read/views.ts";
import { boots, poolAt } from "../support/clouds.ts";
import { at, T0, workerRow } from "../support/pool.ts";

// A machine that its cloud does not destroy costs money, and only a person can help (clouds.md#auth).

const DENIED = "the provider did not take the destroy (auth): UnauthorizedOperation";
const instance = "i-w1";
const ending = () => {
  const type = { vcpus: 4, memory: "1GiB", disk: "0", gpus: 0, price: 0.5 };
  const pool = poolAt("ec2", {}, [], [workerRow("w1", "ready", { instance, type })]);
  return at(pool, T0, boots("w1", { instance, phase: "shutdown", destroyFailure: DENIED, version: 2 }));
};

test("case 71: the pool says so, and goes on counting what it costs", () => {
  const { cloudError, spend } = poolView(ending(), T0);
  expect(cloudError).toBe(`worker w1 still costs money: ${DENIED}`);
  expect(spend?.perHour).toBe(0.5);
});

test("and no longer once the destroy is taken", () => {
  const taken = boots("w1", { instance, phase: "shutdown", destroyFailure: null, version: 3 });
  expect(poolView(at(ending(), T0, taken), T0).cloudError).toBeNull();
});
