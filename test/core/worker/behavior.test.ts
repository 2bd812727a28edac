import { describe, expect, test } from "vitest";
import type { IdleBehavior } from "../../../src/core/messages.ts";
import { type WorkerEvent, workerMachine } from "../../../src/core/worker/machine.ts";
import { answerOrder } from "../../../src/core/worker/placements.ts";
import { statusOf, whyOf } from "../../../src/core/worker/read/status.ts";
import { type ExistingWorker, livePlacements } from "../../../src/core/worker/state.ts";
import type { AttemptReport } from "../../../src/schema/host.ts";
import {
  at,
  attemptOf,
  created,
  exitedOf,
  holding,
  INSTANCE,
  intent,
  LEASE,
  MINUTE,
  nothing,
  observedAnswer,
  order,
  orderIs,
  owed,
  ready,
  report,
  runningOf,
  T0,
} from "../support/worker.ts";

const DAY = 24 * 60 * MINUTE;
const IDLE = MINUTE;
const SILENT = 10 * MINUTE;

const tick: WorkerEvent = { type: "tick" };
const set = (behavior: IdleBehavior): WorkerEvent => ({ type: "behavior", behavior, by: "ann" });
const kill: WorkerEvent = { type: "kill", reason: "it smokes", by: "ann" };

const asked = at(nothing(), T0, { type: "create", body: intent() });
const booting = at(asked, T0, created);
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

/** What the host says once it has tried everything: the process lives, and the tries go on. */
const unkillable = (run: string): AttemptReport => ({
  id: attemptOf(run),
  state: "stopping",
  kill: { tries: 5, error: "process 7 does not go", treeGone: false, by: "processes" },
});

// workers.md#behavior-row-2, workers.md#behavior-row-3, workers.md#behavior-row-4, workers.md#behavior-row-5
describe("eligibility for shutdown (workers.md#idle-behaviors)", () => {
  const states = { booting, idle: ready(), running: holding(["a"]), shutdown: down };

  test.each<[keyof typeof states, IdleBehavior, string]>([
    ["booting", "run", "booting"],
    ["booting", "drain", "shutdown"],
    ["booting", "hold", "booting"],
    ["idle", "run", "ready"],
    ["idle", "drain", "shutdown"],
    ["idle", "hold", "ready"],
    ["running", "run", "ready"],
    ["running", "drain", "ready"],
    ["running", "hold", "ready"],
    ["shutdown", "run", "shutdown"],
    ["shutdown", "drain", "shutdown"],
    ["shutdown", "hold", "shutdown"],
  ])("%s, set to %s: %s", (state, behavior, phase) => {
    expect(at(states[state], T0, set(behavior)).record.phase).toBe(phase);
  });

  // workers.md#behavior-row-1
  test("a silent host that is drained with nothing on it goes, a held one stays", () => {
    const silent = T0 + SILENT - 1;
    expect(statusOf(ready(), silent).state).toBe("unknown");
    expect(at(ready(), silent, set("drain")).record.phase).toBe("shutdown");
    expect(at(at(ready(), silent, set("hold")), T0 + DAY, tick).record.phase).toBe("ready");
  });

  // workers.md#behavior-3
  // What a run has written is stored before it ends, or for too long not: cases.md#case-13.
  test("drained, it goes in the step in which its last run ends, and says for whom", () => {
    const both = [exitedOf("a"), exitedOf("b")];
    const exited = at(at(holding(["a", "b"]), T0, set("drain")), T0, report(2, { attempts: both }));
    const one = at(exited, T0, observedAnswer(exited, "a", T0, orderIs(1, [])));
    expect(one.record.phase).toBe("ready");
    const none = at(one, T0, observedAnswer(one, "b", T0, orderIs(1, [])));
    expect(none.record).toMatchObject({ phase: "shutdown", reason: "set to drain by ann" });
  });

  test.each<[string, AttemptReport[], string]>([
    ["all of them", [unkillable("a"), unkillable("b")], "shutdown"],
    ["one, and the other is healthy", [unkillable("a"), runningOf("b")], "ready"],
    ["one, and the other has exited, but not yet ended", [unkillable("a"), exitedOf("b")], "ready"],
    ["none", [runningOf("a"), runningOf("b")], "ready"],
  ])(
    "running, draining, and the host has given up killing %s (workers.md#unkillable-2)",
    (_what, attempts, phase) => {
      const draining = at(holding(["a", "b"]), T0, set("drain"));
      expect(at(draining, T0, report(2, { attempts })).record.phase).toBe(phase);
      expect(at(holding(["a", "b"]), T0, set("hold"), report(2, { attempts })).record.phase).toBe("ready");
    },
  );

  test("an unkillable run ends only with the machine; what has ended beside it does not keep that", () => {
    const draining = at(holding(["a", "b"]), T0, set("drain"));
    const exited = at(draining, T0, report(2, { attempts: [unkillable("a"), exitedOf("b")] }));
    const alone = at(exited, T0, observedAnswer(exited, "b", T0, orderIs(1, [])));
    expect(alone.record.phase).toBe("shutdown");
    expect(livePlacements(alone).map(({ run }) => run)).toEqual(["a"]);
    expect(owed(alone, T0, "destroy")).toHaveLength(1);
  });
});

