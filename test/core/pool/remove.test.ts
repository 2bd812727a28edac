import { describe, expect, test } from "vitest";
import { exportableAt } from "../../../src/core/audit/export.ts";
import { answerConfigure } from "../../../src/core/pool/configure.ts";
import { poolMachine } from "../../../src/core/pool/machine.ts";
import { poolView } from "../../../src/core/pool/read/views.ts";
import { logWakesAt } from "../../../src/core/pool/rows/deleted-log.ts";
import { type Configured, isRemoved, type PoolState } from "../../../src/core/pool/state.ts";
import {
  answer,
  at,
  configured,
  MINUTE,
  owed,
  placed,
  pool,
  reloaded,
  run,
  T0,
  waiting,
  workerRow,
  workerSays,
} from "../support/pool.ts";
import { poolConfig } from "../support/pool-config.ts";

const configure = (remove?: "empty" | "drained", revision = 2) => ({
  type: "configure" as const,
  body: {
    pool: "default",
    revision,
    config: poolConfig(),
    seed: "s",
    ...(remove === undefined ? {} : { remove }),
  },
});
const answered = (state: PoolState, remove: "empty" | "drained") =>
  answerConfigure(state, configure(remove).body);
const ends = run("a", { version: 2, state: "complete", wants: "nothing", ended: 1 });
const leaves = [
  workerSays("w1", { version: 3, phase: "shutdown", idleBehavior: "drain" }),
  workerSays("w1", { version: 4, phase: "gone", idleBehavior: "drain" }),
];

describe("a pool is deleted only if it is empty (api.md#pool-deletion)", () => {
  test("then it is gone at once, also after a restart, and takes no run", () => {
    const state = at(configured({}, [], [workerRow("w1", "gone")]), T0, configure("empty"));
    expect(answered(state, "empty")).toEqual({ kind: "configured", revision: 2, removed: true });
    expect(isRemoved(reloaded(state))).toBe(true);
    expect(answer(at(state, T0, run("b")), "b")).toMatchObject({ kind: "refused", code: "unknown_pool" });
    expect(poolMachine.due(state, T0 + 90 * MINUTE)).toEqual([]);
  });

  test("only then it has an alarm for its part of the log (audit.md#deleted-pools)", () => {
    const wakesAt = (state: Configured) => {
      state.runs.flush();
      return logWakesAt(state);
    };
    const leaving = at(configured({}, [placed("a", "w1")], [workerRow("w1")]), T0, configure("drained"));
    expect(wakesAt(leaving)).toBeUndefined();
    const removed = at(leaving, T0, ends, ...leaves);
    expect(wakesAt(removed)).toBe(exportableAt(removed.record.exported));
  });

  test.each([
    ["a run waits", configured({ maxInstances: 0 }, [waiting("a")])],
    ["a run is placed", configured({}, [placed("a", "w1")])],
    ["a run has ended, and still uses its place", configured({}, [placed("a", "w1", { state: "complete" })])],
    ["a machine may exist", configured({}, [], [workerRow("w1", "shutdown")])],
  ])("not while %s", (_what, before) => {
    const state = at(before, T0, configure("empty"));
    expect(answered(state, "empty")).toMatchObject({ kind: "refused", code: "pool_in_use", revision: 2 });
    expect(state.record.leaving).toBeUndefined();
  });

  test("one that never was is gone", () => {
    expect(answered(pool(null), "drained")).toEqual({ kind: "configured", revision: 2, removed: true });
    expect(answered(poolMachine.apply(pool(null), configure("drained"), T0), "drained")).toMatchObject({
      removed: true,
    });
  });
});

describe("or it is drained (cases.md#case-7: deleted while a run is being placed)", () => {
  const draining = (...more: Parameters<typeof configured>) =>
    at(configured(...more), T0, configure("drained"));

  test("a run that waits is placed, ends once, and the pool goes with the last machine", () => {
    let state = draining({}, [waiting("a")], [workerRow("w1")]);
    expect(answer(state, "a")).toMatchObject({ kind: "placed", worker: "w1", epoch: 1 });
    expect(answered(state, "drained")).toEqual({ kind: "configured", revision: 2 });
    expect(owed(state, T0, "drain_worker")).toEqual([]);
    state = at(state, T0 + 1, ends);
    expect(owed(reloaded(state), T0 + 1, "drain_worker").map(({ to }) => to)).toEqual(["w1"]);
    expect(isRemoved(state)).toBe(false);
    state = at(state, T0 + 2, ...leaves);
    expect(answered(state, "drained")).toMatchObject({ removed: true });
    expect(answer(at(state, T0 + 3, ends), "a")).toEqual({ kind: "none", version: 2 });
  });

  test("a machine is still asked for, for a run that has none", () => {
    const [create] = owed(draining({}, [waiting("a")]), T0, "create");
    expect(create).toBeDefined();
  });

  test("it takes no new run, and says so; one that it has is no new one", () => {
    const state = draining({}, [waiting("a")]);
    expect(answer(at(state, T0, run("b")), "b")).toMatchObject({ kind: "refused", code: "pool_draining" });
    expect(answer(at(state, T0, run("a", { version: 2 })), "a")).toEqual({ kind: "queued" });
    expect(poolView(state, T0).leaving).toBe(true);
  });

  test("self-hosted machines are let go, too; one that is held stays, and keeps the pool", () => {
    const own = workerRow("mine", "ready", {
      kind: "self-hosted",
      instanceType: "self-hosted",
      resources: null,
    });
    const state = draining({}, [], [own, workerRow("w1", "ready", { idleBehavior: "hold" })]);
    expect(owed(state, T0, "drain_worker").map(({ to }) => to)).toEqual(["mine"]);
  });

  test("putting it again takes that back", () => {
    const state = at(draining({}, [], [workerRow("w1")]), T0, configure(undefined, 3));
    expect(state.record.leaving).toBeUndefined();
    expect(answer(at(state, T0, run("b")), "b")).toMatchObject({ kind: "placed" });
  });

  test("an older revision says nothing", () => {
    const state = at(configured({}), T0, configure(undefined, 3), configure("drained", 2));
    expect(state.record.leaving).toBeUndefined();
  });
});
