import { describe, expect, test } from "vitest";
import { ordersFor } from "../../../src/core/worker/host/report.ts";
import { type WorkerEvent, workerMachine } from "../../../src/core/worker/machine.ts";
import { type ExistingWorker, livePlacements } from "../../../src/core/worker/state.ts";
import { LEASE_MARGIN_MS } from "../../../src/shared/limits.ts";
import { poolConfig } from "../support/pool-config.ts";
import {
  at,
  CONSISTENCY,
  holding,
  INSTANCE,
  intent,
  LEASE,
  MINUTE,
  order,
  owed,
  REF,
  ready,
  reloaded,
  report,
  T0,
} from "../support/worker.ts";

const tick: WorkerEvent = { type: "tick" };
/** A worker that is not given up while the lease is what the story is about. */
const PATIENT = { settings: { ...ready().record.intent.settings, probeMs: 24 * 60 * MINUTE } };
const placed = () => at(ready(T0, PATIENT), T0, order("a"), { type: "orders_sent" });

describe("the lease is stored before it is granted, and by thirds (R4)", () => {
  test("the first report grants it in full, for as long as is left of it", () => {
    const state = ready();
    expect(state.record.leaseUntil).toBe(T0 + LEASE);
    expect(ordersFor(state, 1, T0).leaseMs).toBe(LEASE);
    expect(ordersFor(state, 1, T0 + MINUTE).leaseMs).toBe(LEASE - MINUTE);
    expect(ordersFor(state, 1, T0 + 2 * LEASE).leaseMs).toBe(0);
  });

  test.each([
    ["exactly two thirds are left: no row", LEASE / 3, T0 + LEASE],
    ["less than two thirds are left", LEASE / 3 + 1, T0 + LEASE / 3 + 1 + LEASE],
    ["nothing is left", 2 * LEASE, T0 + 3 * LEASE],
  ])("it is extended when %s", (_what, ms, leaseUntil) => {
    const before = ready(T0, PATIENT);
    const state = at(before, T0 + ms, report(2));
    expect(state.record.leaseUntil).toBe(leaseUntil);
    expect(state.record === before.record).toBe(leaseUntil === T0 + LEASE);
  });

  test.each<[string, WorkerEvent]>([
    ["an older report", report(1)],
    ["one of an older start", report(9, { incarnation: 0 })],
    ["one of an unknown start", report(9, { incarnation: 2 })],
    ["an order", order("b")],
    ["a tick", tick],
    ["a poke", { type: "poke_worker", body: REF }],
    ["a join", { type: "join", id: "j", signedAt: T0, bootId: "boot-1" }],
    [
      "a sighting",
      {
        type: "sighting",
        body: {
          worker: "default-s-1",
          provider: intent().provider,
          beganAt: T0,
          instance: INSTANCE,
          consistencyMs: CONSISTENCY,
        },
      },
    ],
  ])("%s grants nothing", (_what, event) => {
    expect(at(ready(T0, PATIENT), T0 + LEASE / 2, event).record.leaseUntil).toBe(T0 + LEASE);
  });

  test("a worker that is being destroyed grants nothing, and orders the power off", () => {
    const state = at(at(ready(), T0, { type: "kill", reason: "", by: "ann" }), T0 + LEASE / 2, report(2));
    expect(state.record.leaseUntil).toBe(T0 + LEASE);
    expect(ordersFor(state, 2, T0)).toMatchObject({ leaseMs: 0, powerOff: true });
    expect(ordersFor(ready(), 1, T0).powerOff).toBe(false);
  });
});

