import { describe, expect, test } from "vitest";
import { type PoolEvent, poolMachine } from "../../../src/core/pool/machine.ts";
import { plan } from "../../../src/core/pool/plan/plan.ts";
import { explainRun, workerSummary } from "../../../src/core/pool/read/views.ts";
import type { WorkerRow } from "../../../src/core/pool/record.ts";
import { answerRun } from "../../../src/core/pool/rows/runs.ts";
import { MAX_OPEN_ENROLLMENTS } from "../../../src/shared/limits.ts";
import {
  at,
  configured,
  createsOf,
  held,
  hold,
  MINUTE,
  NEED,
  owed,
  POOL,
  placed,
  placesOf,
  run,
  T0,
  upsert,
  vcpus,
  waiting,
  waitsOf,
  workerRow,
  workerSays,
} from "../support/pool.ts";

// host-protocol.md#self-hosted-machines: it has no provider. decisions/workers.md#self-hosted-machine: it is
// no permit.

const HOUR = 60 * MINUTE;
const BIG = { ...NEED, vcpus: 16, memoryBytes: 2 ** 36 };
const invite = (worker = "default-s-1"): PoolEvent => ({ type: "invite", worker, ttlMs: HOUR, by: "admin" });

/** A self-hosted machine of 16 vCPUs, or one that is still waited for. */
function own(worker: string, phase: WorkerRow["phase"] = "ready", more: Partial<WorkerRow> = {}): WorkerRow {
  const type = { vcpus: 0, memory: 0, disk: 0, gpus: 0, price: 0 };
  const resources = phase === "ready" ? BIG : null;
  const row = workerRow(worker, phase, {
    instance: null,
    instanceType: "self-hosted",
    type,
    kind: "self-hosted",
  });
  return { ...row, resources, ...more } as WorkerRow;
}

describe("an invitation", () => {
  test("is a row, then a worker is told of it, and no permit is used", () => {
    const state = at(configured({ maxInstances: 1 }), T0, invite(), run("a"));
    const due = poolMachine.due(state, T0).filter(({ kind }) => kind === "create");
    expect(due.map(({ to }) => to)).toEqual(["default-s-1", "default-s-2"]);
    expect(due[0]).toMatchObject({
      body: { kind: "self-hosted", notAfter: T0 + HOUR, worker: "default-s-1" },
    });
    expect(due[0]).toMatchObject({ body: { settings: { bootCommand: "true" } } });
  });

  test("waits for no provider that wants a pause", () => {
    const pause = hold(T0 + HOUR, { cause: "rate_limit", scope: "all" });
    const state = at(held(configured(), pause), T0, invite());
    expect(owed(state, T0, "create")).toMatchObject([{ to: "default-s-1" }]);
  });

  test("its time counts from the moment in which it was asked for, by one clock", () => {
    const row = at(configured(), T0 + 7, invite()).workers.get("default-s-1");
    expect(row).toMatchObject({ askedAt: T0 + 7, notAfter: T0 + 7 + HOUR });
  });

  test("of the same worker again changes nothing", () => {
    const state = at(configured(), T0, invite());
    const again = at(state, T0 + 5, { type: "invite", worker: "default-s-1", ttlMs: 2 * HOUR, by: "admin" });
    expect(again.workers.get("default-s-1")?.notAfter).toBe(T0 + HOUR);
    expect(again.record.nextWorker).toBe(2);
  });

  test("is refused while MAX_OPEN_ENROLLMENTS others wait to be used", () => {
    const open = (count: number) =>
      configured(
        {},
        [],
        Array.from({ length: count }, (_, n) => own(`w${n}`, "booting")),
      );
    const invited = (count: number) => at(open(count), T0, invite()).workers.get("default-s-1") !== undefined;
    expect(invited(MAX_OPEN_ENROLLMENTS - 1)).toBe(true);
    expect(invited(MAX_OPEN_ENROLLMENTS)).toBe(false);
  });

  test("is counted on by no run, since nobody knows whether anybody will come", () => {
    const state = configured({ maxInstances: 0 }, [waiting("a")], [own("w1", "booting"), own("w2", "asked")]);
    expect(waitsOf(plan(state, T0))).toEqual({ a: "no_workers" });
  });

  test("that ends unused holds no machine of a provider off", () => {
    const state = at(
      configured({}, [], [own("w1", "booting")]),
      T0,
      workerSays("w1", { phase: "gone", bootOutcome: null }),
    );
    expect(state.record.holds).toEqual([]);
  });
});

