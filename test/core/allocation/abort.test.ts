import { describe, expect, test } from "vitest";
import { type AllocationEvent, allocationMachine } from "../../../src/core/allocation/machine.ts";
import { phaseOf, stateOf } from "../../../src/core/allocation/phase.ts";
import {
  abort,
  at,
  ended,
  exited,
  exitedButUnlogged,
  FIRST,
  nothing,
  observed,
  orderAnswered,
  ordered,
  orderNow,
  owed,
  placedOn,
  pool,
  queued,
  REF,
  reloaded,
  runAt,
  running,
  type Submitted,
  started,
  submit,
  T0,
} from "../support/allocation.ts";

const none = (version: number) => pool(version, { kind: "none" as const, version });
const stopping = { id: FIRST, state: "stopping" as const, startedAgoMs: 5 };
const aborted = { ended: true, outcome: { state: "aborted", failure: null, exitCode: null } };

// Asynchronous and idempotent (decisions/runs.md#abort); terminal means no open epoch (R3).
describe("an abort is stored at once, and ends the run when nothing of it can be left", () => {
  test.each<[string, Submitted]>([
    ["before the pool has answered", runAt(nothing(), T0, submit())],
    ["while it waits for a place", queued()],
    ["when it is placed, and nothing of that is stored", runAt(nothing(), T0, submit(), pool(1, placedOn()))],
    ["when its order is confirmed", ordered()],
    ["while it is prepared", runAt(ordered(), T0, observed([{ id: FIRST, state: "preparing" }]))],
    ["while it runs", started()],
    ["while it runs, after a restart", reloaded(started())],
  ])("%s: the wish is stored, and the pool is told", (_what, before) => {
    const { record } = runAt(before, T0 + 1, abort());
    expect(record).toMatchObject({
      stopRequest: { state: "aborted", reason: "enough", by: "ann" },
      ended: false,
    });
    expect(record.version).toBe(before.record.version + 1);
    expect(owed(runAt(before, T0 + 1, abort()), T0 + 1).run).toMatchObject({ wants: "nothing" });
  });

  test("in the queue: the end comes when the pool says that there is no place, and will be none", () => {
    const wished = runAt(queued(), T0 + 1, abort());
    expect(stateOf(phaseOf(wished))).toBe("pending");
    expect(runAt(wished, T0 + 2, none(2)).record).toMatchObject(aborted);
  });

  test("in the queue: a word of the pool that is older than the abort decides nothing", () => {
    const wished = runAt(queued(), T0 + 1, abort());
    expect(runAt(wished, T0 + 2, none(1)).record.ended).toBe(false);
    expect(runAt(wished, T0 + 2, pool(2, { kind: "queued" })).record.ended).toBe(false);
  });

  test("in the queue, and placed in the same moment: it ends by the word of its worker", () => {
    const placed = runAt(queued(), T0 + 1, abort(), pool(2, placedOn()));
    expect(owed(placed, T0 + 1).order).toMatchObject({ revision: 3, attempts: [{ want: "stop" }] });
    expect(runAt(placed, T0 + 2, none(2)).record.ended).toBe(false);
    const refused = orderAnswered(placed, { kind: "ended", how: "refused", held: false });
    expect(runAt(placed, T0 + 2, refused).record).toMatchObject(aborted);
  });

  test("while it runs: the worker is told to stop it, by its own signal and in its own time", () => {
    const wished = runAt(started({ killSignal: "SIGINT", killTimeout: "20s" }), T0 + 1, abort());
    const stop = { id: FIRST, want: "stop", signal: "SIGINT", timeoutMs: 20_000, reason: "enough" };
    expect(owed(wished, T0 + 1).order).toMatchObject({ epoch: 1, revision: 2, attempts: [stop] });
    expect(orderNow(wished, 1, T0 + 1)).toMatchObject({ revision: 2, attempts: [stop] });
  });

  test.each([
    ["its host says that it has ended by the signal", observed([exited({ code: null, signal: "SIGTERM" })])],
    ["its command ends by itself with 0", observed([exited({ code: 0 })])],
    ["nothing is left of it", observed([{ id: FIRST, state: "gone" as const }])],
    ["its worker says that it is gone", ended("gone")],
    ["its worker is lost", ended("lost")],
  ])("while it runs: it is aborted when %s", (_what, event) => {
    const wished = runAt(started(), T0 + 1, abort());
    expect(stateOf(phaseOf(wished))).toBe("running");
    expect(runAt(wished, T0 + 2, observed([stopping])).record.ended).toBe(false);
    expect(runAt(wished, T0 + 2, observed([stopping]), event).record).toMatchObject(aborted);
  });

  test("nothing wakes it while it waits for that word: the worker owes it (R2)", () => {
    const wished = runAt(started({ timeout: "1m", queueTimeout: "1m" }), T0 + 1, abort());
    expect(allocationMachine.wakeAt(wished)).toBeUndefined();
  });
});

describe("an exit that is stored already outranks an abort (decisions/runs.md#abort)", () => {
  test("it ends as it did, and nothing is stopped", () => {
    const state = runAt(started(), T0, observed([exitedButUnlogged]), abort());
    expect(state.record.stopRequest).toBeNull();
    const log = { stdout: { from: 0, size: 10, data: btoa("0123456789") } };
    expect(runAt(state, T0 + 1, observed([{ ...exitedButUnlogged, log }])).record).toMatchObject({
      ended: true,
      outcome: { state: "complete", exitCode: 3 },
    });
  });

  test("a run that has ended keeps its end", () => {
    const over = runAt(started(), T0, observed([exited()]));
    expect(at(over, T0 + 1, abort()).record).toBe(over.record);
  });
});

test("a second abort changes nothing: the first reason stays", () => {
  const wished = runAt(started(), T0, abort("first"));
  expect(at(wished, T0 + 1, abort("second")).record).toBe(wished.record);
});

test("a report of a process that runs does not undo an abort", () => {
  const state = runAt(ordered(), T0, abort(), observed([running]));
  expect(state.record).toMatchObject({ stopRequest: { state: "aborted" }, ended: false });
  expect(orderNow(state, 1, T0)).toMatchObject({ attempts: [{ want: "stop" }] });
});

describe("what changes nothing has no entry in the audit log (audit.md#outbox)", () => {
  const forced = { type: "end_run", body: { ...REF, reason: "its pool is deleted", by: "op" } } as const;
  test.each<[string, AllocationEvent]>([
    ["an abort", abort()],
    ["a forced end", forced],
  ])("as an abort of a run that %s has already stopped, and that was to be kept", (_what, first) => {
    const kept = started({ keep: "5m" });
    const stopping = runAt(kept, T0 + 1, first);
    const again = runAt(stopping, T0 + 2, abort("again"));
    // An entry without a new version would never be stored: the pool ignores a version that it has.
    expect([again.record.audit?.last, again.record.version]).toEqual([
      stopping.record.audit?.last,
      stopping.record.version,
    ]);
  });
});
