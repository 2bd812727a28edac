import { describe, expect, test } from "vitest";
import type { RunUpsert } from "../../../src/core/messages.ts";
import { poolMachine } from "../../../src/core/pool/machine.ts";
import { isLiveRun, runKey } from "../../../src/core/pool/record.ts";
import { answerRun } from "../../../src/core/pool/rows/runs.ts";
import {
  answer,
  at,
  configured,
  MINUTE,
  NEED,
  owed,
  placed,
  placeOf,
  pool,
  reloaded,
  rowOf,
  run,
  T0,
  upsert,
  vcpus,
  waiting,
  workerRow,
} from "../support/pool.ts";

const LEASE = 30 * MINUTE;

test("who takes the place of a refused submission under its id is told so (messages.md#late-refused)", () => {
  const late = run("a", { submittedAt: T0 - MINUTE, ...vcpus(3) });
  const both = at(configured({}, [], [workerRow("w1")]), T0, late, run("a", vcpus(3)));
  expect([rowOf(both, "a", T0 - MINUTE)?.worker, rowOf(both, "a")?.worker]).toEqual(["w1", null]);
  const sent = { run: "a", submittedAt: T0 - MINUTE, version: 1 };
  const answered = { kind: "run" as const, run: upsert("a", vcpus(3)) };
  const state = at(both, T0, { type: "poke_run_answered", sent, answer: answered });
  expect(rowOf(state, "a")?.worker).toBe("w1");
  expect(owed(state, T0, "place")).toHaveLength(1);
  expect(owed(reloaded(state), T0, "place")).toHaveLength(1);
});

describe("what a pool answers is its present view of the run (R6)", () => {
  test("placed, in the very answer that brings the run, if there is room", () => {
    const state = at(configured({}, [], [workerRow("w1")]), T0, run("a"));
    const terms = { rate: 0.25, openedAt: T0, maxKillMs: 60 * MINUTE };
    expect(answer(state, "a")).toEqual({ kind: "placed", worker: "w1", epoch: 1, ...terms });
    expect(owed(state, T0, "place")).toEqual([]);
  });

  test("queued, while there is none", () => {
    expect(answer(at(configured(), T0, run("a")), "a")).toEqual({ kind: "queued" });
  });

  test("none, with the version that it has, when the run wants no place and has none (R3)", () => {
    const gives = run("a", { version: 4, wants: "nothing" });
    const state = at(configured(), T0, run("a"), gives);
    expect(answer(state, "a")).toEqual({ kind: "none", version: 4 });
  });

  test("placed, and not none, as long as an epoch is open: whatever the run wants (R3)", () => {
    const state = at(configured({}, [placed("a", "w1")]), T0, run("a", { version: 4, wants: "nothing" }));
    expect(answer(state, "a")).toEqual({ kind: "placed", worker: "w1", epoch: 1 });
    const after = at(state, T0, run("a", { version: 5, wants: "nothing", ended: 1 }));
    expect(answer(after, "a")).toEqual({ kind: "none", version: 5 });
  });

  test("none of version 0, of a run that it does not have and that wants nothing of it", () => {
    expect(answer(configured(), "a", { wants: "nothing" })).toEqual({ kind: "none", version: 0 });
  });
});

test("a full queue that nothing leaves says each time a later time to try again (api.md#submitting)", () => {
  const on = configured({ maxInstances: 1, maxQueue: 10 }, [], [workerRow("w1")]);
  const full = at(on, T0, ...Array.from({ length: 14 }, (_, n) => run(`r${n}`)));
  const after = (ms: number) => answerRun(full, upsert("more"), T0 + ms);
  expect(after(20_000)).toMatchObject({ code: "busy", retryAfterMs: 5_000 });
  expect(after(40_000)).toMatchObject({ code: "busy", retryAfterMs: 10_000 });
});