describe("runs on self-hosted machines", () => {
  test("are placed by what the host has measured", () => {
    const rows = [own("mine"), workerRow("w1")];
    expect(placesOf(configured({}, [waiting("big", vcpus(16))], rows))).toEqual(["big@mine"]);
    expect(placesOf(configured({}, [waiting("huge", vcpus(17))], rows))).toEqual([]);
  });

  test("take what the host says when it enrolls", () => {
    const state = at(
      configured({ maxInstances: 0 }, [waiting("a", vcpus(8))], [own("mine", "booting")]),
      T0,
      workerSays("mine", { instance: null, resources: BIG }),
    );
    expect([...state.runs.live()]).toMatchObject([{ run: "a", worker: "mine", opened: 1 }]);
  });

  test("that no instance type can hold are taken if such a machine can", () => {
    const wanted = upsert("a", vcpus(16));
    const without = at(configured(), T0, { type: "run", body: wanted });
    expect(answerRun(without, wanted, T0)).toMatchObject({ kind: "refused", code: "unsatisfiable" });
    const full = configured({}, [placed("b", "mine", vcpus(1))], [own("mine")]);
    const state = at(full, T0, { type: "run", body: wanted });
    expect(answerRun(state, wanted, T0)).toEqual({ kind: "queued" });
    expect(explainRun(state, "a", T0)?.reason.code).toBe("self_hosted_only");
  });

  test("go to no machine that is held or drained", () => {
    for (const idleBehavior of ["hold", "drain"] as const) {
      const state = configured({ maxInstances: 0 }, [waiting("a")], [own("mine", "ready", { idleBehavior })]);
      expect(placesOf(state)).toEqual([]);
    }
  });
});

describe("they are not the provider's", () => {
  test("they count neither against maxInstances nor for minInstances", () => {
    const state = configured({ minInstances: 1, maxInstances: 1 }, [], [own("mine")]);
    expect(createsOf(plan(state, T0))).toEqual(["small"]);
    const full = configured(
      { maxInstances: 1 },
      [waiting("a", vcpus(4))],
      [own("o", "unknown"), own("p", "unknown")],
    );
    expect(createsOf(plan(full, T0))).toEqual(["small"]);
  });

  test("one is no reason to let another one stop", () => {
    const rows = [own("mine"), workerRow("w1")];
    const state = at(configured({ minInstances: 1 }, [], rows), T0, workerSays("w1", { wantsStop: true }));
    expect(state.workers.get("w1")?.stopUntil).toBe(0);
  });

  test("no listing is asked for, nor said of them", () => {
    const state = configured({}, [], [own("mine")]);
    expect(poolMachine.wakeAt(state)).toBeUndefined();
    const listed = at(state, T0, {
      type: "listed",
      consistencyMs: 0,
      answer: { kind: "listed", beganAt: T0, items: [] },
    });
    expect(listed.memo.sightings).toEqual({});
  });

  test("they do not keep the provider from being changed", () => {
    const before = configured({}, [], [own("mine")]);
    const { config } = before.record;
    const moved = { ...config, provider: { ...config.provider, url: "http://other.test" } };
    const event = {
      type: "configure" as const,
      body: { pool: "default", revision: 2, config: moved, seed: "s" },
    };
    expect(at(before, T0, event).record.revision).toBe(2);
  });

  test("their owner is asked how it is after a lease of silence, as of any other", () => {
    const state = configured({}, [], [own("mine")]);
    const later = T0 + 30 * MINUTE;
    expect(poolMachine.due(state, later).map(({ kind }) => kind)).toContain("poke_worker");
  });

  test("lists show them as what they are", () => {
    const shown = workerSummary(own("mine"), [], POOL);
    expect(shown).toMatchObject({ own: true, instanceType: "self-hosted", price: 0, resources: BIG });
    expect(workerSummary(workerRow("w1"), [], POOL).own).toBe(false);
  });
});
