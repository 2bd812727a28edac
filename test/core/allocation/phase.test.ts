import { describe, expect, test } from "vitest";
import { phaseOf, type RunPhase, stateOf } from "../../../src/core/allocation/phase.ts";
import { statsOf } from "../../../src/core/allocation/read/stats.ts";
import { statusOf } from "../../../src/core/allocation/read/status.ts";
import { whyOf } from "../../../src/core/allocation/read/why.ts";
import type { Existing } from "../../../src/core/allocation/state.ts";
import {
  abort,
  ended,
  exited,
  exitedButUnlogged,
  FIRST,
  observed,
  ordered,
  place,
  queued,
  runAt,
  started,
  T0,
} from "../support/allocation.ts";
import { GroupStory, group, task } from "../support/group.ts";

const once = { restart: { attempts: 0 } };
const reschedule = { attempts: 1, delay: "30s" };
const again = { restart: { attempts: 1, delay: "10s", interval: "1m" } };
const stuck = { tries: 5, error: "it hangs", treeGone: false, by: "cgroup" as const };
const tick = { type: "tick" as const };

const restarting = () => {
  const story = new GroupStory(group(task("m")));
  story.stubborn.add("m");
  return story.apply({ type: "restart", request: { by: "ann" } }).run;
};
const saving = () =>
  new GroupStory({ ...group(task("m", once), task("n", once)), sticky: true, reschedule }).ends("m", {
    code: 1,
  }).run;
const resting = () => new GroupStory(group(task("m", again))).ends("m", { code: 1 }).run;
const lost = () => runAt(started({ reschedule }), T0, ended("lost"));
const unkillable = () =>
  runAt(started(), T0, abort(), observed([{ id: FIRST, state: "stopping", kill: stuck }]));
const uploading = () =>
  runAt(started({ outputs: ["x"] }), T0, observed([{ ...exited(), state: "uploading" }]));

/** A run in each phase: its state, and its description. */
const PHASES: Record<RunPhase["kind"], [run: Existing, state: string, description: RegExp]> = {
  awaiting: [
    queued({ after: ["a", "b"] }),
    "pending",
    /^waiting for run a to end well and run b to end well$/,
  ],
  waiting: [queued(), "pending", /^waiting for a place/],
  rescheduling: [lost(), "running", /^waiting for a place/],
  withdrawing: [runAt(queued(), T0, abort()), "pending", /^being stopped: enough$/],
  starting: [ordered(), "pending", /^about to start/],
  running: [started(), "running", /^running$/],
  uploading: [uploading(), "running", /outputs are being stored/],
  backoff: [resting(), "running", /^running$/],
  restarting: [restarting(), "running", /^running$/],
  stopping: [runAt(started(), T0, abort()), "running", /^being stopped: enough$/],
  unkillable: [unkillable(), "running", /cannot be killed/],
  storing_data: [saving(), "running", /data are being stored/],
  last_bytes: [runAt(started(), T0, observed([exitedButUnlogged])), "running", /rest of its logs/],
  ended: [runAt(started(), T0, observed([exited()])), "complete", /^ended with exit code 0$/],
};

describe("what a run is doing, and what its readers make of that (api.md#states)", () => {
  test.each(Object.entries(PHASES))("%s", (kind, [run, state, description]) => {
    const phase = phaseOf(run);
    expect(phase.kind).toBe(kind);
    expect(stateOf(phase)).toBe(state);
    expect(statusOf(run).description).toMatch(description);
    const code = kind === "withdrawing" ? "stopping" : kind;
    expect(whyOf(run, null, "w1", T0)).toMatchObject({ state, reason: { code } });
  });
});

test("a run that has lost its place waits for one, and then for its start, whatever ran before", () => {
  const placed = runAt(lost(), T0 + 30_000, tick, place("w2", 2, 3));
  expect(phaseOf(runAt(lost(), T0 + 30_000, tick)).kind).toBe("waiting");
  expect(phaseOf(placed)).toMatchObject({ kind: "starting", startedAt: T0 });
  expect(statusOf(placed)).toMatchObject({ state: "running", description: "about to start on its machine" });
  expect(whyOf(placed, null, "w2", T0 + 30_000).reason.code).toBe("starting");
});

test("a restart delay that is over is none: its host has been ordered to start the task", () => {
  const run = resting();
  expect(whyOf(run, null, "w1", T0).reason.code).toBe("backoff");
  expect(whyOf(run, null, "w1", T0 + 60_000)).toMatchObject({
    reason: { code: "starting" },
    next: { code: "start_task", waitsFor: "host" },
  });
});

test("a host that starts a task already, by a clock ahead of ours, is waited for, not a delay", () => {
  const { run } = new GroupStory(group(task("m", again), task("n", again)))
    .ends("m", { code: 1 })
    .ends("n", { code: 1 });
  expect(whyOf(run, null, "w1", T0).reason.code).toBe("backoff");
  const told = runAt(run, T0, observed([{ id: `${run.record.id}/m/1.2`, state: "preparing" }]));
  expect(phaseOf(told).kind).toBe("running");
  expect(whyOf(told, null, "w1", T0).reason.code).not.toBe("backoff");
});

test("nothing runs in a run that has ended, however its machine was lost (tasks.md#never-ran)", () => {
  const run = runAt(started(), T0, ended("lost"));
  expect(statsOf(run, null, undefined).tasks).toMatchObject([{ state: "dead", attempt: null }]);
  expect(statusOf(run).tasks).toMatchObject([{ state: "dead", phase: "dead", failed: false }]);
});

test("a task that is stopped before it has started is pending (tasks.md#task-states)", () => {
  const run = runAt(ordered(), T0, abort(), observed([{ id: FIRST, state: "stopping" }]));
  expect(statusOf(run).tasks).toMatchObject([{ state: "pending", phase: "preparing" }]);
});
