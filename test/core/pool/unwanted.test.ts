import { describe, expect, test } from "vitest";
import type { WorkerRow } from "../../../src/core/pool/record.ts";
import type { Configured } from "../../../src/core/pool/state.ts";
import type { PoolConfigInput } from "../../../src/schema/pool.ts";
import {
  at,
  configured,
  held,
  hold,
  MINUTE,
  owed,
  reloaded,
  T0,
  upsert,
  vcpus,
  waiting,
  workerRow,
  workerSays,
} from "../support/pool.ts";

const failure = { class: "temporary" as const, text: "403", at: T0 };
/** A worker whose create has failed, and waits for its next turn. */
const failed = (worker: string, more: Partial<WorkerRow> = {}) =>
  workerRow(worker, "booting", { failure, waits: "create", ...more });
const RUN = waiting("a", vcpus(4));
const aborted = { type: "run" as const, body: upsert("a", { ...RUN, version: 2, state: "aborted" }) };
const tick = { type: "tick" as const };
const until = T0 + MINUTE;
const pool = (workers: WorkerRow[], more: Partial<PoolConfigInput> = {}) =>
  held(configured({ maxInstances: 4, ...more }, [RUN], workers), hold(until));
const told = (state: Configured, now: number, kind: "drain_worker" | "turn" | "create") =>
  owed(state, now, kind).map(({ to }) => to);

describe("A4: a create that has failed is not repeated for a machine that nothing needs", () => {
  test("its run is aborted: the worker is told to end, and has no turn any more", () => {
    const waits = at(pool([failed("w1")]), T0, tick);
    expect(told(waits, T0, "drain_worker")).toEqual([]);
    const over = at(waits, T0 + 1, aborted);
    expect(told(over, T0 + 1, "drain_worker")).toEqual(["w1"]);
    expect(told(at(reloaded(over), T0 + 2, tick), T0 + 2, "drain_worker")).toEqual(["w1"]);
    const later = at(over, until, tick);
    expect(told(later, until, "turn")).toEqual([]);
    const heard = at(later, until, workerSays("w1", { version: 2, idleBehavior: "drain", waits: "create" }));
    expect(told(heard, until, "drain_worker")).toEqual([]);
  });

  test("its run waits: it is asked for again when the hold-off ends", () => {
    expect(told(at(pool([failed("w1")]), until, tick), until, "turn")).toEqual(["w1"]);
  });

  test("of two that have failed, the one that no run counts on is given up", () => {
    const state = at(pool([failed("w1"), failed("w2", { askedAt: T0 + 1 })]), T0 + 1, tick);
    expect(told(state, T0 + 1, "drain_worker")).toEqual(["w2"]);
  });

  test.each<[string, WorkerRow, Partial<PoolConfigInput>]>([
    ["belongs to the minimum", failed("w1"), { minInstances: 1 }],
    ["is held", failed("w1", { idleBehavior: "hold" }), {}],
    ["has been made", failed("w1", { instance: "i-1", waits: undefined }), {}],
    ["is being asked for", failed("w1", { turn: { version: 1, at: T0, call: "create" as const } }), {}],
  ])("one that %s stays", (_what, row, more) => {
    const state = at(pool([row], more), T0, tick, aborted);
    expect(told(state, T0, "drain_worker")).toEqual([]);
  });

  test("a permit that had no turn is withdrawn, and what another run needs is asked for at once", () => {
    const busy = [workerRow("w1", "asked", { askedAt: T0 - 1 })];
    const state = configured({ maxInstances: 1, maxCloudOpsPerSecond: 1 }, [RUN], busy);
    state.memo.sweptAt = T0;
    const first = at(state, T0, tick);
    expect(told(first, T0, "create")).toEqual([]);
    const over = at(first, T0 + 1, aborted);
    expect(over.workers.get("w1")).toMatchObject({
      phase: "gone",
      reason: expect.stringMatching(/^never created/),
    });
    const next = waiting("b", vcpus(4));
    const again = at(over, T0 + 2, { type: "run", body: upsert("b", next) });
    expect([...again.workers.live()].map(({ phase }) => phase)).toEqual(["asked"]);
    expect(told(at(again, T0 + 2_000, tick), T0 + 2_000, "create")).toHaveLength(1);
  });
});
