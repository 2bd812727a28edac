import { describe, expect, test } from "vitest";
import {
  afterOrders,
  frameDue,
  isSettled,
  mayWait,
  newAttachment,
  resumeSocket,
  type SocketAttachment,
  sideNews,
} from "../../../src/core/worker/host/host-socket.ts";
import { isSilent } from "../../../src/core/worker/placements.ts";
import { type ExistingWorker, ordersRevision } from "../../../src/core/worker/state.ts";
import { LEASE_MARGIN_MS } from "../../../src/shared/limits.ts";
import {
  at,
  attemptOf,
  exitedOf,
  holding,
  LEASE,
  living,
  MINUTE,
  observedAnswer,
  order,
  orderIs,
  owed,
  ready,
  reloaded,
  report,
  runningOf,
  T0,
  TASK,
} from "../support/worker.ts";

// The exchange over a socket: what the host is owed, derived from the worker and what the socket keeps.

const keep = (run: string) => [{ id: attemptOf(run), want: "run" as const, task: TASK }];

/** A line on which everything has been said. */
function quiet(state: ExistingWorker, more: Partial<SocketAttachment> = {}): SocketAttachment {
  const seq = state.memo.lastSeq;
  return {
    ...afterOrders(state, { ...newAttachment(state, T0), seq }),
    settled: isSettled(state, T0),
    ...more,
  };
}

const due = (state: ExistingWorker, note: SocketAttachment, side = sideNews(state)) =>
  frameDue(state, note, side, T0);

describe("what a host is owed on its socket (host-protocol.md#socket)", () => {
  const idle = ready();

  test("nothing, while all has been said", () => {
    expect(due(idle, quiet(idle))).toBeUndefined();
  });

  test("an answer to each report, with what is left of the lease (rule R4)", () => {
    const state = at(idle, T0, report(7));
    const frame = due(state, quiet(idle, { seq: 7 }));
    expect(frame).toMatchObject({ kind: "orders", orders: { answers: 7, leaseMs: LEASE } });
  });

  test("an order as soon as it is stored, which grants no lease (rule R4)", () => {
    const state = at(idle, T0, order("a"));
    const frame = due(state, quiet(idle));
    expect(frame).toMatchObject({ kind: "orders", orders: { leaseMs: 0, attempts: keep("a") } });
  });

  test("the end of the machine", () => {
    const state = at(idle, T0, { type: "kill", reason: "test", by: "test" });
    expect(due(state, quiet(idle))).toMatchObject({ orders: { powerOff: true, leaseMs: 0 } });
    expect(due(state, quiet(state))).toBeUndefined();
  });

  test("the word that bytes of its logs are stored", () => {
    const running = at(holding(["a"]), T0, report(2, { attempts: [runningOf("a")] }));
    const logs = { [attemptOf("a")]: { stdout: 5 } };
    const answer = { ...orderIs(1, keep("a")), logs };
    const state = at(running, T0, observedAnswer(running, "a", T0, answer));
    expect(due(state, quiet(state), sideNews(running))).toMatchObject({ orders: { logs } });
    expect(due(state, quiet(state))).toBeUndefined();
  });

  test("nothing before its first report", () => {
    const state = at(idle, T0, order("a"));
    expect(due(state, newAttachment(state, T0))).toBeUndefined();
  });
});

describe("orders that are due may wait for others (host-protocol.md#gathered)", () => {
  const idle = ready();
  const busy = at(holding(["a", "b"]), T0, report(2, { attempts: [runningOf("a"), runningOf("b")] }));
  const ended = at(busy, T0, observedAnswer(busy, "a", T0, orderIs(1, [])));
  const how = { reason: "test", signal: "SIGTERM" as const, timeoutMs: 1_000 };
  const stop = [{ id: attemptOf("a"), want: "stop" as const, ...how }];
  const stopped = at(busy, T0, observedAnswer(busy, "a", T0, orderIs(2, stop)));

  test.each<[string, ExistingWorker, SocketAttachment, boolean]>([
    ["the answer to a report", at(idle, T0, report(7)), quiet(idle, { seq: 7 }), true],
    ["an attempt that the orders no longer name", ended, quiet(busy), true],
    ["a new run", at(idle, T0, order("a")), quiet(idle), false],
    ["a new run beside the end of another", at(ended, T0, order("c")), quiet(busy), false],
    ["a stop", stopped, quiet(busy), false],
    [
      "the end of the machine",
      at(idle, T0, { type: "kill", reason: "test", by: "test" }),
      quiet(idle),
      false,
    ],
    ["the first answer on a socket", at(idle, T0, report(7)), quiet(idle, { seq: 7, revision: -1 }), false],
  ])("%s", (_what, state, note, waits) => {
    expect(due(state, note)).toMatchObject({ kind: "orders" });
    expect(mayWait(state, note)).toBe(waits);
  });
});