describe("a submission is refused at once, by code, and nothing is stored (messages.md#submission)", () => {
  const huge = { instanceTypes: { small: { vcpus: 4, memory: "1GiB" } } };

  test.each<[string, Parameters<typeof configured>, Partial<RunUpsert>, string]>([
    ["more than any type has", [huge], vcpus(5), "unsatisfiable"],
    [
      "more memory than is usable of any type",
      [huge],
      { resources: { ...NEED, memoryBytes: 2 ** 30 } },
      "unsatisfiable",
    ],
    ["an absolute directory", [{}], { hostPaths: true }, "host_paths_not_allowed"],
    ["a task that is only played", [{}], { fakes: true }, "fake_driver_not_allowed"],
    ["one more than the queue may hold", [{ maxQueue: 2 }, [waiting("x"), waiting("y")]], {}, "busy"],
  ])("%s", (_what, args, more, code) => {
    const state = at(configured(...args), T0, run("a", more));
    expect(answer(state, "a", more)).toMatchObject({ kind: "refused", code });
    expect(rowOf(state, "a")).toBeUndefined();
  });

  test("a pool that has no configuration is none (404 unknown_pool)", () => {
    const state = poolMachine.apply(pool(null), run("a"), T0);
    expect(answerRun(state, upsert("a"), T0)).toMatchObject({ kind: "refused", code: "unknown_pool" });
    expect([...state.runs.live()]).toEqual([]);
    expect(poolMachine.due(state, T0)).toEqual([]);
    expect(poolMachine.wakeAt(state)).toBeUndefined();
  });

  test("busy says when to try again, the others do not help by waiting", () => {
    expect(answer(configured({ maxQueue: 1 }, [waiting("x")]), "a")).toMatchObject({ retryAfterMs: 10_000 });
    expect(answer(configured(), "a", vcpus(5))).not.toHaveProperty("retryAfterMs");
  });

  test.each<[string, Parameters<typeof configured>, Partial<RunUpsert>]>([
    ["the last that the queue may hold", [{ maxQueue: 2 }, [waiting("x")]], {}],
    ["one that is placed does not count", [{ maxQueue: 1 }, [placed("x", "w1")], [workerRow("w1")]], {}],
    ["an absolute directory, where that is allowed", [{ allowHostPaths: true }], { hostPaths: true }],
    ["a task that is only played, where that is allowed", [{ allowFakeDriver: true }], { fakes: true }],
    ["a pool without machines that may create none waits (`no_workers`)", [{ maxInstances: 0 }], {}],
  ])("not refused: %s", (_what, args, more) => {
    const state = at(configured(...args), T0, run("a", more));
    expect(["queued", "placed"]).toContain(answer(state, "a", more).kind);
  });

  test("a run that the pool has is never refused, whatever has been configured since", () => {
    const state = at(
      configured({ maxQueue: 1, instanceTypes: { tiny: { vcpus: 1, memory: "1MiB" } } }, [
        waiting("a", vcpus(4)),
        waiting("b"),
      ]),
      T0,
      run("a", { version: 2 }),
    );
    expect(answer(state, "a", { version: 2 })).toEqual({ kind: "queued" });
  });

  test("a run that asks for nothing any more is taken, so that it can end (R3)", () => {
    const gives = { wants: "nothing" as const, version: 2, ...vcpus(99) };
    const state = at(configured({ maxQueue: 1 }, [waiting("x")]), T0, run("a", gives));
    expect(answer(state, "a", gives)).toEqual({ kind: "none", version: 2 });
  });
});

