import { describe, expect, test } from "vitest";
import { type PoolEvent, poolMachine } from "../../../src/core/pool/machine.ts";
import { plan } from "../../../src/core/pool/plan/plan.ts";
import { explainRun } from "../../../src/core/pool/read/views.ts";
import type { WorkerRow } from "../../../src/core/pool/record.ts";
import type { Configured } from "../../../src/core/pool/state.ts";
import type { PoolConfigInput } from "../../../src/schema/pool.ts";
import {
  at,
  configured,
  createsOf,
  placed,
  placesOf,
  reloaded,
  run,
  T0,
  vcpus,
  waiting,
  waitsOf,
  workerRow,
  workerSays,
} from "../support/pool.ts";
import { poolConfig } from "../support/pool-config.ts";

// Where a run with containers is placed (containers.md#engines, containers.md#outage).

const NONE = { why: "the machine has no container engine", lasts: true };
const DOWN = { why: "podman: no answer", lasts: false };
const SMALL = { vcpus: 4, memory: "1GiB", price: 1 };
const LARGE = { vcpus: 8, memory: "4GiB", price: 2 };
const FULL = { maxInstances: 1 };
const BOTH = { instanceTypes: { small: SMALL, large: LARGE }, priceFactor: 9 };

/** A run with a container, and a host that knows containers. */
const contained = (id: string, more: object = {}) => waiting(id, { containers: {}, protocol: 2, ...more });
const worker = (id: string, more: Partial<WorkerRow> = {}, phase?: WorkerRow["phase"]) =>
  workerRow(id, phase, { protocol: 2, ...more });
const without = (id: string, more: Partial<WorkerRow> = {}) => worker(id, { noEngine: NONE, ...more });
const down = (id: string) => worker(id, { noEngine: DOWN });
/** The same pool, of which machines of a type have shown no engine. */
function engineless(state: Configured, ...types: string[]): Configured {
  const known = Object.fromEntries(types.map((type) => [type, NONE.why]));
  return { ...state, record: { ...state.record, engineless: known } };
}

interface Seen {
  places?: string[];
  creates?: string[];
  waits?: Record<string, string>;
}

describe("a run with a container", () => {
  test.each<[string, Configured, Seen]>([
    ["is placed where an engine is", configured({}, [contained("a")], [worker("w1")]), { places: ["a@w1"] }],
    [
      "passes a fuller machine over that has none, and takes nothing from what is placed there",
      configured({}, [placed("x", "w1"), contained("a"), waiting("b")], [without("w1"), worker("w2")]),
      { places: ["a@w2", "b@w1"] },
    ],
    [
      "waits where no machine has one, and blocks no command behind it",
      engineless(configured(FULL, [contained("a"), waiting("b")], [without("w1")]), "small"),
      { places: ["b@w1"], waits: { a: "no_engine" } },
    ],
    [
      "waits for a machine with one that is full, and not for one without",
      configured(
        { ...FULL, maxRunsPerInstance: 1 },
        [placed("x", "w1"), contained("a")],
        [worker("w1"), without("w2", { kind: "self-hosted" })],
      ),
      { waits: { a: "max_instances w1" } },
    ],
    [
      "gets a machine of a type that is not known to have none",
      engineless(configured(BOTH, [contained("a")], [without("w1")]), "small"),
      { creates: ["large"], waits: { a: "machine_asked" } },
    ],
    [
      "does not count on a machine that boots, and is of such a type",
      engineless(configured(BOTH, [contained("a")], [worker("w1", {}, "booting")]), "small"),
      { creates: ["large"], waits: { a: "machine_asked" } },
    ],
    [
      "counts on one that boots, and of whose type nothing is known",
      configured({}, [contained("a")], [worker("w1", {}, "booting")]),
      { waits: { a: "machine_booting w1" } },
    ],
    [
      "waits for room if it is too large for all of them anyway",
      engineless(configured(FULL, [contained("a", vcpus(8))], [without("w1")]), "small"),
      { waits: { a: "no_type" } },
    ],
    [
      "is told that an agent is too old, which says nothing of engines",
      configured(FULL, [contained("a")], [worker("w1", { protocol: 1 })]),
      { waits: { a: "agent_too_old" } },
    ],
  ])("%s", (_what, state, { places = [], creates = [], waits = {} }) => {
    const planned = plan(state, T0);
    expect(placesOf(state)).toEqual(places);
    expect([createsOf(planned), waitsOf(planned)]).toEqual([creates, waits]);
  });

  test("is told why, once for each type and worker, and three of them at most", () => {
    const workers = ["w1", "w2", "w3", "w4"].map((id) => without(id, { instanceType: "other" }));
    const state = engineless(configured({ maxInstances: 1 }, [contained("a")], workers), "small");
    const text = explainRun(state, "a", T0)?.reason.text;
    expect(text).toContain(`(machines of type small: ${NONE.why}; worker w1: ${NONE.why}; `);
    expect(text).toContain("and 2 more): install Docker or podman");
  });

  test("is told of no machine of another project (projects.md#machines)", () => {
    const projects = { default: {}, ml: {} };
    const workers = [without("w1", { project: "ml" }), without("w2", { project: "default" })];
    const state = engineless(configured({ projects }, [contained("a")], workers), "small");
    const other = { why: "rootless", lasts: true };
    for (const row of [...state.workers.live()])
      state.workers.set(row.worker, { ...row, noEngine: other }, T0);
    const text = explainRun(state, "a", T0)?.reason.text;
    expect(text).toContain("worker w2: rootless");
    expect(text).toContain("machines of type small: they have shown no engine");
    expect(text).not.toContain("w1");
    expect(text).not.toContain(NONE.why);
  });
});

