import { describe, expect, test } from "vitest";
import { type WorkerEvent, workerMachine } from "../../../src/core/worker/machine.ts";
import { statusOf, whyOf } from "../../../src/core/worker/read/status.ts";
import { type ExistingWorker, livePlacements } from "../../../src/core/worker/state.ts";
import { WorkerStatus } from "../../../src/schema/pool.ts";
import { Why } from "../../../src/schema/why.ts";
import {
  at,
  created,
  exitedOf,
  holding,
  INSTANCE,
  intent,
  MINUTE,
  nothing,
  observedAnswer,
  orderIs,
  owed,
  ready,
  reloaded,
  report,
  T0,
} from "../support/worker.ts";

const tick: WorkerEvent = { type: "tick" };
const drain: WorkerEvent = { type: "behavior", behavior: "drain", by: "ann" };
const hold: WorkerEvent = { type: "behavior", behavior: "hold", by: "ann" };
const kill: WorkerEvent = { type: "kill", reason: "it smokes", by: "ann" };
const listed: WorkerEvent = {
  type: "sighting",
  body: {
    worker: "default-s-1",
    provider: intent().provider,
    beganAt: T0 + 10_000,
    instance: INSTANCE,
    consistencyMs: 0,
  },
};
const booting = at(nothing(), T0, { type: "create", body: intent() }, created);
const asked = at(nothing(), T0, { type: "create", body: intent() });
const down = at(ready(), T0, kill);
const gone = at(down, T0, {
  type: "sighting",
  body: {
    worker: "default-s-1",
    provider: intent().provider,
    beganAt: T0,
    instance: { ...INSTANCE, state: "terminated" },
    consistencyMs: 0,
  },
});

// Table of workers.md#idle-behaviors: what an operator may do in which state.
describe("drain, hold and kill", () => {
  test.each<[string, ExistingWorker, WorkerEvent, string]>([
    ["drain", asked, drain, "shutdown"],
    ["drain", booting, drain, "shutdown"],
    ["drain", ready(), drain, "shutdown"],
    ["drain", holding(["a"]), drain, "ready"],
    ["hold", booting, hold, "booting"],
    ["hold", ready(), hold, "ready"],
    ["hold", down, hold, "shutdown"],
    ["kill", asked, kill, "shutdown"],
    ["kill", booting, kill, "shutdown"],
    ["kill", ready(), kill, "shutdown"],
    ["kill", at(ready(), T0, hold), kill, "shutdown"],
    ["kill", holding(["a"]), kill, "shutdown"],
    ["kill", gone, kill, "gone"],
    ["drain", gone, drain, "gone"],
  ])("%s in phase $1.record.phase: %s", (_what, before, event, phase) => {
    expect(at(before, T0, event).record.phase).toBe(phase);
  });

  test("a drained worker stops when its last run has ended, and says who wanted it", () => {
    const exited = at(at(holding(["a"]), T0, drain), T0, report(2, { attempts: [exitedOf("a")] }));
    expect(exited.record.phase).toBe("ready");
    const state = at(exited, T0, observedAnswer(exited, "a", T0, orderIs(1, [])));
    expect(state.record).toMatchObject({ phase: "shutdown", reason: "set to drain by ann" });
  });

  test("a kill says by whom and why, and a second one changes nothing", () => {
    const state = at(holding(["a"]), T0, kill);
    expect(state.record).toMatchObject({ killedBy: "ann", reason: "killed by ann: it smokes" });
    expect(at(state, T0, { type: "kill", reason: "again", by: "bob" }).record).toBe(state.record);
  });

  test("the runs of a killed worker are lost when the machine is seen to be gone, not before (R2)", () => {
    const state = at(holding(["a"]), T0, kill);
    expect(livePlacements(state)).toHaveLength(1);
    expect(owed(state, T0, "ended")).toEqual([]);
  });
});

describe("a worker that does not become ready is given up (workers.md#t8)", () => {
  const BOOT = 10 * MINUTE;

  test.each([
    ["counted from the creation of its machine", at(asked, T0 + 5_000, created), 5_000 + BOOT],
    ["counted from the asking, while there is none", asked, BOOT],
  ])("%s", (_what, state, ms) => {
    expect(workerMachine.wakeAt(state)).toBe(T0 + ms);
    expect(at(state, T0 + ms - 1, tick).record.phase).toBe("booting");
    expect(at(state, T0 + ms, tick).record.phase).toBe("shutdown");
  });

  test("a host that reports, but whose boot probe fails, is given up all the same", () => {
    const failing = report(1, { boot: { ok: false, output: "no" } });
    const state = at(at(booting, T0, { type: "enroll", secret: "s", bootId: "b" }), T0 + BOOT - 1, failing);
    expect(at(state, T0 + BOOT, tick).record.phase).toBe("shutdown");
  });

  test("set to hold it may take its time (workers.md#idle-behaviors)", () => {
    const state = at(booting, T0, hold);
    expect(workerMachine.wakeAt(state)).toBeUndefined();
    expect(at(state, T0 + 10 * BOOT, tick).record.phase).toBe("booting");
  });

  test("set to hold, a silent host is kept as well", () => {
    expect(at(at(ready(), T0, hold), T0 + 10 * BOOT, tick).record.phase).toBe("ready");
  });
});

