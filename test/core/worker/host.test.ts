import { describe, expect, test } from "vitest";
import type { IdleBehavior } from "../../../src/core/messages.ts";
import { isLateJoin, isSupersededJoin } from "../../../src/core/worker/host/enrollment.ts";
import { ordersFor, verdictOn } from "../../../src/core/worker/host/report.ts";
import type { WorkerEvent } from "../../../src/core/worker/machine.ts";
import { type ExistingWorker, livePlacements, MAX_WORKER_EVENTS } from "../../../src/core/worker/state.ts";
import { MAX_TEXT_CHARS, NOTE_REFUSAL_MS } from "../../../src/shared/limits.ts";
import {
  at,
  BOOTED,
  created,
  holding,
  intent,
  nothing,
  order,
  owed,
  ready,
  reloaded,
  report,
  runningOf,
  T0,
} from "../support/worker.ts";

const enroll = (secret = "whsec_1", bootId = "boot-1"): WorkerEvent => ({ type: "enroll", secret, bootId });
const join = (id: string, bootId = "boot-1"): WorkerEvent => ({ type: "join", id, signedAt: T0, bootId });
const booting = at(nothing(), T0, { type: "create", body: intent() }, created);
const set = (behavior: IdleBehavior): WorkerEvent => ({ type: "behavior", behavior, by: "ann" });
const runs = (state: ExistingWorker) => livePlacements(state).map((row) => row.run);

describe("a host enrolls once (host-protocol.md#joining)", () => {
  test("its secret is what it is known by, and its first start is incarnation 1", () => {
    expect(at(booting, T0 + 5, enroll()).record).toMatchObject({
      secret: "whsec_1",
      bootId: "boot-1",
      incarnation: 1,
      joinedAt: T0 + 5,
    });
  });

  test.each([
    ["the same secret", enroll()],
    ["another secret", enroll("whsec_2")],
  ])("%s changes nothing afterwards", (_what, event) => {
    const before = at(booting, T0, enroll());
    expect(at(before, T0 + 1, event).record).toBe(before.record);
  });

  test("in another boot the same secret is another start of the machine, as a join is", () => {
    const again = at(at(booting, T0, enroll()), T0 + 1, enroll("whsec_1", "boot-2"));
    expect(again.record).toMatchObject({ bootId: "boot-2", incarnation: 2, joinedAt: T0 + 1 });
  });

  test("not at all, when the worker is gone", () => {
    const late = at(nothing(), T0, { type: "create", body: intent({ notAfter: T0 }) });
    expect(at(late, T0, enroll()).record.secret).toBeNull();
  });

  test("and can join only after that", () => {
    expect(at(booting, T0, join("j1")).record).toMatchObject({ incarnation: 0, joinedAt: null });
  });
});

describe("each start of the agent is an incarnation (host-protocol.md#incarnation)", () => {
  test("a join is a higher one, and its reports are numbered anew", () => {
    const state = at(holding(["a"]), T0, report(5), join("j1"));
    expect(state.record.incarnation).toBe(2);
    expect(at(state, T0, report(1, { incarnation: 2 })).memo.lastSeq).toBe(1);
  });

  test.each([
    ["at once", ["j1", "j1"], 2],
    ["after another one", ["j1", "j2", "j1"], 3],
  ])(
    "the same call again, %s, is the same join: it does not end the agent that came after it",
    (_what, ids, incarnation) => {
      expect(at(ready(), T0, ...ids.map((id) => join(id))).record.incarnation).toBe(incarnation);
    },
  );

  describe("a join that comes late does not end the agent that came after it", () => {
    const joinAt = (id: string, signedAt: number): WorkerEvent => ({
      type: "join",
      id,
      signedAt,
      bootId: "boot-1",
    });
    const joined = at(ready(), T0 + 60_000, joinAt("second", T0 + 60_000));

    test.each([
      ["the first try of an earlier start", "first", 0, true],
      ["the same of this start", "second", 0, false],
      ["a later start", "third", 61_000, false],
    ])("%s: late %s", (_what, id, after, late) => {
      const signedAt = T0 + after;
      expect(isLateJoin(joined.record, { id, signedAt })).toBe(late);
      const counts = !late && id !== "second";
      expect(at(joined, T0 + 61_000, joinAt(id, signedAt)).record.incarnation).toBe(counts ? 3 : 2);
    });

    test("a start whose clock was ahead keeps none out that signs by our time", () => {
      const ahead = at(ready(), T0 + 60_000, joinAt("ahead", T0 + 300_000));
      expect(at(ahead, T0 + 70_000, joinAt("set back", T0 + 70_000)).record.incarnation).toBe(3);
      expect(isLateJoin(ahead.record, { id: "earlier", signedAt: T0 + 59_000 })).toBe(true);
    });

    test("a start that another has followed is known, and is the agent of now no more", () => {
      const third = at(joined, T0 + 61_000, joinAt("third", T0 + 61_000));
      expect(["second", "third", "unknown"].map((id) => isSupersededJoin(third.record, id))).toEqual([
        true,
        false,
        false,
      ]);
    });
  });

  test("a restart of the object does not make it a new one", () => {
    const state = at(reloaded(at(ready(), T0, join("j1"))), T0, join("j1"));
    expect(state.record.incarnation).toBe(2);
  });

  test("an agent that was started again keeps what runs (host-protocol.md#survives)", () => {
    expect(runs(at(holding(["a"]), T0, join("j1")))).toEqual(["a"]);
  });

  test("what the host said before is not believed any longer, until it says it again", () => {
    const state = at(holding(["a"]), T0, report(2, { attempts: [runningOf("a")] }), join("j1"));
    expect(owed(state, T0, "observed")).toEqual([]);
  });
});

