import { describe, expect, test } from "vitest";
import { allocationMachine } from "../../../src/core/allocation/machine.ts";
import {
  at,
  ended,
  exited,
  exitedButUnlogged,
  observed,
  ordered,
  orderNow,
  owed,
  place,
  placedOn,
  pool,
  queued,
  REF,
  reloaded,
  runAt,
  started,
  T0,
} from "../support/allocation.ts";

const MINUTE = 60_000;
const tick = { type: "tick" } as const;
const none = (version: number) => pool(version, { kind: "none" as const, version });

describe("`timeout` counts from the first placement on (api.md#time-limits)", () => {
  const placed = ordered({ timeout: "1m" });

  test("the run is woken at its end, and its host knows what is left of it", () => {
    expect(allocationMachine.wakeAt(placed)).toBe(T0 + MINUTE);
    const order = orderNow(placed, 1, T0 + 20_000);
    expect(order).toMatchObject({ attempts: [{ want: "run", timeoutMs: 40_000 }] });
    expect(orderNow(placed, 1, T0 + 2 * MINUTE)).toMatchObject({
      attempts: [{ want: "stop", timedOut: true }],
    });
  });

  test("a run in the queue has all its time before it", () => {
    const state = queued({ timeout: "1m" });
    expect(allocationMachine.wakeAt(state)).toBeUndefined();
    expect(at(state, T0 + 10 * MINUTE, tick).record).toBe(state.record);
  });

  test.each([
    [MINUTE - 1, "run"],
    [MINUTE, "stop"],
  ])("after %d ms the order is %s, and only the host's answer decides", (ms, want) => {
    const state = runAt(placed, T0 + ms, tick);
    expect(orderNow(state, 1, T0 + ms)).toMatchObject({ attempts: [{ want }] });
    expect(state.record).toMatchObject({ stopRequest: null, ended: false });
  });

  test("any event will do, not only a tick (shell.md#machine: level, not edge)", () => {
    expect(
      owed(runAt(placed, T0 + MINUTE, { type: "poke_run", body: REF }), T0 + MINUTE).order,
    ).toMatchObject({
      attempts: [{ want: "stop" }],
    });
  });

  test("it is stopped then, and ends `timedout`, whatever the command still does", () => {
    const late = runAt(started({ timeout: "1m" }), T0 + MINUTE, tick);
    expect(owed(late, T0 + MINUTE).order).toMatchObject({ revision: 2, attempts: [{ want: "stop" }] });
    expect(runAt(late, T0 + MINUTE + 1, observed([exited()])).record).toMatchObject({
      ended: true,
      outcome: { state: "timedout", exitCode: null, failure: null },
    });
  });

  test("it goes on between two placements", () => {
    const waiting = runAt(placed, T0 + 10, ended("refused", { held: false }));
    expect(allocationMachine.wakeAt(waiting)).toBe(T0 + MINUTE);
    const late = runAt(waiting, T0 + MINUTE, tick);
    expect(late.record.stopRequest?.state).toBe("timedout");
    const again = runAt(waiting, T0 + 20, place("w2", 2, 2));
    expect(orderNow(again, 2, T0 + 20, "w2")).toMatchObject({ attempts: [{ timeoutMs: MINUTE - 20 }] });
    expect(runAt(late, T0 + MINUTE, none(late.record.version)).record.outcome?.state).toBe("timedout");
  });

  test("a restart does not begin it anew", () => {
    expect(allocationMachine.wakeAt(reloaded(placed))).toBe(T0 + MINUTE);
  });

  test("an exit that is stored in time stays the end", () => {
    const state = runAt(started({ timeout: "1m" }), T0 + MINUTE - 1, observed([exitedButUnlogged]));
    expect(runAt(state, T0 + MINUTE, tick).record).toMatchObject({
      stopRequest: null,
      outcome: { state: "complete" },
    });
  });

  test("without one a run may go on for ever", () => {
    expect(allocationMachine.wakeAt(started())).toBeUndefined();
    expect(orderNow(started(), 1, T0)).not.toHaveProperty("attempts.0.timeoutMs");
  });
});

describe("`queueTimeout` is for each wait for a place (api.md#time-limits)", () => {
  const waiting = queued({ queueTimeout: "1m" });

  test("the run is woken at its end", () => {
    expect(allocationMachine.wakeAt(waiting)).toBe(T0 + MINUTE);
  });

  test.each([
    [MINUTE - 1, null],
    [MINUTE, "failed"],
  ])("after %d ms the wish is %s", (ms, wish) => {
    expect(runAt(waiting, T0 + ms, tick).record.stopRequest?.state ?? null).toBe(wish);
  });

  test("it ends `failed` when the pool confirms that there is no place", () => {
    const { record } = runAt(waiting, T0 + MINUTE, tick, none(2));
    expect(record).toMatchObject({
      ended: true,
      outcome: { state: "failed", failure: { code: "queue_timeout" } },
    });
  });

  test("a place that was given in the same moment is given back, and it still ends `failed`", () => {
    const placed = runAt(waiting, T0 + MINUTE, tick, pool(2, placedOn()));
    expect(owed(placed, T0 + MINUTE).order).toMatchObject({ attempts: [{ want: "stop" }] });
    expect(runAt(placed, T0 + MINUTE, ended("refused", { held: false })).record).toMatchObject({
      ended: true,
      outcome: { failure: { code: "queue_timeout" } },
    });
  });

  test("it does not count while there is a place", () => {
    const placed = ordered({ queueTimeout: "1m" });
    expect(allocationMachine.wakeAt(placed)).toBeUndefined();
    expect(runAt(placed, T0 + 10 * MINUTE, tick).record.stopRequest).toBeNull();
  });

  test("it begins anew with the next wait", () => {
    const again = runAt(ordered({ queueTimeout: "1m" }), T0 + 5 * MINUTE, ended("lost", { held: false }));
    expect(allocationMachine.wakeAt(again)).toBe(T0 + 6 * MINUTE);
    expect(runAt(again, T0 + 6 * MINUTE - 1, tick).record.stopRequest).toBeNull();
  });
});

test("of two limits the first one counts", () => {
  const both = runAt(
    ordered({ timeout: "1m", queueTimeout: "30s" }),
    T0 + 20_000,
    ended("lost", { held: false }),
  );
  expect(allocationMachine.wakeAt(both)).toBe(T0 + 50_000);
  expect(runAt(both, T0 + 50_000, tick).record.stopRequest?.failure).toBe("queue_timeout");
});
