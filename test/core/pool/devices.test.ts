import { describe, expect, test } from "vitest";
import type { UsableGpus } from "../../../src/core/messages.ts";
import type { PoolEvent } from "../../../src/core/pool/machine.ts";
import { plan } from "../../../src/core/pool/plan/plan.ts";
import { metricsOf } from "../../../src/core/pool/read/metrics.ts";
import { explainRun, workerSummary } from "../../../src/core/pool/read/views.ts";
import type { WorkerRow } from "../../../src/core/pool/record.ts";
import { answerRun } from "../../../src/core/pool/rows/runs.ts";
import type { Configured } from "../../../src/core/pool/state.ts";
import type { PoolConfigInput } from "../../../src/schema/pool.ts";
import {
  at,
  configured,
  createsOf,
  NEED,
  placed,
  placesOf,
  reloaded,
  run,
  T0,
  upsert,
  waiting,
  waitsOf,
  workerRow,
  workerSays,
} from "../support/pool.ts";
import { poolConfig } from "../support/pool-config.ts";

const TYPE = { vcpus: 8, memory: "8GiB", disk: "0", gpus: 2, price: 1 };
const TYPES = { instanceTypes: { gpu: TYPE } };
const DEARER = { instanceTypes: { gpu: TYPE, large: { ...TYPE, price: 5 } } };
const T4 = { vendor: "nvidia", model: "Tesla T4", memoryBytes: 15 * 2 ** 30 };

const gpus = (count: number): UsableGpus => ({ count, kinds: count === 0 ? [] : [T4] });
const wants = (count: number, more: object = {}) => ({ resources: { ...NEED, gpus: count }, ...more });
const made = (worker: string, phase: WorkerRow["phase"] = "ready", more: Partial<WorkerRow> = {}) =>
  workerRow(worker, phase, { instanceType: "gpu", type: TYPE, ...more });

/** A self-hosted machine with these GPUs. */
function own(worker: string, has: UsableGpus | undefined, more: Partial<WorkerRow> = {}): WorkerRow {
  const nothing = { vcpus: 0, memory: 0, disk: 0, gpus: 0, price: 0 };
  const resources = { vcpus: 16, memoryBytes: 2 ** 36, diskBytes: 0, gpus: has?.count ?? 0 };
  const row = { instance: null, instanceType: "self-hosted", type: nothing, kind: "self-hosted" } as const;
  return { ...workerRow(worker, "ready", row), resources, gpus: has, ...more } as WorkerRow;
}

// devices.md#asks
describe("a run that asks for a kind of GPU, in a pool with a self-hosted machine", () => {
  const none = { maxInstances: 0 };
  const asks = (model: string) => ({ asks: { gpu: { model } } });

  test.each<[string, UsableGpus | undefined, string, string[]]>([
    ["is placed there if the GPUs are of that kind", gpus(1), "T4", ["a@w1"]],
    ["is not if they are of another kind", gpus(1), "A100", []],
    ["is not while none can be used", gpus(0), "T4", []],
    ["is not if its host names none", undefined, "T4", []],
  ])("%s", (_what, has, model, places) => {
    const queue = [waiting("a", wants(1, asks(model)))];
    expect(placesOf(configured(none, queue, [own("w1", has)]))).toEqual(places);
  });

  test("is taken in as long as such a machine is there, and else refused", () => {
    const state = configured(none, [], [own("w1", gpus(1))]);
    expect(answerRun(state, upsert("a", wants(1, asks("T4"))), T0)).toMatchObject({ kind: "none" });
    expect(answerRun(state, upsert("a", wants(1, asks("A100"))), T0)).toMatchObject({
      code: "unsatisfiable",
    });
  });

  test("is taken in while its GPUs cannot be used, and placed when they can", () => {
    const state = configured(none, [waiting("b", wants(1))], [own("w1", { ...gpus(0), listed: gpus(1) })]);
    expect(placesOf(state)).toEqual([]);
    expect(answerRun(state, upsert("a", wants(1, asks("T4"))), T0)).toMatchObject({ kind: "none" });
    expect(answerRun(state, upsert("a", wants(2)), T0)).toMatchObject({ code: "unsatisfiable" });
  });

  test("waits for its GPUs, and takes no others", () => {
    const t4 = own("w1", gpus(1));
    const a100 = own("w2", { count: 1, kinds: [{ ...T4, model: "A100" }] });
    const queue = [waiting("b", wants(1, asks("T4"))), waiting("c", wants(1, asks("A100")))];
    const state = configured(none, [placed("a", "w1", wants(1)), ...queue], [t4, a100]);
    expect(placesOf(state)).toEqual(["c@w2"]);
  });
});