describe("a silent host's placements are lost LEASE_MARGIN_MS after the lease (R4)", () => {
  const overdue = () => at(placed(), T0 + LEASE, tick);

  test("the worker wakes at the end of the lease, and again at the end of the margin", () => {
    expect(workerMachine.wakeAt(placed())).toBe(T0 + LEASE);
    expect(workerMachine.wakeAt(overdue())).toBe(T0 + LEASE + LEASE_MARGIN_MS);
  });

  test.each([
    [LEASE + LEASE_MARGIN_MS - 1, 1],
    [LEASE + LEASE_MARGIN_MS, 0],
  ])("%d ms after the grant %d are left", (ms, left) => {
    const state = at(overdue(), T0 + ms, tick);
    expect(livePlacements(state)).toHaveLength(left);
    expect(owed(state, T0 + ms, "ended")).toHaveLength(1 - left);
  });

  // Our own down time is not charged to hosts (invariant 7): the margin counts from when we first saw it.
  test("never within LEASE_MARGIN_MS of having seen that: a report may be under way", () => {
    const seenAt = T0 + 2 * LEASE;
    const seen = at(reloaded(placed()), seenAt, tick);
    expect(livePlacements(seen)).toHaveLength(1);
    expect(workerMachine.wakeAt(seen)).toBe(seenAt + LEASE_MARGIN_MS);
    expect(livePlacements(at(seen, seenAt + LEASE_MARGIN_MS - 1, tick))).toHaveLength(1);
    expect(livePlacements(at(seen, seenAt + LEASE_MARGIN_MS, tick))).toHaveLength(0);
  });

  test("an object that is evicted between its alarms comes to the end all the same", () => {
    expect(livePlacements(at(reloaded(overdue()), T0 + LEASE + LEASE_MARGIN_MS, tick))).toHaveLength(0);
  });

  test("a report in that minute keeps them", () => {
    const state = at(overdue(), T0 + LEASE + LEASE_MARGIN_MS - 1, report(2));
    expect(state.record.overdueSince).toBeNull();
    expect(livePlacements(at(state, T0 + LEASE + LEASE_MARGIN_MS, tick))).toHaveLength(1);
  });

  test("the allocation is told until it has answered, and a placement that is lost stays so", () => {
    const now = T0 + LEASE + LEASE_MARGIN_MS;
    const lost = at(overdue(), now, tick);
    const [sent] = owed(lost, now, "ended");
    expect(sent).toEqual({ run: "a", epoch: 1, worker: "default-s-1", how: "lost", held: true, at: now });
    expect(owed(reloaded(lost), now, "ended")).toEqual([sent]);
    if (sent === undefined) return;
    const heard = at(lost, now, { type: "ended_answered", sent, answer: { kind: "noted" } });
    expect(owed(heard, now, "ended")).toEqual([]);
    expect(livePlacements(at(heard, now, report(2)))).toEqual([]);
  });

  test("an order that never left for the host is lost as well, but was never held (R2)", () => {
    const gone = at(at(ready(), T0, order("a")), T0, {
      type: "sighting",
      body: {
        worker: "default-s-1",
        beganAt: T0,
        instance: { ...INSTANCE, state: "terminated" },
        provider: poolConfig().provider,
        consistencyMs: CONSISTENCY,
      },
    });
    expect(owed(gone, T0, "ended")).toMatchObject([{ how: "lost", held: false }]);
  });
});

// With runs a worker is given up at the later of its probe time-out and the end of the lease
// (decisions/workers.md#t9).
describe("a worker whose host is silent is given up", () => {
  const PROBE = 10 * MINUTE;
  const overdue = (state: ExistingWorker) => at(state, T0 + PROBE, tick);

  test.each([
    ["empty: a minute after the probe time-out", ready(), PROBE + LEASE_MARGIN_MS],
    ["with a run: not before its lease and the margin are over", holding(["a"]), LEASE + LEASE_MARGIN_MS],
  ])("%s", (_what, before, ms) => {
    expect(workerMachine.wakeAt(overdue(held(before)))).toBe(T0 + ms);
    expect(at(overdue(before), T0 + ms - 1, tick).record.phase).toBe("ready");
    expect(at(overdue(before), T0 + ms, tick).record.phase).toBe("shutdown");
  });

  test("a report puts it off", () => {
    const state = at(overdue(ready()), T0 + PROBE + LEASE_MARGIN_MS - 1, report(2));
    const next = T0 + PROBE + LEASE_MARGIN_MS - 1 + PROBE;
    expect(at(state, next - 1, tick).record).toMatchObject({ phase: "ready", overdueSince: null });
    expect(at(state, next, tick).record).toMatchObject({ phase: "ready", overdueSince: next });
  });

  test("our own down time is not charged to it (invariant 7)", () => {
    const seenAt = T0 + 10 * PROBE;
    const seen = at(reloaded(ready()), seenAt, tick);
    expect(at(seen, seenAt + LEASE_MARGIN_MS - 1, tick).record.phase).toBe("ready");
    expect(at(seen, seenAt + LEASE_MARGIN_MS, tick).record.phase).toBe("shutdown");
  });

  /** No proposal to stop shall wake it before. */
  function held(state: ExistingWorker): ExistingWorker {
    return { ...state, memo: { ...state.memo, proposeAt: Number.MAX_SAFE_INTEGER } };
  }
});
