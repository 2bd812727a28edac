import { describe, expect, test } from "vitest";
import { changed } from "../../../src/core/allocation/draft.ts";
import { loadedAllocation } from "../../../src/core/allocation/load.ts";
import { hasHeardPool } from "../../../src/core/allocation/machine.ts";
import { statusOf } from "../../../src/core/allocation/read/status.ts";
import { RunStatus } from "../../../src/schema/run/run.ts";
import { MAX_TASK_EVENTS } from "../../../src/shared/limits.ts";
import {
  abort,
  ended,
  existing,
  exited,
  exitedButUnlogged,
  FIRST,
  observed,
  ordered,
  place,
  pool,
  queued,
  RUN,
  reloaded,
  runAt,
  running,
  type Submitted,
  started,
  T0,
} from "../support/allocation.ts";

const end = (report: Parameters<typeof observed>[0][number]) =>
  runAt(started(), T0 + 1_000, observed([report]));
const notFound = {
  id: FIRST,
  state: "exited" as const,
  startError: { code: "not_executable" as const, text: "no" },
};
const killed = { code: null, signal: "SIGKILL" };
const late = runAt(started({ timeout: "1s" }), T0 + 1_000, { type: "tick" }, observed([exited()]));
const noPlace = runAt(
  queued({ queueTimeout: "1s" }),
  T0 + 1_000,
  { type: "tick" },
  pool(2, { kind: "none", version: 2 }),
);

// A run has a `state` (api.md#states) and an `allocStatus` (tasks.md#alloc-status): they differ where a
// command ends with another exit code than zero.
describe("state and allocStatus (tasks.md#status-2)", () => {
  test.each<[string, Submitted, string, string, string]>([
    ["in the queue", queued(), "pending", "pending", "waiting for a place on a machine"],
    ["placed", ordered(), "pending", "pending", "about to start on its machine"],
    [
      "being prepared",
      runAt(ordered(), T0, observed([{ id: FIRST, state: "preparing" }])),
      "pending",
      "pending",
      "about to start on its machine",
    ],
    ["running", started(), "running", "running", "running"],
    ["being stopped", runAt(started(), T0, abort()), "running", "running", "being stopped: enough"],
    [
      "ended, logs on the way",
      runAt(started(), T0, observed([exitedButUnlogged])),
      "running",
      "running",
      "ended; the rest of its logs is on the way",
    ],
    [
      "to be started again (tasks.md#alloc-case-11)",
      runAt(started({ restart: { attempts: 1 } }), T0, observed([exited({ code: 1 })])),
      "running",
      "pending",
      "running",
    ],
    ["exit code 0", end(exited()), "complete", "complete", "ended with exit code 0"],
    ["exit code 2", end(exited({ code: 2 })), "complete", "failed", "ended with exit code 2"],
    [
      "S1: out of memory, for which nobody had asked",
      end(exited({ ...killed, oomKilled: true })),
      "complete",
      "failed",
      "ran out of memory (its machine had no more)",
    ],
    [
      "S1: out of memory, at its own limit",
      runAt(
        started({ resources: { memory: "64MiB" } }),
        T0,
        observed([exited({ code: 137, oomKilled: true })]),
      ),
      "complete",
      "failed",
      "ran out of memory (64MiB)",
    ],
    ["a signal", end(exited(killed)), "complete", "failed", "ended by SIGKILL"],
    ["not executable", end(notFound), "failed", "failed", "no"],
    [
      "no place in time (tasks.md#alloc-status-2)",
      noPlace,
      "failed",
      "failed",
      "no place was found within the queueTimeout of 1s",
    ],
    ["aborted", runAt(started(), T0, abort(), observed([exited()])), "aborted", "complete", "enough"],
    ["timed out (tasks.md#alloc-status-1)", late, "timedout", "complete", "the time limit of 1s was reached"],
    [
      "lost",
      runAt(started(), T0, ended("lost")),
      "unknown",
      "lost",
      "worker w1 was lost while it may have run the command, whose exit is unknown",
    ],
  ])("%s", (_what, run, state, allocStatus, description) => {
    expect(statusOf(run)).toMatchObject({ state, allocStatus, description });
    expect(RunStatus.parse(statusOf(run))).toEqual(statusOf(run));
  });
});