describe("an engine that does not answer (containers.md#outage)", () => {
  test("takes no new run with a container, and every other run", () => {
    const state = configured(FULL, [contained("a"), waiting("b")], [down("w1")]);
    expect(placesOf(state)).toEqual(["b@w1"]);
    expect(waitsOf(plan(state, T0))).toEqual({ a: "no_engine" });
  });

  test("moves nothing that runs, and lets no machine leave for it", () => {
    const state = configured(FULL, [placed("x", "w1", { containers: {} }), contained("a")], [down("w1")]);
    const { reserved, waits, creates } = plan(state, T0);
    expect([reserved, creates, waits.get("a")?.code]).toEqual([null, [], "no_engine"]);
    const after = at(state, T0, { type: "tick" });
    expect(after.workers.get("w1")).toMatchObject({ phase: "ready", idleBehavior: "run", stopUntil: 0 });
    expect([...after.runs.live()].find(({ run: id }) => id === "x")).toMatchObject({
      worker: "w1",
      opened: 1,
    });
  });

  test.each<[string, string[], Configured]>([
    [
      "none while no machine of the type has one that answers",
      [],
      configured({}, [contained("a")], [down("w1")]),
    ],
    ["one of another type", ["large"], configured(BOTH, [contained("a")], [down("w1")])],
    [
      "one if another of the type has one that answers",
      ["small"],
      configured({}, [placed("x", "w2", vcpus(4)), contained("a")], [down("w1"), worker("w2")]),
    ],
    [
      "none if another of the type is too old to say anything",
      [],
      configured({}, [contained("a")], [down("w1"), worker("w2", { protocol: 1, idleBehavior: "drain" })]),
    ],
    [
      "one if that machine has another image",
      ["small"],
      configured({ image: "new" }, [contained("a")], [worker("w1", { noEngine: DOWN, image: "old" })]),
    ],
    [
      "one for a run without containers",
      ["small"],
      configured({}, [waiting("a", vcpus(4)), waiting("b")], [down("w1")]),
    ],
    [
      "one if that machine is of another project (projects.md#machines)",
      ["small"],
      configured(
        { projects: { default: {}, ml: {} } },
        [contained("a")],
        [worker("w1", { noEngine: DOWN, project: "ml" })],
      ),
    ],
  ])("more machines are made: %s", (_what, creates, state) => {
    const planned = plan(state, T0);
    expect(createsOf(planned)).toEqual(creates);
    if (creates.length === 0) expect(waitsOf(planned)).toEqual({ a: "no_engine" });
  });

  test("leaves no note about its type, since it may be back in a moment", () => {
    const state = configured({}, [contained("a")], [down("w1")]);
    expect(at(state, T0, workerSays("w1", { noEngine: DOWN })).record.engineless).toBeUndefined();
  });
});

