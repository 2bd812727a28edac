import { describe, expect, test } from "vitest";
import { loadedAllocation } from "../../../src/core/allocation/load.ts";
import { allocationMachine } from "../../../src/core/allocation/machine.ts";
import type { PoolAnswer } from "../../../src/core/messages.ts";
import {
  abort,
  at,
  ended,
  nothing,
  observed,
  ordered,
  orderNow,
  owed,
  place,
  placedOn,
  pool,
  queued,
  REF,
  RUN,
  reloaded,
  runAt,
  running,
  specOf,
  started,
  submit,
  T0,
} from "../support/allocation.ts";

const BUSY: PoolAnswer = { kind: "refused", code: "busy", text: "full", retryAfterMs: 10_000 };

describe("an allocation without state says nothing, and only a submission gives it one (R6)", () => {
  test.each([
    ["a tick", { type: "tick" as const }],
    ["a poke", { type: "poke_run" as const, body: REF }],
    ["an abort", abort()],
    ["a place", place()],
    ["a report", observed([running])],
    ["an end", ended("lost")],
    ["the pool's answer", pool(1, placedOn())],
  ])("%s changes nothing", (_what, event) => {
    const state = at(nothing(), T0, event);
    expect(state.record).toBeNull();
    expect(allocationMachine.due(state, T0)).toEqual([]);
    expect(allocationMachine.wakeAt(state)).toBeUndefined();
    expect(orderNow(state, 1, T0)).toEqual({ kind: "no_such" });
  });
});

describe("a submission", () => {
  test("is told to its pool, as a run that wants a place (messages.md#submission)", () => {
    const state = at(nothing(), T0, submit({ pool: "gpu", priority: 7, labels: { team: "x" } }));
    expect(allocationMachine.due(state, T0)).toEqual([
      {
        object: "pool",
        to: "gpu",
        kind: "run",
        repeatedBy: "self",
        body: {
          run: RUN,
          by: "admin",
          project: "default",
          budget: null,
          submittedAt: T0,
          version: 1,
          state: "pending",
          priority: 7,
          labels: { team: "x" },
          command: "make test",
          resources: { vcpus: 1, memoryBytes: 256 * 2 ** 20, diskBytes: 0, gpus: 0 },
          hostPaths: false,
          fakes: false,
          protocol: 0,
          exitCode: null,
          startedAt: null,
          finishedAt: null,
          restarts: 0,
          oomKills: 0,
          taskFailures: {},
          startFailures: 0,
          storedBytes: 0,
          avoid: [],
          prefer: null,
          wants: "place",
          epoch: 0,
          ended: 0,
        },
      },
    ]);
  });

  test.each([
    ["an absolute directory is one of the host's", "/srv", true],
    ["a relative one is the task's own", "srv", false],
  ])("%s (api.md#refused-specs)", (_what, dir, hostPaths) => {
    expect(owed(at(nothing(), T0, submit({ dir })), T0).run?.hostPaths).toBe(hostPaths);
  });

  test("says whether a task is only played (`allowFakeDriver`)", () => {
    const task = { name: "m", argv: ["x"] };
    const fakes = (more: object) =>
      owed(at(nothing(), T0, submit({ argv: undefined, tasks: [{ ...task, ...more }] })), T0).run?.fakes;
    expect([fakes({ driver: "fake" }), fakes({ driver: "exec" }), fakes({})]).toEqual([true, false, false]);
  });

  test("shows no more of a long command line than lists have room for", () => {
    const state = at(nothing(), T0, submit({ argv: ["x".repeat(50), "y".repeat(50)] }));
    expect(owed(state, T0).run?.command).toBe(`${"x".repeat(50)} ${"y".repeat(29)}`);
  });

  test.each([
    ["while it waits", queued()],
    ["while it runs", started()],
  ])("that comes a second time, %s, changes nothing", (_what, before) => {
    const state = at(before, T0 + 5, {
      type: "submitted",
      by: "admin",
      project: "default",
      budget: null,
      id: RUN,
      spec: specOf({ argv: ["other"] }),
      hash: "h2",
    });
    expect(state.record).toBe(before.record);
  });

  test("is acknowledged with the pool's word that it has the row (messages.md#submission)", () => {
    const fresh = runAt(nothing(), T0, submit());
    expect(fresh.memo.accepted).toBe(false);
    for (const answer of [{ kind: "queued" } as const, placedOn(), { kind: "none", version: 1 } as const]) {
      expect(at(fresh, T0, pool(1, answer)).memo.accepted).toBe(true);
    }
    expect(at(fresh, T0, place()).memo.accepted).toBe(true);
  });

  test("that the pool has is not repeated to it", () => {
    expect(owed(queued(), T0)).toEqual({});
  });
});

describe("a pool that refuses", () => {
  test("empties the run, so that nothing is stored, and its reason is there for the client", () => {
    const state = at(nothing(), T0, submit(), pool(1, BUSY));
    expect(state.record).toBeNull();
    expect(state.memo.refusal).toEqual(BUSY);
    expect(allocationMachine.due(state, T0)).toEqual([]);
  });

  test("does not keep the same id from being submitted again", () => {
    const state = at(nothing(), T0, submit(), pool(1, BUSY), submit());
    expect(owed(state, T0).run).toMatchObject({ version: 1, wants: "place" });
    expect(state.memo.refusal).toBeNull();
  });

  // `refused` is an answer "only before the submission is acknowledged" (messages.md#submission).
  test.each([
    ["an acknowledged run", queued()],
    ["a placed run", ordered()],
    ["a run that runs", started()],
    ["a run that runs, of an allocation that was loaded again", reloaded(started())],
    ["an aborted run", runAt(queued(), T0, abort(), pool(2, { kind: "none", version: 2 }))],
  ])("too late does not make %s disappear (invariant 1)", (_what, before) => {
    expect(at(before, T0 + 1, pool(before.record.version, BUSY)).record).toEqual(before.record);
  });
});

describe("after a restart nothing is believed to be known (shell.md#machine)", () => {
  test("the pool is told again, and its answer brings the placement back", () => {
    const state = reloaded(ordered());
    expect(owed(state, T0)).toMatchObject({ run: { version: 1, wants: "place", epoch: 0 } });
    expect(owed(state, T0).order).toBeUndefined();
    expect(owed(at(state, T0, pool(1, placedOn())), T0).order).toMatchObject({ epoch: 1, revision: 1 });
  });

  test("a run that has started is ordered again as well", () => {
    expect(owed(reloaded(started()), T0)).toMatchObject({ run: { epoch: 1 }, order: { epoch: 1 } });
  });

  test("the end is told again, too, and an ended run gives no orders", () => {
    const over = runAt(started(), T0, ended("lost"));
    const { run, order } = owed(loadedAllocation(over.record, false), T0);
    expect(run).toMatchObject({ state: "unknown", wants: "nothing", epoch: 0, ended: 1 });
    expect(order).toBeUndefined();
  });

  test("a poke has the order repeated, whose loss nobody else would notice", () => {
    expect(owed(ordered(), T0).order).toBeUndefined();
    expect(owed(at(ordered(), T0, { type: "poke_run", body: REF }), T0).order).toMatchObject({
      epoch: 1,
      revision: 1,
    });
  });
});