describe("a worker that was evicted while its host's socket lived", () => {
  const settled = ready();

  test("goes on where all had been settled: orders go out at once", () => {
    const note = quiet(settled);
    expect(note.settled).toBe(true);
    const woken = at(living(resumeSocket(reloaded(settled), note, T0)), T0, order("a"));
    expect(due(woken, note, "{}")).toMatchObject({ kind: "orders", orders: { attempts: keep("a") } });
  });

  test("asks for a full report where it had not: orders could omit what nobody knows (rule R5)", () => {
    const unsettled = at(settled, T0, report(9, { attempts: [runningOf("stranger")] }));
    const note = quiet(unsettled);
    expect(note.settled).toBe(false);
    const woken = at(living(resumeSocket(reloaded(unsettled), note, T0)), T0, order("a"));
    expect(due(woken, note, "{}")).toEqual({ kind: "ask" });
    const told = at(woken, T0, report(10, { attempts: [runningOf("stranger")] }));
    expect(due(told, { ...note, seq: 10 }, "{}")).toMatchObject({
      orders: { attempts: [...keep("a"), { id: attemptOf("stranger"), want: "run" }] },
    });
  });

  test("takes no report twice: the highest number is kept with the socket", () => {
    const state = at(settled, T0, report(9, { full: true }));
    const woken = living(resumeSocket(reloaded(state), quiet(state), T0));
    const replayed = at(woken, T0, report(9, { attempts: [runningOf("ghost")] }));
    expect(owed(replayed, T0, "observed")).toEqual([]);
  });

  test("believes the socket's last sign of life, and takes orders", () => {
    const now = T0 + 10 * MINUTE;
    const asleep = reloaded(settled);
    expect(isSilent(asleep, now)).toBe(true);
    const woken = living(resumeSocket(asleep, quiet(settled), now - 1_000));
    expect(isSilent(woken, now)).toBe(false);
    expect(isSilent(at(woken, now + MINUTE, { type: "heard", at: now + MINUTE }), now + MINUTE)).toBe(false);
  });

  test("does not go on from the socket of an older start of the agent", () => {
    const woken = living(resumeSocket(reloaded(settled), quiet(settled, { incarnation: 0 }), T0));
    expect(woken.memo.whole).toBe(false);
  });
});

describe("deltas (host-protocol.md#deltas: a delta is absolute for what it names)", () => {
  const both = at(
    holding(["a", "b"]),
    T0,
    report(2, { attempts: [runningOf("a"), runningOf("b")], ordersSeen: 9 }),
  );

  test("what a delta does not name is as it was said before, and never gone", () => {
    const seen = ordersRevision(both);
    const state = at(both, T0, report(3, { full: false, ordersSeen: seen, attempts: [exitedOf("b")] }));
    const said = owed(state, T0, "observed").map(({ attempts: [one] }) => `${one?.id} ${one?.state}`);
    expect(said).toEqual([`${attemptOf("a")} running`, `${attemptOf("b")} exited`]);
  });

  test("a sign of life on the socket is no report: nothing is settled, no lease is extended", () => {
    const later = T0 + 20 * MINUTE;
    const state = at(both, later, { type: "heard", at: later });
    expect(state.record.leaseUntil).toBe(both.record.leaseUntil);
    expect(state.memo.lastReportAt).toBe(later);
  });
});

describe("a host whose heart beats and which reports no more (cases.md#case-8)", () => {
  const over = T0 + LEASE;
  const beaten = (ms: number) => at(ready(), over + ms, { type: "heard", at: over + ms });

  test("gets no run after its lease, is shown so, and is recycled", () => {
    const silent = beaten(MINUTE);
    expect(isSilent(silent, over + MINUTE)).toBe(true);
    expect(at(silent, over + MINUTE, order("a")).placements.get("a/1")?.state).not.toBe("live");
    const { probeMs } = silent.record.intent.settings;
    const seen = at(beaten(probeMs), over + probeMs, { type: "tick" });
    const later = over + probeMs + LEASE_MARGIN_MS;
    expect(at(seen, later, { type: "heard", at: later }, { type: "tick" }).record.phase).toBe("shutdown");
  });

  test("nor does a restart of the object believe its heart", () => {
    const loaded = resumeSocket(reloaded(ready()), newAttachment(ready(), T0), over + MINUTE);
    expect(loaded.memo.lastReportAt).toBe(over);
  });
});