describe("one epoch at a time, and none unasked (R2, R3)", () => {
  const two = () => configured({}, [], [workerRow("w1"), workerRow("w2")]);

  test("the next is opened only with the word that the last has ended, and the wish for another", () => {
    let state = at(two(), T0, run("a"));
    state = at(state, T0, run("a", { version: 2 }));
    expect(rowOf(state, "a")).toMatchObject({ opened: 1, worker: "w1" });
    state = at(state, T0, run("a", { version: 3, ended: 1 }));
    expect(answer(state, "a")).toMatchObject({ kind: "placed", epoch: 2 });
  });

  test("not without the wish", () => {
    const state = at(two(), T0, run("a"), run("a", { version: 2, ended: 1, wants: "nothing" }));
    expect(rowOf(state, "a")).toMatchObject({ opened: 1, ended: 1 });
  });

  test.each([
    ["an older version", { version: 1, wants: "nothing" as const, ended: 1 }],
    ["the same version", { version: 2, wants: "nothing" as const, ended: 1 }],
  ])("%s says nothing", (_what, more) => {
    const state = at(two(), T0, run("a"), run("a", { version: 2 }), run("a", more));
    expect(rowOf(state, "a")).toMatchObject({ version: 2, wants: "place", ended: 0, opened: 1 });
  });

  test("an ended epoch is never taken back", () => {
    const state = at(two(), T0, run("a", { ended: 3 }), run("a", { version: 2, ended: 1 }));
    expect(rowOf(state, "a")).toMatchObject({ ended: 3, opened: 4 });
  });

  test("one that it does not know to have opened, and that has ended, is continued above (R1)", () => {
    const state = at(two(), T0, run("a"), run("a", { version: 2, ended: 4 }));
    expect(rowOf(state, "a")).toMatchObject({ ended: 4, opened: 5 });
  });

  test("a run that comes to a pool late is continued above what has ended", () => {
    expect(answer(at(two(), T0, run("a", { ended: 5 })), "a")).toMatchObject({ kind: "placed", epoch: 6 });
  });

  test("what it uses is free with `ended ≥ epoch`, and not before: not with a terminal state (R3)", () => {
    const on = placed("a", "w1", vcpus(4));
    const more = { ...vcpus(4), version: 2, state: "aborted" as const, wants: "nothing" as const };
    const open = at(
      configured({ maxInstances: 1 }, [on], [workerRow("w1")]),
      T0,
      run("a", more),
      run("b", vcpus(4)),
    );
    expect(answer(open, "b").kind).toBe("queued");
    expect(isLiveRun(rowOf(open, "a") ?? on)).toBe(true);
    const free = at(open, T0, run("a", { ...more, version: 3, ended: 1 }));
    expect(answer(free, "b")).toMatchObject({ kind: "placed", worker: "w1" });
    expect(isLiveRun(rowOf(free, "a") ?? on)).toBe(false);
  });
});

describe("an allocation that does not know its place is told (messages.md#place)", () => {
  const opened = () => at(configured({}, [waiting("a")], [workerRow("w1")]), T0, { type: "tick" });

  test("until it says that it does", () => {
    const state = opened();
    expect(owed(state, T0, "place")).toMatchObject([
      { to: "a", repeatedBy: "self", body: { run: "a", worker: "w1", epoch: 1, version: 1 } },
    ]);
    const knows = { kind: "run" as const, run: upsert("a", { epoch: 1 }) };
    expect(
      owed(at(state, T0, { type: "place_answered", sent: placeOf("a"), answer: knows }), T0, "place"),
    ).toEqual([]);
  });

  test("an answer that does not know the epoch settles nothing", () => {
    const knows = { kind: "run" as const, run: upsert("a", { epoch: 0 }) };
    expect(
      owed(at(opened(), T0, { type: "place_answered", sent: placeOf("a"), answer: knows }), T0, "place"),
    ).toHaveLength(1);
  });

  test("an upsert of its own says it as well, and is answered with it", () => {
    expect(owed(at(opened(), T0, run("a", { version: 2 })), T0, "place")).toEqual([]);
    expect(owed(at(opened(), T0, run("a", { epoch: 1 })), T0, "place")).toEqual([]);
  });

  test("after a restart of the pool all are told again whose rows do not say that they know", () => {
    const begun = run("c", { version: 2, state: "running", epoch: 1 });
    const state = at(configured({}, [], [workerRow("w1")]), T0, run("a"), run("b"), run("c"), begun);
    expect(owed(state, T0, "place")).toEqual([]);
    expect(owed(reloaded(state), T0, "place").map(({ to }) => to)).toEqual(["a", "b"]);
  });

  test("each epoch anew", () => {
    let state = at(configured({ maxInstances: 1 }, [], [workerRow("w1")]), T0, run("a", vcpus(4)));
    state = at(
      state,
      T0,
      run("b", vcpus(4)),
      run("a", { version: 2, ended: 1, wants: "nothing", ...vcpus(4) }),
    );
    expect(owed(state, T0, "place").map(({ to }) => to)).toEqual(["b"]);
  });

  test("one that has no state is over: the submission was taken back, or it was forgotten (R6)", () => {
    const state = at(opened(), T0, {
      type: "place_answered",
      sent: placeOf("a"),
      answer: { kind: "no_such" },
    });
    expect(rowOf(state, "a")).toMatchObject({ state: "unknown", wants: "nothing", ended: 1, opened: 1 });
    expect(owed(state, T0, "place")).toEqual([]);
  });

  test.each(["run", "no_such"] as const)(
    "an answer about a row that is not there changes nothing: %s",
    (kind) => {
      const state = at(configured(), T0, {
        type: "place_answered",
        sent: placeOf("z"),
        answer: kind === "run" ? { kind, run: upsert("z") } : { kind },
      });
      expect([...state.runs.live()]).toEqual([]);
    },
  );
});