// devices.md#capacity
describe("a provider's machine has as many GPUs as its host can use", () => {
  const full = { ...TYPES, maxInstances: 1 };

  test.each<[string, UsableGpus | undefined, string[]]>([
    ["all that its type says, if its host names none", undefined, ["a@w1", "b@w1"]],
    ["all that its type says", gpus(2), ["a@w1", "b@w1"]],
    ["no more than its type says", gpus(8), ["a@w1", "b@w1"]],
    ["one, as long as the other is broken", gpus(1), ["a@w1"]],
    ["none", gpus(0), []],
  ])("%s", (_what, has, places) => {
    const queue = ["a", "b", "c"].map((id) => waiting(id, wants(1)));
    expect(placesOf(configured(full, queue, [made("w1", "ready", { gpus: has })]))).toEqual(places);
  });

  test("which does not keep runs from it that need none", () => {
    const state = configured(full, [waiting("a")], [made("w1", "ready", { gpus: gpus(0) })]);
    expect(placesOf(state)).toEqual(["a@w1"]);
  });

  test("and lists and metrics show them", () => {
    const rows = [made("w1", "ready", { gpus: gpus(1) }), own("w2", gpus(1))];
    const state = configured(full, [placed("a", "w2", wants(1))], rows);
    const [first] = rows;
    expect(first && workerSummary(first, [], state.record).resources.gpus).toBe(1);
    const values = metricsOf(state, T0).flatMap(({ name, labels, value }) =>
      name.endsWith("_gpus") && value > 0 ? [[name, labels.category, value]] : [],
    );
    expect(values).toEqual([
      ["drover_allocated_gpus", undefined, 1],
      ["drover_instances_gpus", "inuse", 1],
      ["drover_instances_gpus", "idle", 1],
    ]);
  });
});

// devices.md#capacity
describe("a pool learns how many GPUs the machines of a type have", () => {
  const first = "default-s-1";
  const says = (worker: string, count: number, version = 2) =>
    workerSays(worker, { version, gpus: gpus(count) });
  const configure = (more: Partial<PoolConfigInput>): PoolEvent => ({
    type: "configure",
    body: { pool: "default", revision: 2, config: poolConfig(more), seed: "s" },
  });
  const learnedOf = ({ record }: Configured) => record.learnedGpus?.gpu;
  const story = (more: Partial<PoolConfigInput> = TYPES) => at(configured(more), T0, run("a", wants(2)));
  const taught = (count: number, more: Partial<PoolConfigInput> = TYPES) =>
    at(story(more), T0, says(first, count));

  test.each([
    ["fewer than the type says", 1, 1],
    ["none", 0, 0],
    ["as many", 2, undefined],
    ["more", 3, undefined],
  ])("%s", (_what, count, learned) => {
    expect(learnedOf(taught(count))).toBe(learned);
  });

  test("so it asks for no other one in vain, and says the numbers", () => {
    const state = at(reloaded(taught(1)), T0, { type: "tick" });
    expect([state.record.nextWorker, waitsOf(plan(state, T0))]).toEqual([2, { a: "fewer_gpus" }]);
    expect(explainRun(state, "a", T0)?.reason.text).toMatch(/asks for 2 GPUs.*gpu 1 of 2/);
  });

  test("but for one of another type", () => {
    expect(taught(1, DEARER).workers.get("default-s-2")).toMatchObject({ instanceType: "large" });
  });

  test("and a run that needs no more than there are still gets one", () => {
    const { record } = taught(1);
    expect(createsOf(plan({ ...configured(TYPES, [waiting("b", wants(1))]), record }, T0))).toEqual(["gpu"]);
  });

  test("nothing from a GPU that breaks later, which other machines do not have", () => {
    expect(learnedOf(at(taught(2), T0, says(first, 1, 3)))).toBeUndefined();
  });

  test("nothing from one machine while others of its type have more", () => {
    const rows = [made("w1", "ready", { gpus: gpus(2) }), made("w2", "booting", { readyAt: null })];
    expect(learnedOf(at(configured(TYPES, [], rows), T0, says("w2", 1)))).toBeUndefined();
    const short = [made("w1", "ready", { gpus: gpus(1) }), made("w2", "booting", { readyAt: null })];
    expect(learnedOf(at(configured(TYPES, [], short), T0, says("w2", 1)))).toBe(1);
  });

  test("nothing from a machine whose host names none", () => {
    expect(learnedOf(at(story(), T0, workerSays(first)))).toBeUndefined();
  });

  test("until a machine of the type has more, such as the same one once its driver is loaded", () => {
    const state = at(taught(0), T0, says(first, 1, 3));
    expect(learnedOf(state)).toBe(1);
    expect(at(state, T0, says(first, 2, 4)).record).not.toHaveProperty("learnedGpus");
  });

  test("until the pool is put again, with whatever types", () => {
    expect(learnedOf(at(taught(1), T0, configure(TYPES)))).toBeUndefined();
  });

  test("a run is refused for what is configured alone, never for what was learned", () => {
    expect(answerRun(taught(0), upsert("b", wants(2)), T0)).toMatchObject({ kind: "none" });
  });
});
