import { describe, expect, test } from "vitest";
import type { WorkerUpsert } from "../../../src/core/messages.ts";
import { type WorkerEvent, workerMachine } from "../../../src/core/worker/machine.ts";
import { answerOrder } from "../../../src/core/worker/placements.ts";
import type { ExistingWorker } from "../../../src/core/worker/state.ts";
import {
  at,
  created,
  exitedOf,
  holding,
  intent,
  MINUTE,
  nothing,
  observedAnswer,
  order,
  orderIs,
  owed,
  REF,
  ready,
  readyOwn,
  reloaded,
  report,
  T0,
} from "../support/worker.ts";

const tick: WorkerEvent = { type: "tick" };
/** The pool's idle time-out. */
const IDLE = MINUTE;
const proposes = (state: ExistingWorker, now: number) =>
  owed(state, now, "worker").some((upsert) => upsert.wantsStop);

function answered(state: ExistingWorker, now: number, consent: boolean): WorkerEvent {
  const [sent] = owed(state, now, "worker");
  if (sent === undefined) throw new Error("nothing is told to the pool");
  return { type: "worker_answered", sent, answer: { kind: "ok", consent } };
}

/** The pool knows all that there is to know at `now`. */
function known(state: ExistingWorker, now: number): ExistingWorker {
  return at(state, now, answered(state, now, false));
}

describe("an idle worker proposes to stop, by its own alarm (messages.md#idle)", () => {
  const fresh = known(ready(), T0);

  test("after the idle time-out, and it wakes for that", () => {
    expect(workerMachine.wakeAt(fresh)).toBe(T0 + IDLE);
    expect(proposes(fresh, T0 + IDLE - 1)).toBe(false);
    expect(proposes(fresh, T0 + IDLE)).toBe(true);
  });

  // decisions/workers.md#d3
  test("the clock starts at readiness, not before (workers.md#behavior-4)", () => {
    const slow = at(nothing(), T0, { type: "create", body: intent() }, created, {
      type: "enroll",
      secret: "s",
      bootId: "b",
    });
    const state = at(slow, T0 + 5 * MINUTE, report(1, { boot: { ok: true, output: "" } }));
    expect(workerMachine.wakeAt(state)).toBe(T0 + 5 * MINUTE + IDLE);
  });

  test("the clock starts anew when its last run has ended", () => {
    const exited = at(holding(["a"]), T0 + 20_000, report(2, { attempts: [exitedOf("a")] }));
    const free = at(exited, T0 + 20_000, observedAnswer(exited, "a", T0 + 20_000, orderIs(1, [])));
    expect(proposes(known(free, T0 + 20_000), T0 + 20_000 + IDLE - 1)).toBe(false);
    expect(proposes(free, T0 + 20_000 + IDLE)).toBe(true);
  });

  test("with a run on it there is nothing to propose", () => {
    expect(proposes(holding(["a"]), T0 + 5 * IDLE)).toBe(false);
  });

  test("with a kept run on it there is nothing to propose, and a drain waits (workers.md#behavior-6)", () => {
    const attempts = [{ id: "a/main/1.1", want: "run" as const, holdUntil: T0 + 10 * IDLE }];
    const kept = at(holding(["a"]), T0, order("a", { revision: 2, attempts }));
    expect(proposes(kept, T0 + 5 * IDLE)).toBe(false);
    const draining = at(kept, T0, { type: "behavior", behavior: "drain", by: "ann" });
    expect(draining.record.phase).toBe("ready");
    const over = at(draining, T0, report(2, { attempts: [exitedOf("a")] }));
    const released = at(over, T0, observedAnswer(over, "a", T0, orderIs(3, [])));
    expect(released.record.phase).toBe("shutdown");
  });

  test.each(["hold", "drain"] as const)(
    "set to %s it proposes nothing: %s has rules of its own (workers.md#idle-behaviors)",
    (behavior) => {
      const state = at(holding(["a"]), T0, { type: "behavior", behavior, by: "ann" });
      expect(proposes(state, T0 + 5 * IDLE)).toBe(false);
    },
  );
});