describe("a new boot has ended whatever the host may have held (R2)", () => {
  test("its placements are lost, and their allocations are told", () => {
    const state = at(holding(["a"]), T0, join("j1", "boot-2"));
    expect(runs(state)).toEqual([]);
    expect(owed(state, T0, "ended")).toEqual([
      { run: "a", epoch: 1, worker: "default-s-1", how: "lost", held: true, at: T0 },
    ]);
  });

  test("one whose order has not left for the host yet begins on the new boot", () => {
    const state = at(at(ready(), T0, order("a")), T0, join("j1", "boot-2"));
    expect(runs(state)).toEqual(["a"]);
  });

  test("A3: after a restart of the object it is still known that it has not, and is refused", () => {
    const state = at(reloaded(at(ready(), T0, order("a"))), T0, join("j1", "boot-2"));
    expect(runs(state)).toEqual([]);
    expect(owed(state, T0, "ended")).toMatchObject([{ how: "refused", held: false }]);
  });

  test("joining once more with the new boot is no other one", () => {
    const state = at(
      ready(),
      T0,
      join("j1", "boot-2"),
      order("b"),
      { type: "orders_sent" },
      join("j2", "boot-2"),
    );
    expect(runs(state)).toEqual(["b"]);
  });
});

describe("a report counts by incarnation and number (host-protocol.md#report)", () => {
  const state = at(
    ready(),
    T0,
    { type: "join", id: "j", signedAt: T0, bootId: "boot-1" },
    report(4, { incarnation: 2 }),
  );
  const cases = [
    [1, 9, "earlier_start"],
    [3, 9, "later_start"],
    [2, 3, "old"],
    [2, 4, "old"],
    [2, 5, "fresh"],
    [2, 50, "fresh"],
  ] as const;

  test.each(cases)("incarnation %d, number %d is %s", (incarnation, seq, verdict) => {
    const one = report(seq, { incarnation, attempts: [runningOf("x")] });
    if (one.type === "report") expect(verdictOn(state, one.report)).toBe(verdict);
    const next = at(state, T0 + 1_000, one);
    expect(next.memo.lastReportAt).toBe(verdict === "fresh" ? T0 + 1_000 : T0);
    expect(owed(next, T0 + 1_000, "observed")).toHaveLength(verdict === "fresh" ? 1 : 0);
  });

  test("what is ordered names the incarnation, and the report that it answers", () => {
    expect(ordersFor(state, 4, T0)).toMatchObject({ incarnation: 2, answers: 4, reportWithinMs: 10_000 });
  });
});

describe("the boot probe makes a worker ready, once (workers.md#t1, workers.md#t6)", () => {
  const enrolled = at(booting, T0, enroll());
  const failing = { boot: { ok: false, output: "degraded" } };

  test.each([
    ["no word of it", {}, "booting"],
    ["not run yet", { boot: null }, "booting"],
    ["a failure", failing, "booting"],
    ["a success", BOOTED, "ready"],
  ])("%s: it is %s then (%s)", (_what, more, phase) => {
    expect(at(enrolled, T0 + 7, report(1, more)).record.phase).toBe(phase);
  });

  test("a success after failures counts", () => {
    const state = at(enrolled, T0 + 7, report(1, failing), report(2, BOOTED));
    expect(state.record).toMatchObject({ phase: "ready", readyAt: T0 + 7, bootProbe: { ok: true } });
    expect(owed(state, T0 + 7, "worker")).toMatchObject([
      { phase: "ready", bootOutcome: "success", readyAt: T0 + 7 },
    ]);
  });

  test("what the probe wrote is kept, and noted when it is news", () => {
    const state = at(enrolled, T0, report(1, failing), report(2, failing));
    expect(state.record.bootProbe).toEqual(failing.boot);
    expect(state.record.events.filter(({ type }) => type === "Boot Probe Failed")).toHaveLength(1);
  });

  test("a later failure, or a second success, changes nothing", () => {
    const { record } = ready();
    expect(at(ready(), T0 + 9, report(2, failing)).record).toMatchObject({
      phase: "ready",
      readyAt: record.readyAt,
    });
    expect(at(ready(), T0 + 9, report(2, BOOTED)).record.readyAt).toBe(record.readyAt);
  });
});

describe("a worker's own story is bounded", () => {
  const noted = (count: number, reason = "forged") => {
    const knock: WorkerEvent = { type: "refused_host", kind: "bad_signature", reason };
    let state = at(nothing(), T0, { type: "create", body: intent() }, created, set("hold"));
    for (let n = 1; n <= count; n += 1) state = at(state, T0 + n * NOTE_REFUSAL_MS, knock);
    return state.record.events;
  };

  test("to the latest MAX_WORKER_EVENTS events", () => {
    const room = MAX_WORKER_EVENTS - noted(0).length;
    expect(noted(room)[0]?.type).toBe("Asked");
    expect(noted(room)).toHaveLength(MAX_WORKER_EVENTS);
    expect(noted(room + 1)[0]?.type).not.toBe("Asked");
    expect(noted(room + 1)).toHaveLength(MAX_WORKER_EVENTS);
  });

  test("each to MAX_TEXT_CHARS characters", () => {
    const length = (count: number) => noted(1, "x".repeat(count)).at(-1)?.message.length;
    expect(length(MAX_TEXT_CHARS)).toBe(MAX_TEXT_CHARS);
    expect(length(MAX_TEXT_CHARS + 1)).toBe(MAX_TEXT_CHARS);
  });
});
