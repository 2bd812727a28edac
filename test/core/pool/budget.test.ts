import { expect, test } from "vitest";
import { poolMachine } from "../../../src/core/pool/machine.ts";
import { plan } from "../../../src/core/pool/plan/plan.ts";
import type { Configured } from "../../../src/core/pool/state.ts";
import { holdsOf, listing, poolAt, shown } from "../support/clouds.ts";
import { at, createsOf, MINUTE, T0, waiting, workerRow } from "../support/pool.ts";

// Other pools and tools share an account's calls. What is left of them is for ending machines
// (clouds.md#shared-budget-of-calls).

const LIMIT = 3_600;
const often = { sync: { interval: "10s" }, instanceTypes: { small: { vcpus: 4, memory: "1GiB" } } };
const listedWith = (remaining: number, now = T0, state = poolAt("hetzner", often, [], [workerRow("w1")])) =>
  at(state, now, listing([shown("w1")], { budget: { limit: LIMIT, remaining } }));
const nextListing = (state: Configured) => (poolMachine.wakeAt(state) ?? Number.POSITIVE_INFINITY) - T0;

test.each([
  ["enough", 3_000, 10_000],
  ["a tenth", 360, 10_000],
  ["less than a tenth", 359, MINUTE],
  ["nothing", 0, MINUTE],
])("with %s of its calls left (%i), an account is listed again after %i ms", (_what, remaining, ms) => {
  expect(nextListing(listedWith(remaining))).toBe(ms);
});

test("while listings pause, machines are made as ever (case 59)", () => {
  const scarce = listedWith(100);
  expect(holdsOf(scarce)).toEqual(["rate_limit of list"]);
  const resources = { vcpus: 4, memoryBytes: 1_000, diskBytes: 0, gpus: 0 };
  scarce.runs.set("a", waiting("a", { resources }), T0);
  scarce.workers.set("w1", workerRow("w1", "shutdown"), T0);
  expect(createsOf(plan(scarce, T0))).toEqual(["small"]);
});

test("the pause is over once a listing shows that there are calls again", () => {
  const scarce = listedWith(100);
  expect(holdsOf(listedWith(3_000, T0 + MINUTE, scarce))).toEqual([]);
});