describe("a machine that is to disappear is asked to, until it has (T19, cases.md#case-3)", () => {
  const asking = (state: ExistingWorker, now = T0) => owed(state, now, "destroy").length;
  const took: WorkerEvent = { type: "destroy_answered", answer: { kind: "asked" } };
  const refused: WorkerEvent = {
    type: "destroy_answered",
    answer: { kind: "failed", failure: { class: "temporary", text: "no" } },
  };

  test("once, and the answer is no proof that it is gone (invariant 3)", () => {
    expect(asking(down)).toBe(1);
    for (const answer of [took, refused]) {
      const state = at(down, T0, answer);
      expect(state.record).toMatchObject({ phase: "shutdown", calledAt: T0 });
      expect(asking(state)).toBe(0);
    }
  });

  test.each([
    ["less than the shutdown time-out later: not yet", 10_001, 0],
    ["the shutdown time-out later: again", 10_000, 1],
  ])("still listed %s", (_what, askedAfter, again) => {
    const state = at(at(down, T0, kill), T0 + 10_000 - askedAfter, took);
    const next = at(state, T0 + 10_000, {
      ...listed,
      body: {
        consistencyMs: 0,
        worker: "default-s-1",
        provider: intent().provider,
        beganAt: T0 + (again ? 10_000 : 0),
        instance: INSTANCE,
      },
    } as WorkerEvent);
    expect(asking(next, T0 + 10_000)).toBe(again);
  });

  test("that it was asked is stored: a restart does not ask again, but for one that never was", () => {
    expect(asking(reloaded(at(down, T0, took)))).toBe(0);
    expect(asking(reloaded(down))).toBe(1);
  });

  test("a worker without an instance has nothing to ask for", () => {
    expect(asking(at(asked, T0, kill))).toBe(0);
  });
});

describe("gone is the end of a worker, and its tombstone", () => {
  test.each<[string, WorkerEvent]>([
    ["a create", { type: "create", body: intent() }],
    ["the answer to a create", { type: "destroy_answered", answer: { kind: "asked" } }],
    ["an enrollment", { type: "enroll", secret: "other", bootId: "b" }],
    ["a boot probe", report(9, { boot: { ok: true, output: "" } })],
    ["a drain", drain],
    ["a tick, days later", tick],
  ])("%s does not bring it back", (_what, event) => {
    const state = at(gone, T0 + 100 * 24 * 60 * MINUTE, event);
    expect(state.record.phase).toBe("gone");
    expect(state.record.leaseUntil).toBe(gone.record.leaseUntil);
    expect(owed(state, T0, "destroy")).toEqual([]);
    expect(owed(state, T0, "create")).toEqual([]);
  });
});

describe("a machine that shows up after all is destroyed, though its worker was gone (invariant 3)", () => {
  test.each<[string, WorkerEvent]>([
    ["a listing shows it", listed],
    ["its create is answered only now", created],
  ])("%s", (_what, event) => {
    const state = at(gone, T0 + 10 * MINUTE, event);
    expect(state.record).toMatchObject({ phase: "shutdown", goneAt: null, instance: { id: "i-1" } });
    expect(asking(state, T0 + 10 * MINUTE)).toBe(1);
  });

  function asking(state: ExistingWorker, now: number): number {
    return owed(state, now, "destroy").length;
  }
});

// Nothing waits without a reason, a deadline and an owner (invariant 5).
describe("a worker says what it is, and what happens next, when", () => {
  test.each<[string, ExistingWorker, string, string, number | null]>([
    ["booting", booting, "booting", "give it up, unless its boot probe succeeds", 10 * MINUTE],
    ["ready", ready(), "idle", "stop, if it is still idle", MINUTE],
    [
      "ready, with a run",
      holding(["a"]),
      "running",
      "continue with 1 run; give it up, unless its host reports",
      31 * MINUTE,
    ],
    [
      "ready, with two",
      holding(["a", "b"]),
      "running",
      "continue with 2 runs; give it up, unless its host reports",
      31 * MINUTE,
    ],
    ["held", at(ready(), T0, hold), "idle", "stay, until an operator says otherwise", null],
    ["shutdown", down, "shutdown", "ask the provider to destroy it", null],
    ["gone", gone, "gone", "nothing: it is gone", null],
  ])("%s", (_what, state, shown, action, ms) => {
    const next = { action, at: ms === null ? null : new Date(T0 + ms).toISOString() };
    expect(whyOf(state, T0)).toMatchObject({ state: shown, next });
    expect(Why.safeParse(whyOf(state, T0)).error).toBeUndefined();
    expect(WorkerStatus.safeParse(statusOf(state, T0)).error).toBeUndefined();
  });

  test("one whose host is silent is `unknown`, with what is on it", () => {
    const state = holding(["a"]);
    expect(statusOf(state, T0 + 30_001)).toMatchObject({ state: "unknown", runs: ["a"] });
    expect(whyOf(state, T0 + 30_001).reason.text).toBe("its host is silent");
  });
});