describe("P29: nothing that is asked of a machine that ends is noted as if it had been done", () => {
  test.each<[string, ExistingWorker]>([
    ["is being destroyed", down],
    ["is gone", gone],
  ])("a machine that %s", (_how, state) => {
    for (const behavior of ["run", "hold", "drain"] as const) {
      const { record } = at(at(state, T0, set("hold")), T0, set(behavior));
      expect([record.events, record.idleBehavior, record.reason]).toEqual([
        state.record.events,
        state.record.idleBehavior,
        state.record.reason,
      ]);
    }
  });
});

// workers.md#behavior-case-1, workers.md#behavior-case-2, workers.md#behavior-case-3
describe("what each behavior allows (workers.md#idle-behaviors)", () => {
  const answerTo = (state: ExistingWorker) => answerOrder(at(state, T0, order("new")), order("new").body);

  test.each<[IdleBehavior, string]>([
    ["run", "accepted"],
    ["drain", "ended"],
    ["hold", "ended"],
  ])("%s: a new run is %s (workers.md#report-6)", (behavior, kind) => {
    expect(answerTo(at(holding(["a"]), T0, set(behavior))).kind).toBe(kind);
  });

  test.each(["run", "drain", "hold"] as const)("%s: the runs on it go on", (behavior) => {
    const state = at(holding(["a"]), T0, set(behavior));
    expect(livePlacements(state).map(({ run }) => run)).toEqual(["a"]);
    const order2 = order("a", { revision: 2 });
    expect(answerOrder(at(state, T0, order2), order2.body)).toEqual({ kind: "accepted", revision: 2 });
  });

  test.each<[IdleBehavior, boolean]>([
    ["run", true],
    ["hold", false],
  ])("%s: the idle time-out counts: %s", (behavior, counts) => {
    const state = at(at(ready(), T0, set(behavior)), T0 + IDLE, report(2));
    expect(owed(state, T0 + IDLE, "worker").some(({ wantsStop }) => wantsStop)).toBe(counts);
  });

  test.each<[IdleBehavior, string]>([
    ["run", "shutdown"],
    ["hold", "booting"],
  ])("%s: the boot time-out leads to %s", (behavior, phase) => {
    expect(at(at(booting, T0, set(behavior)), T0 + DAY, tick).record.phase).toBe(phase);
  });

  test.each<[IdleBehavior, string]>([
    ["run", "shutdown"],
    ["drain", "shutdown"],
    ["hold", "ready"],
  ])("%s: the probe time-out, with a run on it, leads to %s, and the run is lost (R2)", (behavior, phase) => {
    const late = T0 + LEASE + 2 * MINUTE;
    const seen = at(at(holding(["a"]), T0, set(behavior)), T0 + LEASE, tick);
    const state = at(seen, late, tick);
    expect(state.record.phase).toBe(phase);
    expect(owed(state, late, "ended")).toMatchObject([{ run: "a", how: "lost" }]);
  });

  test.each(["run", "drain", "hold"] as const)("%s: a kill destroys it, runs or not (T18)", (behavior) => {
    const state = at(holding(["a"]), T0, set(behavior), kill);
    expect(state.record).toMatchObject({ phase: "shutdown", reason: "killed by ann: it smokes" });
    expect(owed(state, T0, "destroy")).toHaveLength(1);
  });

  test("hold: a machine of which nobody ever heard is given up: there is nothing to hold", () => {
    expect(at(at(asked, T0, set("hold")), T0 + 10 * MINUTE, tick).record.phase).toBe("shutdown");
  });

  // workers.md#broken-3
  test("hold: a host that says it is broken does not drain, one that is set to run does", () => {
    const broken = report(2, { broken: "no disk" });
    expect(at(at(ready(), T0, set("hold")), T0, broken).record.idleBehavior).toBe("hold");
    expect(at(holding(["a"]), T0, broken).record.idleBehavior).toBe("drain");
  });
});

