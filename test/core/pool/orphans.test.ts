import { describe, expect, test } from "vitest";
import { type PoolEvent, poolMachine } from "../../../src/core/pool/machine.ts";
import { poolView } from "../../../src/core/pool/read/views.ts";
import type { Configured } from "../../../src/core/pool/state.ts";
import type { Instance } from "../../../src/schema/provider.ts";
import { WORKER_TAG } from "../../../src/shared/cloud/tags.ts";
import { MAX_STRANGERS_SHOWN } from "../../../src/shared/limits.ts";
import {
  at,
  configured,
  MINUTE,
  owed,
  reloaded,
  rowOf,
  run,
  T0,
  workerRow,
  workerSays,
} from "../support/pool.ts";
import { poolConfig } from "../support/pool-config.ts";

function instance(worker: string, more: Partial<Instance> = {}): Instance {
  return {
    id: `i-${worker}`,
    name: worker,
    address: null,
    state: "running",
    instanceType: "small",
    createdAt: "",
    tags: { [WORKER_TAG]: worker },
    ...more,
  };
}

const listed = (...items: Instance[]): PoolEvent => ({
  type: "listed",
  consistencyMs: 0,
  answer: { kind: "listed", beganAt: T0, items },
});
const live = (state: Configured) => [...state.workers.live()].map((row) => row.worker);

// pool.md#sweep-row-4
describe("a machine with our tags that nobody knows is taken in (adoption, cases.md#case-2)", () => {
  const adopted = () => at(configured(), T0, listed(instance("default-s-7")));

  test("as a worker in `unknown`, which is told what it is until it knows, over a restart too", () => {
    for (const state of [adopted(), reloaded(adopted())]) {
      expect(state.workers.get("default-s-7")).toMatchObject({ phase: "unknown", instance: "i-default-s-7" });
      const [told] = owed(state, T0 + MINUTE, "create");
      expect(told).toMatchObject({
        to: "default-s-7",
        body: { notAfter: T0, adopt: { id: "i-default-s-7", address: null } },
      });
    }
    const said = workerSays("default-s-7", {
      version: 1,
      phase: "unknown",
      readyAt: null,
      bootOutcome: null,
    });
    expect(owed(at(adopted(), T0, said), T0 + 1, "create")).toEqual([]);
  });

  test("its name is never given again (invariant 3)", () => {
    const state = at(adopted(), T0, run("a"));
    expect(live(state)).toEqual(["default-s-7", "default-s-8"]);
  });

  test("it counts against `maxInstances`, and no run is counted on it", () => {
    const state = at(configured({ maxInstances: 1 }), T0, listed(instance("default-s-7")), run("a"));
    expect(live(state)).toEqual(["default-s-7"]);
    expect(owed(state, T0, "place")).toEqual([]);
  });

  test("a worker that knows more than we do says so: it is what it says", () => {
    const state = at(adopted(), T0, workerSays("default-s-7", { version: 9 }), run("a"));
    expect(state.workers.get("default-s-7")).toMatchObject({ phase: "ready", version: 9 });
    expect(rowOf(state, "a")).toMatchObject({ worker: "default-s-7", opened: 1 });
  });

  // pool.md#sweep-step-1
  test("of a type that is configured no more it has nothing, and is told to end", () => {
    const state = at(configured(), T0, listed(instance("default-s-7", { instanceType: "m9" })));
    expect(state.workers.get("default-s-7")).toMatchObject({ instanceType: "m9", type: { vcpus: 0 } });
  });

  test("its type is known by what the provider calls it", () => {
    const small = { vcpus: 4, memory: "1GiB", providerType: "t3.small" };
    const types = configured({ instanceTypes: { small } });
    const state = at(types, T0, listed(instance("default-s-7", { instanceType: "t3.small" })));
    expect(state.workers.get("default-s-7")).toMatchObject({ instanceType: "small", type: { vcpus: 4 } });
  });

  const nobody: PoolEvent = {
    type: "poke_worker_answered",
    sent: { worker: "default-s-7" },
    answer: { kind: "no_such" },
  };

  test("that its worker knows nothing before it was told is no news", () => {
    const state = at(adopted(), T0, nobody);
    expect(state.workers.get("default-s-7")).toMatchObject({ phase: "unknown" });
    expect(owed(state, T0, "create")).toHaveLength(1);
  });

  test("one that was taken for gone, and of which its worker knows nothing either, is taken in", () => {
    const gone = configured({}, [], [workerRow("default-s-7", "gone", { version: 3 })]);
    const told = at(gone, T0, listed(instance("default-s-7")));
    expect(owed(told, T0, "sighting")).toHaveLength(1);
    const state = at(told, T0, nobody);
    expect(owed(state, T0, "create")).toMatchObject([{ body: { adopt: { id: "i-default-s-7" } } }]);
    expect(owed(state, T0, "sighting")).toEqual([]);
  });

  test("one that is terminated is nothing any more", () => {
    expect(live(at(configured(), T0, listed(instance("default-s-7", { state: "terminated" }))))).toEqual([]);
  });
});

