import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import type { AllocationRecord } from "../../src/core/allocation/state.ts";
import type { PoolRecord } from "../../src/core/pool/record.ts";
import type { Stored } from "../../src/objects/migrations.ts";
import { RunSpec } from "../../src/schema/run/run.ts";
import { takeViolations } from "./support/violations.ts";
import { bindings, eventually, freshWorld, makePool, objects, submit } from "./support/world.ts";

freshWorld();

/** Changes what an object has stored, as no step of it would, and lets it load that. */
async function spoil<Value>(stub: DurableObjectStub, change: (value: Value) => Value): Promise<void> {
  await runInDurableObject(stub, (_object, { storage }) => {
    const stored = storage.kv.get<Stored<Value>>("state");
    if (stored === undefined) throw new Error("nothing is stored");
    storage.kv.put("state", { ...stored, value: change(stored.value) });
  });
  await evictDurableObject(stub);
}

/** How many broken invariants of a machine its pool has counted. */
async function counted(machine: string): Promise<number | undefined> {
  const samples = await objects.pool("default").metrics();
  const name = "drover_invariants_violated_total";
  return samples.find((one) => one.name === name && one.labels.object === machine)?.value;
}

const HOUR_MS = 3_600_000;
const violated = (machine: string, id: string, at: number) => ({
  ...{ event: "invariant_violated", machine, id, rule: "rules.md#invariant-5" },
  what: `it asks to be woken at ${at}`,
});

test("a step that breaks an invariant is logged, counted and stored (shell.md#assertions)", async () => {
  await makePool({ maxInstances: 0 });
  await submit("run");
  expect(await counted("allocation")).toBe(0);
  const placeAt = Date.now() + HOUR_MS + 0.5;
  await spoil<AllocationRecord>(bindings.ALLOCATION.getByName("run"), (run) => ({ ...run, placeAt }));
  const spec = RunSpec.parse({ id: "run", argv: ["true"], priority: 7 });
  await objects.allocation("run").update({ spec, specIndex: 1, by: "ann" });
  expect(takeViolations()).toContainEqual(violated("allocation", "run", placeAt));
  await eventually(async () => ((await counted("allocation")) ?? 0) > 0 || undefined);
  await evictDurableObject(bindings.ALLOCATION.getByName("run"));
  expect(await objects.allocation("run").read()).toMatchObject({ spec: { priority: 7 } });
  takeViolations();
});

test("a pool counts its own, also if each of its steps breaks one (shell.md#assertions)", async () => {
  await makePool({ maxInstances: 0 });
  await submit("run");
  const until = Date.now() + HOUR_MS + 0.5;
  const hold = { cause: "temporary" as const, scope: "all", tries: 1, until, reason: "no" };
  await spoil<PoolRecord>(bindings.POOL.getByName("default"), (record) => ({ ...record, holds: [hold] }));
  const before = (await counted("pool")) ?? 0;
  expect(await counted("pool")).toBe(before + 1);
  expect(takeViolations()).toContainEqual(violated("pool", "default", until));
  await evictDurableObject(bindings.POOL.getByName("default"));
  // A step is counted in the next one: of those before the eviction all but the last are stored.
  expect(await counted("pool")).toBe(before + 1);
  takeViolations();
});
