import { describe, expect, test } from "vitest";
import { sideNews } from "../../../src/core/worker/host/host-socket.ts";
import { ordersFor } from "../../../src/core/worker/host/report.ts";
import type { WorkerEvent } from "../../../src/core/worker/machine.ts";
import { answerOrder } from "../../../src/core/worker/placements.ts";
import { type ExistingWorker, livePlacements, ordersRevision } from "../../../src/core/worker/state.ts";
import { LAST_BYTE_MS } from "../../../src/shared/limits.ts";
import {
  at,
  attemptOf,
  exitedOf,
  holding,
  LEASE,
  observedAnswer,
  order,
  orderIs,
  owed,
  REF,
  ready,
  reloaded,
  report,
  runningOf,
  stopOf,
  T0,
  TASK,
} from "../support/worker.ts";

const wanted = (state: ExistingWorker) => ordersFor(state, 1, T0).attempts;
const keep = (run: string) => [{ id: attemptOf(run), want: "run" as const, task: TASK }];
const attempt = { id: attemptOf("a"), want: "run" as const, task: TASK };
const told = (state: ExistingWorker) =>
  owed(state, T0, "observed").map(({ run, attempts }) => `${run} ${attempts[0]?.state}`);

describe("an allocation is told what the host says of it, word for word, until it has answered", () => {
  const running = at(holding(["a"]), T0, report(2, { attempts: [runningOf("a")] }));

  test("each placement by itself", () => {
    const state = at(holding(["a", "b"]), T0, report(2, { attempts: [runningOf("a"), exitedOf("b")] }));
    expect(owed(state, T0, "observed")).toEqual([
      { run: "a", epoch: 1, worker: "default-s-1", held: true, protocol: 0, attempts: [runningOf("a")] },
      { run: "b", epoch: 1, worker: "default-s-1", held: true, protocol: 0, attempts: [exitedOf("b")] },
    ]);
  });

  test("what it has answered is not said again (workers.md#report-1)", () => {
    const state = at(running, T0, observedAnswer(running, "a", T0, orderIs(1, keep("a"))));
    expect(told(state)).toEqual([]);
    expect(
      told(at(state, T0 + 1, report(3, { attempts: [{ ...runningOf("a"), startedAgoMs: 99 }] }))),
    ).toEqual([]);
  });

  test("what it wants to hear again is said again after a while (`askAgain`)", () => {
    const answer = { ...orderIs(1, keep("a")), askAgain: true };
    const heard = at(running, T0, observedAnswer(running, "a", T0, answer));
    const soon = T0 + LAST_BYTE_MS - 1;
    expect(told(at(heard, soon, report(3, { attempts: [runningOf("a")] })))).toEqual([]);
    const later = at(heard, soon + 1, report(3, { attempts: [runningOf("a")] }));
    expect(owed(later, soon + 1, "observed")).toHaveLength(1);
  });

  test.each([
    ["another state", exitedOf("a"), "a exited"],
    ["log bytes", { ...runningOf("a"), log: { stdout: { from: 0, size: 3, data: "YWJj" } } }, "a running"],
    [
      "an error of the kill",
      { ...runningOf("a"), kill: { tries: 5, error: "lives", treeGone: false, by: "cgroup" as const } },
      "a running",
    ],
  ])("%s is news", (_what, attempt, news) => {
    const heard = at(running, T0, observedAnswer(running, "a", T0, orderIs(1, keep("a"))));
    expect(told(at(heard, T0, report(3, { attempts: [attempt] })))).toEqual([news]);
  });

  test("an answer to what was said before does not count for what is said now", () => {
    const before = observedAnswer(running, "a", T0, orderIs(1, keep("a")));
    expect(told(at(running, T0, report(3, { attempts: [exitedOf("a")] }), before))).toEqual(["a exited"]);
  });

  test.each([
    ["exited", exitedOf("a"), LAST_BYTE_MS, 1],
    ["exited", exitedOf("a"), LAST_BYTE_MS - 1, 0],
    ["running", runningOf("a"), LAST_BYTE_MS, 0],
  ])(
    "%s is said again when its logs may be given up: of $1.state, $2 ms later, $3 times",
    (_what, attempt, ms, times) => {
      const state = at(holding(["a"]), T0, report(2, { attempts: [attempt] }));
      const heard = at(state, T0, observedAnswer(state, "a", T0, orderIs(1, keep("a"))));
      expect(owed(heard, T0 + ms, "observed")).toHaveLength(times);
    },
  );

  test("a poke has it said again", () => {
    const heard = at(running, T0, observedAnswer(running, "a", T0, orderIs(1, keep("a"))));
    expect(told(at(heard, T0, { type: "poke_worker", body: REF }))).toEqual(["a running"]);
  });

  test("after a restart the next report says it again", () => {
    expect(told(at(reloaded(running), T0, report(3, { attempts: [runningOf("a")] })))).toEqual(["a running"]);
  });

  test("an answer with a newer order is passed on, with how far the logs are stored", () => {
    const answer = {
      kind: "order" as const,
      revision: 2,
      attempts: stopOf("a"),
      logs: { [attemptOf("a")]: { stdout: 7 } },
    };
    const state = at(running, T0, observedAnswer(running, "a", T0, answer));
    expect(wanted(state)).toEqual(stopOf("a"));
    expect(ordersFor(state, 2, T0).logs).toEqual({ [attemptOf("a")]: { stdout: 7 } });
    expect(ordersRevision(state)).toBe(ordersRevision(running) + 1);
    expect(answerOrder(state, order("a").body)).toEqual({ kind: "accepted", revision: 2 });
  });

  test("an answer with an older order changes no order", () => {
    const stop = order("a", { revision: 2, attempts: stopOf("a") });
    const state = at(running, T0, stop, observedAnswer(running, "a", T0, orderIs(1, keep("a"))));
    expect(wanted(state)).toEqual(stopOf("a"));
  });
});

