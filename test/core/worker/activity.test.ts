import { describe, expect, test } from "vitest";
import type { WorkerEvent } from "../../../src/core/worker/machine.ts";
import { activityOf, stateOf, type WorkerActivity } from "../../../src/core/worker/read/activity.ts";
import { statusOf, whyOf } from "../../../src/core/worker/read/status.ts";
import type { ExistingWorker } from "../../../src/core/worker/state.ts";
import {
  at,
  created,
  enrolledOwn,
  holding,
  intent,
  invitation,
  MINUTE,
  nothing,
  order,
  ready,
  readyOwn,
  T0,
} from "../support/worker.ts";

const born = (more: Parameters<typeof intent>[0] = {}) =>
  at(nothing(), T0, { type: "create", body: intent(more) });
const kill: WorkerEvent = { type: "kill", reason: "enough", by: "ann" };
const gone = () => at(at(nothing(), T0, { type: "create", body: invitation() }), T0, kill);

/** A worker in each activity, after so much time: its state, and the code of its reason. */
const ACTIVITIES: Record<
  WorkerActivity["kind"],
  [worker: ExistingWorker, state: string, code: string, ms?: number]
> = {
  asked: [born(), "booting", "asked"],
  booting: [at(born(), T0, created), "booting", "booting"],
  invited: [at(nothing(), T0, { type: "create", body: invitation() }), "booting", "code_unused"],
  enrolled: [enrolledOwn(), "booting", "enrolled"],
  idle: [ready(), "idle", "idle"],
  running: [holding(["a", "b"]), "running", "running"],
  silent: [ready(), "unknown", "silent", 2 * MINUTE],
  adopted: [born({ adopt: { id: "i-1", address: null } }), "unknown", "not_ours"],
  destroying: [at(ready(), T0, kill), "shutdown", "destroying"],
  releasing: [at(readyOwn(), T0, kill), "shutdown", "releasing"],
  gone: [gone(), "gone", "gone"],
};

describe("what a worker is doing, and what its readers make of that (workers.md#states)", () => {
  test.each(Object.entries(ACTIVITIES))("%s", (kind, [worker, state, code, ms = 0]) => {
    const activity = activityOf(worker, T0 + ms);
    expect(activity.kind).toBe(kind);
    expect(stateOf(activity)).toBe(state);
    expect(statusOf(worker, T0 + ms).state).toBe(state);
    expect(whyOf(worker, T0 + ms)).toMatchObject({ state, reason: { code } });
  });
});

test("a worker says what the runs on it have reserved, and frees it with their end (pool.md#fit)", () => {
  const resources = { vcpus: 1.5, memoryBytes: 2 ** 20, diskBytes: 0, gpus: 0 };
  const used = (worker: ExistingWorker) => statusOf(worker, T0).used;
  const busy = at(ready(), T0, order("a", { resources }), order("b", { resources }));
  expect(used(ready())).toEqual({ vcpus: 0, memoryBytes: 0, diskBytes: 0, gpus: 0 });
  expect(used(busy)).toEqual({ ...resources, vcpus: 3, memoryBytes: 2 ** 21 });
  expect(used(at(busy, T0, kill))).toEqual(used(ready()));
});