describe("a machine of somebody else is shown, and left alone", () => {
  test.each([
    ["of another pool of this name, by its seed", "default-t-7"],
    ["with no number", "default-s-x"],
    ["with a number that we would not write so", "default-s-07"],
    ["with a number that nobody counts to", "default-s-9007199254740991"],
    ["with none of our names", "db-primary"],
  ])("%s", (_what, worker) => {
    const state = at(configured(), T0, listed(instance(worker)));
    expect(live(state)).toEqual([]);
    expect(poolMachine.due(state, T0)).toEqual([]);
    expect(poolView(state, T0).strangers).toEqual([`i-${worker}`]);
    expect(at(state, T0, listed()).memo.strangers).toEqual([]);
  });

  test("so many are named, and no more", () => {
    const many = Array.from({ length: MAX_STRANGERS_SHOWN + 1 }, (_, n) => instance(`other-${n}`));
    expect(at(configured(), T0, listed(...many)).memo.strangers).toHaveLength(MAX_STRANGERS_SHOWN);
  });
});

describe("two machines of one worker, which a provider made by mistake (cases.md#case-1)", () => {
  const known = () => configured({}, [], [workerRow("w1")]);
  const one = instance("w1");
  const two = instance("w1", { id: "i-2" });

  test.each([
    ["first", [one, two]],
    ["last", [two, one]],
  ])("the one that it knows counts, listed %s", (_what, items) => {
    expect(owed(at(known(), T0, listed(...items)), T0, "sighting")).toMatchObject([
      { body: { instance: { id: "i-w1" }, doubles: ["i-2"] } },
    ]);
  });

  test("the end of the one that it knows is told, with the other that lives", () => {
    const items = [{ ...one, state: "terminated" as const }, two];
    expect(owed(at(known(), T0, listed(...items)), T0, "sighting")).toMatchObject([
      { body: { instance: { id: "i-w1", state: "terminated" }, doubles: ["i-2"] } },
    ]);
  });
});

describe("the provider's word on a machine's life is input (decisions/workers.md#d28)", () => {
  test.each([
    ["pending", 0],
    ["running", 0],
    ["stopping", 1],
    ["stopped", 1],
    ["error", 1],
    ["terminated", 1],
  ] as const)("%s: its worker is told %d times", (state, count) => {
    const seen = at(configured({}, [], [workerRow("w1")]), T0, listed(instance("w1", { state })));
    expect(owed(seen, T0, "sighting")).toHaveLength(count);
  });

  test("no more when it drains, or is held", () => {
    for (const idleBehavior of ["drain", "hold"] as const) {
      const workers = [workerRow("w1", "ready", { idleBehavior })];
      const seen = at(configured({}, [], workers), T0, listed(instance("w1", { state: "stopped" })));
      expect(owed(seen, T0, "sighting")).toEqual([]);
    }
  });
});

describe("a machine whose instance type was removed from the configuration drains (22971)", () => {
  const other = { other: { vcpus: 4, memory: "1GiB", price: 1 } };
  const configure: PoolEvent = {
    type: "configure",
    body: { pool: "default", revision: 2, config: poolConfig({ instanceTypes: other }), seed: "s" },
  };

  test.each([
    ["ready", { phase: "ready" as const }, 1],
    ["booting", { phase: "booting" as const }, 1],
    ["silent", { phase: "unknown" as const }, 1],
    ["one that is held", { idleBehavior: "hold" as const }, 0],
    ["one that drains", { idleBehavior: "drain" as const }, 0],
    ["one that is being destroyed", { phase: "shutdown" as const }, 0],
    ["a self-hosted one", { kind: "self-hosted" as const }, 0],
    ["one of another type", { instanceType: "other" }, 0],
  ])(
    "%s: %o, told %d times",
    (_what, { phase = "ready", ...more }: Partial<Parameters<typeof workerRow>[2] & object>, count) => {
      const small = { vcpus: 4, memory: "1GiB", price: 1 };
      const types = { instanceTypes: { small, ...other } };
      const before = configured(types, [], [workerRow("w1", phase, more)]);
      expect(owed(before, T0, "drain_worker")).toEqual([]);
      expect(owed(reloaded(at(before, T0, configure)), T0, "drain_worker")).toHaveLength(count);
    },
  );

  test("until it says so, and again if it is resumed", () => {
    const state = at(configured({}, [], [workerRow("w1")]), T0, configure);
    const drained = at(state, T0, workerSays("w1", { idleBehavior: "drain" }));
    expect(owed(drained, T0, "drain_worker")).toEqual([]);
    expect(owed(at(drained, T0, workerSays("w1", { version: 3 })), T0, "drain_worker")).toHaveLength(1);
  });
});
