import { describe, expect, test } from "vitest";
import { type AllocationEvent, allocationMachine } from "../../../src/core/allocation/machine.ts";
import { openPlacement } from "../../../src/core/allocation/state.ts";
import { MAX_TASK_ATTEMPTS } from "../../../src/shared/limits.ts";
import {
  abort,
  at,
  ended,
  FIRST,
  nothing,
  observed,
  orderAnswered,
  ordered,
  owed,
  place,
  placedOn,
  pool,
  queued,
  RUN,
  reloaded,
  runAt,
  running,
  specOf,
  started,
  submit,
  T0,
} from "../support/allocation.ts";

const placeOfAnother: AllocationEvent = {
  type: "place",
  body: { run: RUN, worker: "w1", epoch: 1, version: 1, submittedAt: T0 - 1 },
};
const over = runAt(started(), T0, ended("lost"));
const abortedInQueue = runAt(queued(), T0, abort(), pool(2, { kind: "none", version: 2 }));

describe("a place leads to an order of the first attempt (messages.md)", () => {
  test.each([
    ["in the answer to the upsert", pool(1, placedOn())],
    ["in a message of the pool", place()],
  ])("%s", (_what, event) => {
    const state = runAt(nothing(), T0, submit(), event);
    expect(owed(state, T0)).toEqual({
      order: {
        run: RUN,
        epoch: 1,
        revision: 1,
        resources: { vcpus: 1, memoryBytes: 256 * 2 ** 20, diskBytes: 0, gpus: 0 },
        protocol: 0,
        attempts: [
          { id: FIRST, want: "run", task: expect.objectContaining({ name: "main", argv: specOf().argv }) },
        ],
      },
    });
    expect(allocationMachine.due(state, T0)[0]).toMatchObject({ to: "w1", repeatedBy: "self" });
  });

  test("costs no row while nothing has happened: the pool has it stored (R1, the exception)", () => {
    const before = queued();
    expect(at(before, T0 + 1, place()).record).toBe(before.record);
  });

  test("is stored with a time limit, which must not begin anew after a crash", () => {
    const state = at(queued({ timeout: "1m" }), T0 + 1, place());
    expect(state.record).toMatchObject({ firstPlacedAt: T0 + 1, placements: [{ epoch: 1, to: null }] });
  });
});

describe("a place that means nothing changes nothing (R2: the pool opens no epoch unasked)", () => {
  test.each([
    ["an epoch that is too high", queued(), place("w1", 2)],
    ["an earlier submission under this id", queued(), placeOfAnother],
    ["an epoch of none", queued(), place("w1", 0)],
    ["the same again", ordered(), place("w1", 1)],
    ["the same epoch on another worker", ordered(), place("w2", 1)],
    ["an epoch that has ended", runAt(ordered(), T0, ended("refused", { held: false })), place("w1", 1)],
    ["a next epoch while one is open", started(), place("w2", 2)],
    ["a next epoch of a run that has ended", over, place("w2", 2)],
    ["a first epoch of a run that was aborted in the queue", abortedInQueue, place("w1", 1)],
  ])("%s", (_what, before, event) => {
    const state = at(before, T0 + 1, event);
    expect(openPlacement(state)).toEqual(openPlacement(before));
    expect(state.record).toEqual(before.record);
  });
});

describe("what the worker answers", () => {
  const fresh = runAt(queued(), T0, place());

  test("accepted: nothing more is owed to it", () => {
    expect(owed(at(fresh, T0, orderAnswered(fresh, { kind: "accepted", revision: 1 })), T0)).toEqual({});
  });

  test("accepted, but an order that has changed since: the newer one is owed (R7)", () => {
    const state = at(fresh, T0, abort(), orderAnswered(fresh, { kind: "accepted", revision: 1 }));
    expect(owed(state, T0).order).toMatchObject({ revision: 2, attempts: [{ want: "stop" }] });
  });

  test("no such worker: the order stays owed", () => {
    const state = at(fresh, T0, orderAnswered(fresh, { kind: "no_such" }));
    expect(owed(state, T0).order).toEqual(owed(fresh, T0).order);
  });

  test("refused: the next epoch is asked for, and the revisions begin anew", () => {
    const refused = orderAnswered(fresh, { kind: "ended", how: "refused", held: false });
    const state = runAt(fresh, T0 + 9, refused);
    expect(owed(state, T0 + 9)).toMatchObject({ run: { wants: "place", epoch: 0, ended: 1, version: 2 } });
    const again = runAt(state, T0 + 9, pool(2, placedOn("w2", 2)));
    expect(allocationMachine.due(again, T0 + 9)[0]).toMatchObject({
      to: "w2",
      body: { epoch: 2, revision: 1 },
    });
    expect(again.record.placements).toMatchObject([
      { epoch: 1, worker: "w1", outcome: "refused", to: T0 + 9 },
    ]);
  });

  test("an answer to an order of an epoch that is over changes nothing", () => {
    const late = orderAnswered(fresh, { kind: "accepted", revision: 1 });
    const state = runAt(fresh, T0, ended("refused", { held: false }), pool(2, placedOn("w2", 2)));
    expect(owed(at(state, T0, late), T0).order).toMatchObject({ epoch: 2 });
  });
});

describe("a placement that an allocation has forgotten in a crash", () => {
  const forgetful = reloaded(ordered());

  test("is taken up again when its worker reports it: only we can have ordered it", () => {
    const state = runAt(forgetful, T0 + 3, observed([running]));
    expect(openPlacement(state)).toMatchObject({ epoch: 1, worker: "w1" });
    expect(state.record.tasks[0]?.attempts).toMatchObject([{ id: FIRST, state: "running" }]);
  });

  test("is closed when its worker says that it has ended", () => {
    const state = runAt(forgetful, T0 + 3, ended("lost"));
    expect(state.record).toMatchObject({ endedEpoch: 1, ended: true, outcome: { state: "unknown" } });
  });
});

test(`the latest ${MAX_TASK_ATTEMPTS} placements are kept (messages.md#bounds-of-a-record)`, () => {
  let state = queued();
  const refuse = () => {
    const epoch = state.record.endedEpoch + 1;
    state = runAt(state, T0, place("w1", epoch), ended("refused", { epoch, held: false }));
  };
  for (let i = 0; i < MAX_TASK_ATTEMPTS; i += 1) refuse();
  expect(state.record.placements.map(({ epoch }) => epoch)).toEqual(
    Array.from({ length: MAX_TASK_ATTEMPTS }, (_, i) => i + 1),
  );
  refuse();
  expect(state.record.placements).toHaveLength(MAX_TASK_ATTEMPTS);
  expect(state.record.placements[0]?.epoch).toBe(2);
  expect(state.record.endedEpoch).toBe(MAX_TASK_ATTEMPTS + 1);
});