describe("a type whose machines have no engine is not made in vain again", () => {
  const first = "default-s-1";
  const says = (id: string, version: number, more: object = {}) =>
    workerSays(id, { version, protocol: 2, ...more });
  const configure = (more: Partial<PoolConfigInput>): PoolEvent => ({
    type: "configure",
    body: { pool: "default", revision: 2, config: poolConfig(more), seed: "s" },
  });
  const ONE = { instanceTypes: { small: SMALL } };
  const asking = (more: Partial<PoolConfigInput> = ONE) =>
    at(configured(more), T0, run("a", { containers: {}, protocol: 2 }));
  const taught = (more?: Partial<PoolConfigInput>) =>
    at(asking(more), T0, says(first, 2, { noEngine: NONE }));

  test("the first machine shows it, and no second one is asked for", () => {
    const state = taught();
    expect(state.record).toMatchObject({ nextWorker: 2, engineless: { small: NONE.why } });
    expect(waitsOf(plan(state, T0))).toEqual({ a: "no_engine" });
  });

  test("another type is tried", () => {
    expect(taught(BOTH).workers.get("default-s-2")).toMatchObject({ instanceType: "large" });
  });

  test("not when that machine is gone either, nor after a restart", () => {
    const gone = says(first, 3, { phase: "gone", noEngine: NONE });
    const state = at(reloaded(at(taught(), T0, gone)), T0, { type: "tick" });
    expect(state.record.nextWorker).toBe(2);
    expect(waitsOf(plan(state, T0))).toEqual({ a: "no_engine" });
  });

  test("a machine that shows one after all ends that, and takes the run", () => {
    const state = at(taught(), T0, says(first, 3));
    expect(state.record.engineless).toBeUndefined();
    expect([...state.runs.live()]).toMatchObject([{ run: "a", worker: first }]);
  });

  test("not one of many: another machine of the type has one", () => {
    const state = configured({}, [], [worker("w1"), worker("w2", { readyAt: null }, "booting")]);
    expect(at(state, T0, says("w2", 2, { noEngine: NONE })).record.engineless).toBeUndefined();
  });

  test("one with an older image does not count for that", () => {
    const old = worker("w1", { image: "old" });
    const state = configured({ image: "new" }, [], [old, worker("w2", { readyAt: null }, "booting")]);
    expect(at(state, T0, says("w2", 2, { noEngine: NONE })).record.engineless).toEqual({ small: NONE.why });
  });

  test("a host that is heard again has said nothing new", () => {
    const state = configured({}, [], [without("w1", { phase: "unknown" })]);
    expect(at(state, T0, says("w1", 2, { noEngine: NONE })).record.engineless).toBeUndefined();
  });

  test("a host that is too old to say anything ends no note", () => {
    const old = worker("w2", { readyAt: null }, "booting");
    const state = engineless(configured({}, [], [old]), "small");
    const after = at(state, T0, workerSays("w2", { version: 2, protocol: 1 }));
    expect(after.record.engineless).toEqual({ small: NONE.why });
  });

  test("what a host says is cut, in the note and in texts", () => {
    const long = { why: "x".repeat(900), lasts: true };
    const state = at(asking(), T0, says(first, 2, { noEngine: long }));
    expect(state.record.engineless).toEqual({ small: "x".repeat(200) });
    expect(explainRun(state, "a", T0)?.reason.text.length).toBeLessThan(500);
  });

  test("saying it again changes nothing", () => {
    const state = taught();
    expect(poolMachine.apply(state, says(first, 2, { noEngine: NONE }), T0).record).toBe(state.record);
  });

  test.each<[string, object]>([
    ["is self-hosted", { kind: "self-hosted" }],
    ["was asked for when the type was another", { type: { vcpus: 2, memory: "1GiB", disk: "0", gpus: 0 } }],
  ])("a machine that %s teaches nothing", (_what, more) => {
    const state = configured({}, [], [worker("w1", more, "booting")]);
    expect(at(state, T0, says("w1", 2, { noEngine: NONE })).record.engineless).toBeUndefined();
  });

  test.each<[string, Partial<PoolConfigInput>, number]>([
    ["another bound of the pool: still none", { ...ONE, maxInstances: 7 }, 2],
    ["another image: a new machine", { ...ONE, image: "with-docker" }, 3],
    ["another type of this name: a new machine", { instanceTypes: { small: { ...SMALL, vcpus: 6 } } }, 3],
  ])("%s", (_what, more, nextWorker) => {
    const state = at(taught(), T0, configure(more), { type: "tick" });
    expect(state.record.nextWorker).toBe(nextWorker);
  });
});