describe("an answer that is empty ends the placement (R3)", () => {
  const exited = at(holding(["a"]), T0, report(2, { attempts: [exitedOf("a")] }));

  test.each([
    ["no attempt is wanted any more", orderIs(1, [])],
    ["there is no such run", { kind: "no_such" as const }],
  ])("because %s: it is omitted, remembered, and nobody must be told", (_what, answer) => {
    const state = at(exited, T0, observedAnswer(exited, "a", T0, answer));
    expect(wanted(state)).toEqual([]);
    expect(livePlacements(state)).toEqual([]);
    expect(answerOrder(state, order("a").body)).toMatchObject({ kind: "ended", how: "gone" });
    expect(owed(state, T0, "ended")).toEqual([]);
    expect(told(state)).toEqual([]);
  });

  test("what the host repeats of it afterwards is not told to anybody", () => {
    const over = at(exited, T0, observedAnswer(exited, "a", T0, orderIs(1, [])));
    expect(told(at(over, T0, report(3, { attempts: [exitedOf("a")] })))).toEqual([]);
    expect(wanted(at(over, T0, report(3, { attempts: [runningOf("a")] })))).toEqual([]);
  });
});

describe("an attempt that no order knows is shown to its allocation before it is omitted (R5)", () => {
  const stranger = at(ready(), T0, report(2, { attempts: [runningOf("x", 3)] }));

  test("until then it is kept as it is, never started", () => {
    expect(wanted(stranger)).toEqual([{ id: attemptOf("x", 3), want: "run" }]);
    expect(owed(stranger, T0, "observed")).toMatchObject([{ run: "x", epoch: 3, held: false }]);
  });

  test.each([
    ["wants nothing of it", orderIs(4, [])],
    ["is no more", { kind: "no_such" as const }],
  ])("X5: when its allocation %s it is omitted, and no row is kept of it", (_what, answer) => {
    const state = at(stranger, T0, observedAnswer(stranger, "x", T0, answer));
    expect(wanted(state)).toEqual([]);
    expect(state.placements.get("x/3")).toBeUndefined();
    expect(sideNews(state)).not.toBe(sideNews(stranger));
    const again = at(state, T0, report(3, { attempts: [runningOf("x", 3)] }));
    expect([wanted(again), owed(again, T0, "observed")]).toEqual([[], []]);
    const taken = at(again, T0, order("x", { epoch: 3 }), report(4, { attempts: [runningOf("x", 3)] }));
    expect(owed(taken, T0, "observed")).toMatchObject([{ run: "x", epoch: 3, held: true }]);
  });

  test("X5: an order that comes before the answer is not ended by it", () => {
    const answer = observedAnswer(stranger, "x", T0, orderIs(4, []));
    const taken = at(stranger, T0, order("x", { epoch: 3 }), answer);
    expect(livePlacements(taken)).toMatchObject([{ run: "x", epoch: 3 }]);
    expect(owed(taken, T0, "observed")).toMatchObject([{ run: "x", epoch: 3, held: true }]);
  });

  test("when its allocation wants it, it stays", () => {
    const state = at(
      stranger,
      T0,
      observedAnswer(stranger, "x", T0, orderIs(1, [{ id: attemptOf("x", 3), want: "run" }])),
    );
    expect(wanted(state)).toEqual([{ id: attemptOf("x", 3), want: "run" }]);
  });
});