describe("who is to blame stands in `failure`, and only where something failed (api.md#blame)", () => {
  test.each<[string, Submitted, object | null]>([
    ["exit code 2", end(exited({ code: 2 })), null],
    ["not executable", end(notFound), { class: "task", code: "not_executable", text: "no" }],
    ["no place in time", noPlace, { class: "infrastructure", code: "queue_timeout" }],
    ["lost", runAt(started(), T0, ended("lost")), { class: "infrastructure", code: "machine_lost" }],
    [
      "an end that nobody saw",
      end({ id: FIRST, state: "gone" }),
      { class: "infrastructure", code: "status_lost" },
    ],
    ["aborted", runAt(started(), T0, abort(), observed([exited()])), null],
  ])("%s", (_what, run, failure) => {
    const shown = statusOf(run).failure;
    if (failure === null) expect(shown).toBeNull();
    else expect(shown).toMatchObject(failure);
  });

  test("an end that is not final yet is not shown: neither exit code nor failure nor time", () => {
    expect(statusOf(runAt(started(), T0, observed([exitedButUnlogged])))).toMatchObject({
      exitCode: null,
      signal: null,
      failure: null,
      finishedAt: null,
    });
  });
});

describe("the one task (tasks.md#state-1)", () => {
  test.each<[string, Submitted, string, string]>([
    ["in the queue", queued(), "pending", "waiting"],
    ["placed", ordered(), "pending", "waiting"],
    [
      "being prepared",
      runAt(ordered(), T0, observed([{ id: FIRST, state: "preparing" }])),
      "pending",
      "preparing",
    ],
    ["running", started(), "running", "running"],
    ["being stopped", runAt(started(), T0, abort()), "running", "stopping"],
    [
      "stopped by its host",
      runAt(started(), T0, observed([{ ...running, state: "stopping" }])),
      "running",
      "stopping",
    ],
    ["ended, logs on the way", runAt(started(), T0, observed([exitedButUnlogged])), "dead", "dead"],
    ["ended", end(exited()), "dead", "dead"],
    [
      "aborted in the queue",
      runAt(queued(), T0, abort(), pool(2, { kind: "none", version: 2 })),
      "dead",
      "dead",
    ],
  ])("%s", (_what, run, state, phase) => {
    expect(statusOf(run).tasks).toMatchObject([{ name: "main", state, phase, restarts: 0 }]);
  });

  test("it has failed only if the mechanism did", () => {
    expect(statusOf(end(notFound)).tasks[0]?.failed).toBe(true);
    expect(statusOf(end(exited({ code: 2 }))).tasks[0]?.failed).toBe(false);
  });

  test("an attempt tells its times and its exit as it was", () => {
    expect(statusOf(end(exited(killed))).tasks[0]?.attempts).toEqual([
      {
        id: FIRST,
        state: "exited",
        startedAt: new Date(T0).toISOString(),
        finishedAt: new Date(T0 + 1_000).toISOString(),
        exit: { code: null, signal: "SIGKILL", oomKilled: false, message: "" },
      },
    ]);
  });

  // tasks.md#history-1, tasks.md#state-7
  test("it shows its latest MAX_TASK_EVENTS events, and those of the whole run", () => {
    const shown = (more: number) => {
      const state = changed(queued(), T0, (run) => {
        for (let i = 1; i < more; i += 1) run.note("Started", T0, `n ${i}`, { task: "main" });
        run.note("Started", T0, "of another task", { task: "db" });
      });
      return statusOf(existing(state)).tasks[0]?.events.map((event) => event.seq);
    };
    expect(MAX_TASK_EVENTS).toBe(10);
    expect(shown(MAX_TASK_EVENTS)).toHaveLength(MAX_TASK_EVENTS);
    expect(shown(MAX_TASK_EVENTS)?.[0]).toBe(1);
    expect(shown(MAX_TASK_EVENTS + 1)).toHaveLength(MAX_TASK_EVENTS);
    expect(shown(MAX_TASK_EVENTS + 1)?.[0]).toBe(2);
  });
});