describe("the pool's word on the proposal", () => {
  const now = T0 + IDLE;
  const idle = at(known(ready(), T0), now, report(2));

  test("consent: it begins to stop, and refuses orders from the same step on (invariant 4)", () => {
    const state = at(idle, now, answered(idle, now, true));
    expect(state.record.phase).toBe("shutdown");
    expect(owed(state, now, "destroy")).toHaveLength(1);
    expect(answerOrder(at(state, now, order("a")), order("a").body)).toEqual({
      kind: "ended",
      how: "refused",
      held: false,
    });
  });

  test("consent, but an order came in between: it stays, and the run too (invariant 4)", () => {
    const consent = answered(idle, now, true);
    const state = at(idle, now, order("a"), consent);
    expect(state.record.phase).toBe("ready");
    expect(answerOrder(state, order("a").body)).toMatchObject({ kind: "accepted" });
  });

  test.each<[string, WorkerEvent]>([["held", { type: "behavior", behavior: "hold", by: "ann" }]])(
    "consent, but it has been %s in between: it stays",
    (_what, event) => {
      const consent = answered(idle, now, true);
      expect(at(idle, now, event, consent).record.phase).toBe("ready");
    },
  );

  test("consent to what was no proposal is none", () => {
    const state = ready();
    expect(at(state, T0, answered(state, T0, true)).record.phase).toBe("ready");
  });

  test.each([
    ["by the idle time-out", {}, IDLE],
    ["by ten seconds, if that is longer", { settings: { ...intent().settings, idleMs: 0 } }, 10_000],
  ])("refusal: it is put off %s", (_what, more, ms) => {
    const begun = at(ready(T0, more), now, report(2));
    const state = at(begun, now, answered(begun, now, false));
    expect(state.record.phase).toBe("ready");
    expect(proposes(state, now + ms - 1)).toBe(false);
    expect(proposes(state, now + ms)).toBe(true);
    expect(workerMachine.wakeAt(state)).toBe(now + ms);
  });

  test("refusal: it is made again, also if the pool was out of reach in between", () => {
    const state = at(idle, now, answered(idle, now, false));
    const later = at(state, now + 10 * IDLE, report(3));
    expect(proposes(later, now + 10 * IDLE)).toBe(true);
  });

  test("no such worker: it does not stop by that, and tells again once the pool asks", () => {
    const [sent] = owed(idle, now, "worker");
    if (sent === undefined) throw new Error("nothing is told to the pool");
    const state = at(idle, now, { type: "worker_answered", sent, answer: { kind: "no_such" } });
    expect(state.record.phase).toBe("ready");
    expect(owed(state, now, "worker")).toEqual([]);
    const asked = at(state, now, { type: "poke_worker", body: REF });
    expect(owed(asked, now, "worker")).toEqual([sent]);
  });
});

describe("A2: asked to make room, a worker proposes to stop at once", () => {
  const invited: WorkerEvent = { type: "make_room", body: REF };
  const booting = () => at(nothing(), T0, { type: "create", body: intent() }, created);

  test.each<[string, () => ExistingWorker, boolean]>([
    ["idle", () => ready(), true],
    ["booting", booting, true],
    ["with a run on it", () => holding(["a"]), false],
    ["held", () => at(ready(), T0, { type: "behavior", behavior: "hold", by: "ann" }), false],
    ["a self-hosted machine", () => readyOwn(), false],
  ])("%s", (_what, state, does) => {
    expect(proposes(at(state(), T0 + 1, invited), T0 + 1)).toBe(does);
  });

  test.each<[string, () => ExistingWorker]>([
    ["idle", () => ready()],
    ["booting", booting],
  ])("%s: with the pool's consent it stops, and says why", (_what, state) => {
    const asked = at(state(), T0 + 1, invited);
    const { record } = at(asked, T0 + 1, answered(asked, T0 + 1, true));
    expect([record.phase, record.bootOutcome]).toEqual([
      "shutdown",
      _what === "idle" ? "success" : "aborted",
    ]);
    expect(record.reason).toBe("it makes room for the first run in the queue, which does not fit on it");
  });

  test("a run that has come in between ends that: once idle again, it waits for its time-out", () => {
    const asked = at(ready(), T0 + 1, invited, order("a"), { type: "orders_sent" });
    const exited = at(asked, T0 + 2, report(2, { attempts: [exitedOf("a")] }));
    const free = at(exited, T0 + 2, observedAnswer(exited, "a", T0 + 2, orderIs(1, [])));
    expect(proposes(free, T0 + 3)).toBe(false);
  });

  test("without consent it goes on as before", () => {
    const asked = at(ready(), T0 + 1, invited);
    const state = at(asked, T0 + 1, answered(asked, T0 + 1, false));
    expect(proposes(state, T0 + 2)).toBe(false);
  });
});

describe("what the pool has been told is not told again (R7)", () => {
  test("until it changes, the object was loaded again, or a poke asks for it", () => {
    const state = known(ready(), T0);
    expect(owed(state, T0, "worker")).toEqual([]);
    expect(owed(reloaded(state), T0, "worker")).toHaveLength(1);
    expect(owed(at(state, T0, { type: "poke_worker", body: REF }), T0, "worker")).toHaveLength(1);
    expect(owed(at(state, T0, { type: "behavior", behavior: "hold", by: "ann" }), T0, "worker")).toHaveLength(
      1,
    );
  });

  test("a host that has been silent for more than three intervals makes its worker `unknown`", () => {
    const state = known(ready(), T0);
    const phase = (ms: number) => owed(state, T0 + ms, "worker").map((upsert: WorkerUpsert) => upsert.phase);
    expect(phase(30_000)).toEqual([]);
    expect(phase(30_001)).toEqual(["unknown"]);
    expect(owed(at(state, T0 + 40_000, report(2)), T0 + 40_000, "worker")).toEqual([]);
  });

  test("to a process that no host has reported to it is `unknown`: nothing is placed on a guess", () => {
    const state = reloaded(ready());
    expect(owed(state, T0, "worker")[0]?.phase).toBe("unknown");
    expect(owed(at(state, T0, report(2)), T0, "worker")[0]?.phase).toBe("ready");
  });
});

test("time alone does not stop an idle worker: the pool must consent", () => {
  expect(at(ready(), T0 + 5 * IDLE, report(2), tick).record.phase).toBe("ready");
});
