import { describe, expect, test } from "vitest";
import { type PoolEvent, poolMachine } from "../../../src/core/pool/machine.ts";
import { settingsOf } from "../../../src/core/pool/record.ts";
import type { PoolConfigInput } from "../../../src/schema/pool.ts";
import { httpOf } from "../../support/provider.ts";
import {
  answer,
  at,
  configured,
  placeOf,
  pool,
  run,
  T0,
  vcpus,
  waiting,
  workerRow,
} from "../support/pool.ts";
import { poolConfig } from "../support/pool-config.ts";

const configure = (revision: number, more: Partial<PoolConfigInput> = {}, seed = "s2"): PoolEvent => ({
  type: "configure",
  body: { pool: "default", revision, config: poolConfig(more), seed },
});
const other = { provider: { kind: "http" as const, url: "http://other.test", secret: "s" } };

describe("a configuration counts by its revision", () => {
  test("the first one makes the pool", () => {
    expect(at(pool(null), T0, configure(7)).record).toMatchObject({
      name: "default",
      revision: 7,
      seed: "s2",
      nextWorker: 1,
    });
  });

  test.each([
    [0, 1, 64],
    [1, 1, 64],
    [2, 2, 5],
    [9, 9, 5],
  ])("revision %d after 1: it has %d then", (revision, kept, maxInstances) => {
    const state = at(configured(), T0, configure(revision, { maxInstances: 5 }));
    expect(state.record).toMatchObject({ revision: kept, config: { maxInstances } });
  });

  test("the seed of the first one stays, and so do the numbers of the workers", () => {
    const state = at(configured(), T0, run("a"), configure(2, {}, "other"));
    expect(state.record).toMatchObject({ seed: "s", nextWorker: 2 });
  });

  test("it takes effect at once", () => {
    const state = at(configured({ maxInstances: 0 }, [waiting("a", vcpus(2))]), T0, configure(2));
    expect([...state.workers.live()]).toHaveLength(1);
  });
});

describe("a pool does not lose sight of machines (409 pool_in_use)", () => {
  test.each([
    ["a machine", [workerRow("w1")], true],
    ["a machine that is to disappear", [workerRow("w1", "shutdown")], true],
    [
      "a machine that is merely asked for",
      [workerRow("w1", "asked", { turn: { version: 1, at: T0, call: "create" as const } })],
      true,
    ],
    ["only machines that are gone", [workerRow("w1", "gone")], false],
    ["none", [], false],
  ])("another provider, while it has %s: refused %s", (_what, workers, refused) => {
    const state = at(configured({}, [], workers), T0, configure(2, other));
    expect(state.memo.refusedRevision).toBe(refused ? 2 : 0);
    expect(state.record).toMatchObject({ revision: refused ? 1 : 2 });
    expect(httpOf(state.record.config).url).toBe(refused ? "http://cloud.test" : "http://other.test");
  });

  test("another secret of the same provider is no other provider", () => {
    const provider = { kind: "http" as const, url: "http://cloud.test", secret: "new" };
    const state = at(configured({}, [], [workerRow("w1")]), T0, configure(2, { provider }));
    expect(httpOf(state.record.config).secret).toBe("new");
  });

  test("what was refused keeps no later one out", () => {
    const state = at(
      configured({}, [], [workerRow("w1")]),
      T0,
      configure(2, other),
      configure(3, { maxInstances: 3 }),
    );
    expect(state.record).toMatchObject({ revision: 3, config: { maxInstances: 3 } });
  });
});

test("without a configuration a pool says nothing, and nothing but one gives it state (R6)", () => {
  const events: PoolEvent[] = [
    { type: "tick" },
    { type: "place_answered", sent: placeOf("a"), answer: { kind: "no_such" } },
    { type: "drain_worker_answered", sent: { worker: "w1" }, answer: { kind: "no_such" } },
    { type: "listed", consistencyMs: 0, answer: { kind: "listed", beganAt: T0, items: [] } },
  ];
  for (const event of events) {
    const state = poolMachine.apply(pool(null), event, T0);
    expect(state.record).toBeNull();
    expect(poolMachine.due(state, T0)).toEqual([]);
  }
});

test("a worker gets of the configuration what it needs, in milliseconds", () => {
  const timeouts = { boot: "1m", probe: "2m", idle: "3s", shutdown: "4s", lease: "5m" };
  const config = poolConfig({ timeouts, probe: { interval: "1s", boot: "true" }, maxRunsPerInstance: 6 });
  expect(settingsOf(config)).toEqual({
    probeIntervalMs: 1_000,
    bootCommand: "true",
    bootMs: 60_000,
    probeMs: 120_000,
    idleMs: 3_000,
    shutdownMs: 4_000,
    leaseMs: 300_000,
    maxRuns: 6,
    staleRunMs: 5_000,
    unlistedMs: 120_000,
    maxKillMs: 3_600_000,
  });
});

test("lower limits take nothing away from what runs already", () => {
  const state = at(
    configured({}, [], [workerRow("w1")]),
    T0,
    run("a"),
    configure(2, { maxInstances: 0, maxRunsPerInstance: 1 }),
  );
  expect(answer(state, "a")).toMatchObject({ kind: "placed", worker: "w1" });
});