// host-protocol.md#absence
describe("missing in a full report is gone, if the host has seen the orders", () => {
  const state = holding(["a"]);
  const seen = ordersRevision(state);

  test.each([
    ["a full one that has seen them", { ordersSeen: seen }, ["a gone"]],
    ["a full one that has seen later ones", { ordersSeen: seen + 1 }, ["a gone"]],
    ["a full one that has seen older ones", { ordersSeen: seen - 1 }, []],
    ["a delta", { ordersSeen: seen, full: false }, []],
    ["a full one that has it", { ordersSeen: seen, attempts: [runningOf("a")] }, ["a running"]],
  ])("%s", (_what, more, news) => {
    expect(told(at(state, T0, report(2, more)))).toEqual(news);
  });

  test("a stop that the host has not seen yet does not make it gone, one that it has seen does", () => {
    const stopping = at(state, T0, order("a", { revision: 2, attempts: stopOf("a") }));
    expect(told(at(stopping, T0, report(2, { ordersSeen: seen })))).toEqual([]);
    expect(told(at(stopping, T0, report(2, { ordersSeen: seen + 1 })))).toEqual(["a gone"]);
  });

  test("only its allocation ends it: the placement stays until that has answered", () => {
    const missing = at(state, T0, report(2, { ordersSeen: seen }));
    expect(livePlacements(missing)).toHaveLength(1);
    expect(livePlacements(at(missing, T0, observedAnswer(missing, "a", T0, orderIs(1, []))))).toEqual([]);
  });

  test("a delta says nothing of what it does not name", () => {
    const both = at(holding(["a", "b"]), T0, report(2, { attempts: [runningOf("a"), runningOf("b")] }));
    const state2 = at(both, T0, report(3, { full: false, attempts: [exitedOf("b")] }));
    expect(told(state2)).toEqual(["a running", "b exited"]);
  });
});

describe("an attempt that is not to start yet", () => {
  const startAt = T0 + 9_000;
  const later = at(ready(), T0, order("a", { attempts: [{ ...attempt, startAt }] }), { type: "orders_sent" });
  const waiting = { id: attemptOf("a"), state: "preparing" as const, waits: true };
  const seen = ordersRevision(later);

  test.each([
    [0, { startInMs: 9_000 }],
    [1, { startInMs: 8_999 }],
    [8_999, { startInMs: 1 }],
    [9_000, {}],
    [60_000, {}],
  ])("%i ms later its host is told how long it is to wait yet", (ms, left) => {
    expect(ordersFor(later, 1, T0 + ms).attempts).toEqual([{ ...attempt, ...left }]);
    expect(ordersRevision(later)).toBe(seen);
  });

  test.each([
    ["that it waits is no news, and costs no row", [waiting], []],
    ["a host that has seen the order and does not have it has lost it", [], ["a gone"]],
    ["when its time has come, it is as any other", [{ ...waiting, waits: undefined }], ["a preparing"]],
    ["when it runs, too", [runningOf("a")], ["a running"]],
  ])("%s", (_what, attempts, news) => {
    expect(told(at(later, T0, report(2, { attempts, ordersSeen: seen })))).toEqual(news);
  });

  test("of which no order knows is shown to its allocation all the same (R5)", () => {
    expect(told(at(ready(), T0, report(2, { attempts: [waiting] })))).toEqual(["a preparing"]);
  });

  test.each([
    ["nothing", undefined, 0],
    ["0", 0, 0],
    ["1", 1, 1],
    ["that of a later version", 2, 2],
  ])("its allocation hears what the host speaks: it says %s (compat.md#hosts)", (_what, said, heard) => {
    const means =
      said === undefined ? {} : { means: { kill: "cgroup" as const, limits: [], protocol: said } };
    const state = at(holding(["a"]), T0, report(2, { ...means, attempts: [runningOf("a")] }));
    expect(owed(state, T0, "observed")[0]?.protocol).toBe(heard);
  });
});

describe("what a host reports beyond reason", () => {
  test("ids that are none belong to nobody", () => {
    const state = at(ready(), T0, report(2, { attempts: [{ id: "nonsense", state: "running" }] }));
    expect(told(state)).toEqual([]);
    expect(wanted(state)).toEqual([]);
  });

  test("a host that is broken is drained, and its reports still count (workers.md#broken-hosts)", () => {
    const state = at(holding(["a"]), T0, report(2, { broken: "disk full", attempts: [runningOf("a")] }));
    expect(state.record).toMatchObject({
      idleBehavior: "drain",
      reason: "broken: disk full",
      phase: "ready",
    });
    expect(told(state)).toEqual(["a running"]);
    expect(state.record.leaseUntil).toBe(T0 + LEASE);
  });

  test("what an operator has decided a broken host does not change", () => {
    const hold: WorkerEvent = { type: "behavior", behavior: "hold", by: "ann" };
    expect(at(ready(), T0, hold, report(2, { broken: "disk full" })).record.idleBehavior).toBe("hold");
  });
});
