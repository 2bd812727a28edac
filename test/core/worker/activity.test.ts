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