// tasks.md#state-5, tasks.md#state-6, tasks.md#t-q1
test("a task's times are those of its latest attempt", () => {
  const iso = (ms: number) => new Date(T0 + ms).toISOString();
  const again = started({ restart: { attempts: 1, delay: "0s" } });
  const waits = runAt(again, T0 + 2_000, observed([exited({ code: 1 })]));
  expect(statusOf(waits).tasks[0]).toMatchObject({ startedAt: iso(0), finishedAt: null });
  const second = { ...running, id: `${RUN}/main/1.2` };
  const anew = runAt(waits, T0 + 3_000, observed([second]));
  expect(statusOf(anew).tasks[0]).toMatchObject({ startedAt: iso(3_000), finishedAt: null });
  const over = runAt(anew, T0 + 4_000, observed([{ ...exited(), id: second.id }]));
  expect(statusOf(over).tasks[0]).toMatchObject({ startedAt: iso(3_000), finishedAt: iso(4_000) });
});

test("what never ran, or was lost, has ended with its run (tasks.md#never-ran)", () => {
  const never = runAt(queued(), T0 + 5_000, abort(), pool(2, { kind: "none", version: 2 }));
  for (const run of [never, runAt(started(), T0 + 5_000, ended("lost"))])
    expect(statusOf(run).tasks[0]?.finishedAt).toBe(new Date(T0 + 5_000).toISOString());
});

test("a run says when it was placed, started and finished, and on which workers it was", () => {
  const refused = runAt(ordered(), T0 + 1_000, ended("refused", { held: false }), place("w2", 2, 2));
  const run = runAt(
    refused,
    T0 + 3_000,
    observed([{ ...exited(), id: `${RUN}/main/2.1` }], { epoch: 2, worker: "w2" }),
  );
  const iso = (ms: number) => new Date(T0 + ms).toISOString();
  expect(statusOf(run)).toMatchObject({
    submittedAt: iso(0),
    placedAt: iso(0),
    startedAt: iso(2_000),
    finishedAt: iso(3_000),
    placements: [
      { epoch: 1, worker: "w1", from: iso(0), to: iso(1_000), outcome: "refused" },
      { epoch: 2, worker: "w2", from: iso(1_000), to: iso(3_000), outcome: "gone" },
    ],
  });
});

test("N7: a run that is stopped without a reason says no empty one", () => {
  expect(statusOf(runAt(started(), T0, abort(""))).description).toBe("being stopped");
  expect(statusOf(runAt(started(), T0, abort("enough"))).description).toBe("being stopped: enough");
});

test("A3: a placement that only its pool has stored is shown, and since when", () => {
  const later = T0 + 25_000;
  const evicted = reloaded(ordered());
  expect(hasHeardPool(evicted)).toBe(false);
  const again = runAt(ordered(), T0 + 1_000, ended("refused", { held: false }), place("w2", 2, 2));
  expect(hasHeardPool(loadedAllocation(again.record, true))).toBe(false);
  expect(hasHeardPool(runAt(evicted, later, pool(1, { kind: "queued" })))).toBe(true);
  const placed = runAt(evicted, later, pool(1, { kind: "placed", worker: "w1", epoch: 1, openedAt: T0 + 1 }));
  expect(hasHeardPool(placed)).toBe(true);
  const from = new Date(T0 + 1).toISOString();
  const open = { epoch: 1, worker: "w1", from, to: null, outcome: "open" };
  expect(statusOf(placed)).toMatchObject({ placedAt: from, placements: [open] });
  expect(statusOf(runAt(placed, later, observed([running]))).placements).toMatchObject([open]);
});