describe("any state, any order, any number of times (workers.md#behavior-1)", () => {
  const sequences: IdleBehavior[][] = [
    ["drain", "run"],
    ["hold", "run"],
    ["drain", "hold", "run", "drain", "run"],
    ["hold", "hold", "drain", "drain", "run", "run"],
  ];

  test.each(sequences)("with a run on it %j … ends where it began: it takes runs again", (...behaviors) => {
    const state = at(holding(["a"]), T0, ...behaviors.map(set));
    expect(answerOrder(at(state, T0, order("b")), order("b").body).kind).toBe("accepted");
  });

  test("each change is news for the pool, and the same again is none", () => {
    const before = holding(["a"]);
    const held = at(before, T0, set("hold"));
    expect(held.record.version).toBe(before.record.version + 1);
    expect(owed(held, T0, "worker")).toMatchObject([{ idleBehavior: "hold", reason: "set to hold by ann" }]);
    expect(at(held, T0, set("hold")).record).toBe(held.record);
  });

  // workers.md#behavior-2
  test("resumed after a longer hold than the idle time-out, it proposes to stop at once", () => {
    const now = T0 + DAY;
    const heard = at(at(ready(), T0, set("hold")), now, report(2));
    const state = at(heard, now, set("run"));
    expect(owed(state, now, "worker")).toMatchObject([{ wantsStop: true }]);
  });

  test("resumed while it boots, it has its boot time-out again", () => {
    const state = at(booting, T0, set("hold"), set("run"));
    expect(workerMachine.wakeAt(state)).toBe(T0 + 10 * MINUTE);
  });

  test("a machine that boots while it is held becomes ready, and stays held", () => {
    const enrolled = at(booting, T0, set("hold"), { type: "enroll", secret: "s", bootId: "b" });
    const state = at(enrolled, T0, report(1, { boot: { ok: true, output: "" } }));
    expect(state.record).toMatchObject({ phase: "ready", idleBehavior: "hold" });
    expect(answerOrder(at(state, T0, order("a")), order("a").body).kind).toBe("ended");
  });

  // workers.md#behavior-5
  test("nothing saves it once a shutdown was decided, and why it ends stays", () => {
    for (const behavior of ["hold", "drain"] as const) {
      const state = at(down, T0, set(behavior), set("run"));
      expect(state.record).toMatchObject({ phase: "shutdown", reason: "killed by ann: it smokes" });
      expect(owed(state, T0, "destroy")).toHaveLength(1);
    }
  });

  test("one that is gone takes no behavior any more", () => {
    expect(at(gone, T0, set("hold")).record).toBe(gone.record);
  });
});

describe("an operator can read what comes next (invariant 5)", () => {
  test.each<[string, ExistingWorker, string]>([
    [
      "booting, held",
      at(booting, T0, set("hold")),
      "become ready; if it does not, stay, until an operator says otherwise",
    ],
    ["idle, held", at(ready(), T0, set("hold")), "stay, until an operator says otherwise"],
    [
      "running, held",
      at(holding(["a"]), T0, set("hold")),
      "continue with 1 run, take no others, and stay, until an operator says otherwise; " +
        "count its runs as lost, unless its host reports",
    ],
    [
      "running, draining",
      at(holding(["a", "b"]), T0, set("drain")),
      "continue with 2 runs, take no others, and stop when the last has ended; " +
        "give it up, unless its host reports",
    ],
  ])("%s", (_what, state, action) => {
    expect(whyOf(state, T0).next.action).toBe(action);
  });

  test("unknown, held: its silence has no deadline", () => {
    const { state, next } = whyOf(at(ready(), T0, set("hold")), T0 + DAY);
    expect([state, next]).toEqual([
      "unknown",
      { action: "stay, until an operator says otherwise", at: null, code: "stay", waitsFor: "operator" },
    ]);
  });
});