describe("an owner that was not heard of for one lease is asked how it is (messages.md#self-repair)", () => {
  const state = () => configured({}, [waiting("a")], [workerRow("w1", "booting", { instance: "i-1" })]);

  test.each([
    [LEASE - 1, 0],
    [LEASE, 1],
  ])("after %d ms: %d times", (ms, times) => {
    expect(owed(state(), T0 + ms, "poke_run")).toHaveLength(times);
    expect(owed(state(), T0 + ms, "poke_worker")).toHaveLength(times);
  });

  test("P4: a worker that has not been heard of yet is told to be created, and not asked how it is", () => {
    // After a long outage both would be due at once. A poke that overtakes the order finds no such worker.
    const asked = configured({}, [waiting("a")], [workerRow("w1", "asked")]);
    expect(owed(asked, T0 + LEASE, "poke_worker")).toEqual([]);
  });

  test("its answer puts the next time off by a lease, also if it says nothing new", () => {
    const now = T0 + LEASE;
    const knows = { kind: "run" as const, run: upsert("a") };
    const heard = at(state(), now, {
      type: "poke_run_answered",
      sent: placeOf("a"),
      answer: knows,
    });
    expect(owed(heard, now + LEASE - 1, "poke_run")).toEqual([]);
    expect(owed(heard, now + LEASE, "poke_run")).toHaveLength(1);
  });

  test("an answer to something else than a poke does not count as one", () => {
    const now = T0 + LEASE;
    const knows = { kind: "run" as const, run: upsert("a") };
    const event = { type: "place_answered" as const, sent: placeOf("a"), answer: knows };
    expect(owed(at(state(), now, event), now, "poke_run")).toHaveLength(1);
  });

  test("word of its own puts it off, too", () => {
    const heard = at(state(), T0 + LEASE, run("a", { version: 2 }));
    expect(owed(heard, T0 + LEASE, "poke_run")).toEqual([]);
  });

  test("one that is over is left alone", () => {
    const over = configured(
      {},
      [waiting("a", { state: "complete", wants: "nothing" })],
      [workerRow("w1", "gone")],
    );
    expect(poolMachine.due(over, T0 + 10 * LEASE).filter(({ to }) => to !== "provider")).toEqual([]);
  });

  test("whoever is to be told a place is not poked besides", () => {
    const untold = configured({}, [placed("a", "w1")], [workerRow("w1")]);
    expect(owed(untold, T0 + LEASE, "poke_run")).toEqual([]);
    expect(owed(untold, T0 + LEASE, "place")).toHaveLength(1);
  });
});

test("rows lie in the order of submission, whatever the ids are (messages.md#hot-path)", () => {
  const keys = [runKey(9, "a"), runKey(T0, "b"), runKey(T0, "c"), runKey(T0 + 1, "a")];
  expect([...keys].reverse().sort()).toEqual(keys);
});