// Which field is valid in which state (api.md#fields-by-state, api.md#ends-of-a-command): what is not valid
// is null, and never a guess.
describe("the fields of a status record are valid in their states only (api.md#fields-by-state)", () => {
  const snapshot = `sha256:${"c".repeat(64)}`;
  const outputs = ["*"];
  const refs = {
    stdoutRef: `/v1/runs/${RUN}/logs/main/stdout`,
    stderrRef: `/v1/runs/${RUN}/logs/main/stderr`,
  };
  const noRefs = { stdoutRef: null, stderrRef: null };
  const noEnd = { exitCode: null, signal: null, failure: null, snapshot: null };
  const stored = (code: number) => ({ ...exited({ code }), outputs: { snapshot, files: 1, bytes: 1 } });
  const lostOutputs = { ...exited({ code: 1 }), outputs: { error: "no" } };
  const preparing = runAt(ordered(), T0, observed([{ id: FIRST, state: "preparing" }]));
  const outputsOf = (report: Parameters<typeof observed>[0][number]) =>
    runAt(started({ outputs }), T0, observed([report]));
  const failed = (code: string) => ({ failure: { class: "infrastructure", code } });

  test.each<[string, Submitted, object]>([
    ["pending, in the queue", queued(), { ...noRefs, ...noEnd, abort: null, startedAt: null }],
    ["pending, placed", ordered(), { ...noRefs, ...noEnd, startedAt: null }],
    ["pending, being prepared", preparing, { ...noRefs, ...noEnd, startedAt: null }],
    ["running", started(), { ...refs, ...noEnd, finishedAt: null }],
    ["running, ended but for its logs", runAt(started(), T0, observed([exitedButUnlogged])), noEnd],
    ["running, being aborted", runAt(started(), T0, abort()), { ...refs, ...noEnd }],
    ["complete", end(exited({ code: 7 })), { ...refs, ...noEnd, exitCode: 7 }],
    ["complete, by a signal", end(exited(killed)), { ...noEnd, exitCode: 137, signal: "SIGKILL" }],
    ["complete, with a result", outputsOf(stored(7)), { ...refs, ...noEnd, exitCode: 7, snapshot }],
    ["failed, before it started", end(notFound), { ...refs, exitCode: null, snapshot: null }],
    [
      "failed, and never started",
      runAt(ordered(), T0, observed([notFound])),
      { ...noRefs, ...noEnd, failure: { class: "task", code: "not_executable" } },
    ],
    ["failed, in the queue", noPlace, { ...noRefs, ...noEnd, ...failed("queue_timeout") }],
    ["failed, in storing its outputs", outputsOf(lostOutputs), { ...failed("outputs_failed"), exitCode: 1 }],
    [
      "aborted, with an exit",
      runAt(started(), T0, abort(), observed([exited({ code: 143 })])),
      { ...refs, ...noEnd, abort: { reason: "enough", by: "ann" } },
    ],
    [
      "aborted, in the queue",
      runAt(queued(), T0, abort(), pool(2, { kind: "none", version: 2 })),
      { ...noRefs, ...noEnd, abort: { reason: "enough", by: "ann" } },
    ],
    ["timedout, with an exit", late, { ...refs, ...noEnd, abort: null }],
    ["unknown", runAt(started(), T0, ended("lost")), { ...refs, ...noEnd, ...failed("machine_lost") }],
    [
      "unknown, nobody saw it start",
      runAt(ordered(), T0, ended("lost")),
      { ...noRefs, ...noEnd, ...failed("machine_lost") },
    ],
  ])("%s", (_what, run, fields) => {
    expect(statusOf(run)).toMatchObject(fields);
  });

  test.each<[string, Submitted]>([
    ["complete", outputsOf(stored(7))],
    ["failed", outputsOf(lostOutputs)],
    ["aborted", runAt(started(), T0, abort(), observed([exited()]))],
    ["timedout", late],
    ["unknown", runAt(started(), T0, ended("lost"))],
  ])("%s is final: nothing that is said later changes a field but the version", (_state, run) => {
    const { version: _before, tasks: _tasks, ...before } = statusOf(run);
    const events = [abort("late"), observed([stored(0)]), ended("gone"), observed([running])];
    const { version: _after, tasks, ...after } = statusOf(runAt(run, T0 + 9_000, ...events));
    expect(after).toEqual(before);
    expect(tasks[0]?.attempts).toEqual(statusOf(run).tasks[0]?.attempts);
  });
});

test("an abort is shown while it is under way, another wish is not one", () => {
  expect(statusOf(runAt(started(), T0, abort())).abort).toEqual({ reason: "enough", by: "ann" });
  expect(statusOf(late).abort).toBeNull();
});
