import { describe, expect, test } from "vitest";
import { statusOf } from "../../../src/core/allocation/read/status.ts";
import { whyOf } from "../../../src/core/allocation/read/why.ts";
import type { AttemptReport } from "../../../src/schema/host.ts";
import { RunStatus } from "../../../src/schema/run/run.ts";
import {
  abort,
  EXIT,
  ended,
  exited,
  FIRST,
  observed,
  ordered,
  orderNow,
  owed,
  place,
  RUN,
  runAt,
  running,
  type Submitted,
  started,
  T0,
} from "../support/allocation.ts";

const outputs = ["dist/**"];
const snapshot = `sha256:${"a".repeat(64)}`;
const second = `sha256:${"b".repeat(64)}`;
const iso = (ms: number) => new Date(T0 + ms).toISOString();

/** Its process has ended, and its outputs are on their way. */
const uploading = (code = 0, id = FIRST): AttemptReport => {
  return { id, state: "uploading", startedAgoMs: 1_000, endedAgoMs: 10, exit: { ...EXIT, code } };
};
/** They are stored. */
const stored = (code = 0, id = FIRST, as = snapshot): AttemptReport => {
  return { ...uploading(code, id), state: "exited", outputs: { snapshot: as, files: 2, bytes: 300 } };
};
const failed = (code = 0, id = FIRST): AttemptReport => {
  return { ...uploading(code, id), state: "exited", outputs: { error: "the disk is full" } };
};
/** The upload was canceled. */
const cut = (more: Partial<AttemptReport> = {}): AttemptReport => ({ ...exited(), ...more });

const begun = (more: Parameters<typeof started>[0] = {}) =>
  runAt(started({ outputs, ...more }), T0, observed([uploading()]));
const types = ({ record }: Submitted) => record.events.map(({ type }) => type);
const eventOf = ({ record }: Submitted, type: string) => record.events.findLast((one) => one.type === type);

describe("while its outputs are being stored a run is still running (api.md#abort, api.md#states)", () => {
  test("its state, its task's phase, and nothing of the end yet", () => {
    const status = statusOf(begun());
    expect(status).toMatchObject({
      state: "running",
      allocStatus: "running",
      exitCode: null,
      snapshot: null,
      finishedAt: null,
      description: "its command has ended; its outputs are being stored",
      tasks: [{ state: "running", phase: "uploading", finishedAt: null, failed: false }],
    });
    expect(status.tasks[0]?.attempts).toMatchObject([{ state: "uploading", exit: { code: 0 } }]);
    expect(RunStatus.parse(status)).toEqual(status);
  });

  test("its place is kept, and its order says that it stays", () => {
    const state = begun();
    expect(owed(state, T0).run?.state).not.toBe("complete");
    expect(orderNow(state, 1, T0)).toMatchObject({ attempts: [{ id: FIRST, want: "run" }] });
  });

  test("that the process has ended is an event at once, and only once", () => {
    const state = begun();
    expect(eventOf(state, "Terminated")).toMatchObject({ details: { exit_code: "0" } });
    const over = runAt(state, T0 + 500, observed([stored()]));
    expect(types(over).filter((type) => type === "Terminated")).toHaveLength(1);
  });

  test.each<[string, Parameters<typeof started>[0], object]>([
    ["its host gives up by itself", {}, { action: expect.stringMatching(/without them.* 15m/), at: null }],
    [
      "its time is over",
      { timeout: "1m" },
      { action: expect.stringMatching(/its time is over/), at: iso(60_000) },
    ],
  ])("why says what happens next, and when: %s (invariant 5)", (_what, more, next) => {
    const why = whyOf(begun(more), null, "w1", T0);
    expect(why.reason).toMatchObject({ code: "uploading", text: expect.stringMatching(/worker w1/) });
    expect(why).toMatchObject({ state: "running", next });
  });

  test("a signal finds no process, a restart stops the upload and starts the command again", () => {
    const by = "ann";
    const signaled = runAt(begun(), T0, { type: "signal", request: { signal: "SIGHUP", by } });
    expect(signaled.record.signals).toEqual([]);
    const restarted = runAt(begun(), T0, { type: "restart", request: { by } });
    expect(orderNow(restarted, 1, T0)).toMatchObject({ attempts: [{ id: FIRST, want: "stop" }] });
    expect(statusOf(restarted).tasks[0]?.phase).toBe("stopping");
    const anew = runAt(restarted, T0 + 1, observed([cut()]));
    expect(types(anew)).not.toContain("Outputs Failed");
    const next = `${RUN}/main/1.2`;
    expect(orderNow(anew, 1, T0 + 1)).toMatchObject({ attempts: [{ id: next, want: "run" }] });
    const over = runAt(anew, T0 + 2, observed([stored(0, next, second)]));
    expect(statusOf(over)).toMatchObject({ state: "complete", snapshot: second });
  });
});

describe("how a run ends that is asked for outputs", () => {
  const none = { snapshot: null };
  const lost = { class: "infrastructure", code: "outputs_failed" };

  test.each<[string, Submitted, object]>([
    [
      "they are stored",
      runAt(begun(), T0 + 9, observed([stored()])),
      { state: "complete", exitCode: 0, failure: null, snapshot },
    ],
    [
      "they are stored, and nobody has seen them on their way",
      runAt(started({ outputs }), T0 + 9, observed([stored()])),
      { state: "complete", exitCode: 0, failure: null, snapshot },
    ],
    [
      "the command has failed: its result stands all the same",
      runAt(begun(), T0 + 9, observed([stored(3)])),
      { state: "complete", exitCode: 3, failure: null, snapshot },
    ],
    [
      "they could not be stored: the machinery has failed, and the exit code is kept",
      runAt(begun(), T0 + 9, observed([failed(3)])),
      { state: "failed", allocStatus: "failed", exitCode: 3, failure: lost, ...none },
    ],
    [
      "they could not be stored of a success",
      runAt(begun(), T0 + 9, observed([failed()])),
      {
        state: "failed",
        exitCode: 0,
        failure: { ...lost, text: expect.stringMatching(/the disk is full/) },
        ...none,
      },
    ],
    [
      "the host says nothing of them: that is no success",
      runAt(started({ outputs }), T0 + 9, observed([exited()])),
      {
        state: "failed",
        exitCode: 0,
        failure: { ...lost, text: expect.stringMatching(/did not report/) },
        ...none,
      },
    ],
    [
      "the host has lost it in the middle",
      runAt(begun(), T0 + 9, observed([{ id: FIRST, state: "gone" }])),
      { state: "failed", exitCode: 0, failure: lost, ...none },
    ],
    [
      "it is aborted although the process had ended (api.md#abort)",
      runAt(begun(), T0 + 9, abort(), observed([cut()])),
      { state: "aborted", exitCode: null, failure: null, ...none },
    ],
    [
      "it is aborted, and they were stored all the same: the wish was first",
      runAt(begun(), T0 + 9, abort(), observed([stored()])),
      { state: "aborted", exitCode: null, failure: null, ...none },
    ],
    [
      "the host ends it by the deadline",
      runAt(begun({ timeout: "1m" }), T0 + 9, observed([cut({ timedOut: true })])),
      { state: "timedout", exitCode: null, failure: null, ...none },
    ],
    [
      "the deadline passes here",
      runAt(begun({ timeout: "1s" }), T0 + 1_000, { type: "tick" }, observed([cut()])),
      { state: "timedout", exitCode: null, failure: null, ...none },
    ],
    [
      "the host stops it at the end of its lease",
      runAt(begun(), T0 + 9, observed([cut({ stopped: "lease" })])),
      { state: "unknown", exitCode: null, failure: { code: "machine_lost" }, ...none },
    ],
    [
      "its machine is lost: only the outputs are, since how it ended is known",
      runAt(begun(), T0 + 9, ended("lost")),
      {
        state: "failed",
        exitCode: 0,
        failure: { ...lost, text: expect.stringMatching(/worker w1 was lost/) },
        ...none,
      },
    ],
    [
      "it could not be started: it owes none",
      runAt(
        started({ outputs }),
        T0,
        observed([{ id: FIRST, state: "exited", startError: { code: "snapshot_failed", text: "no" } }]),
      ),
      { state: "failed", exitCode: null, failure: { class: "infrastructure", code: "snapshot_failed" } },
    ],
  ])("%s", (_what, run, status) => {
    expect(statusOf(run)).toMatchObject(status);
    expect(statusOf(run).tasks).toMatchObject([{ state: "dead", phase: "dead" }]);
  });

  test("without `outputs` nothing is owed", () => {
    expect(statusOf(runAt(started(), T0, observed([exited()])))).toMatchObject({
      state: "complete",
      ...none,
    });
  });

  test("the event says what is stored, or why nothing is", () => {
    const done = eventOf(runAt(begun(), T0, observed([stored()])), "Outputs Stored");
    expect(done).toMatchObject({
      task: "main",
      message: `2 files (300B) are stored as ${snapshot}`,
      details: { attempt: FIRST, snapshot, files: "2", bytes: "300" },
    });
    const not = eventOf(runAt(begun(), T0, observed([failed()])), "Outputs Failed");
    expect(not).toMatchObject({
      task: "main",
      details: { attempt: FIRST, outputs_error: "the disk is full" },
    });
  });
});

describe("an attempt that goes from running to its end by uploading never goes back", () => {
  const all: AttemptReport[] = [
    running,
    { id: FIRST, state: "stopping", startedAgoMs: 0 },
    uploading(),
    stored(),
  ];
  const pairs = all.flatMap((one, i) => all.map((other, j) => [one, other, Math.max(i, j)] as const));

  test.each(pairs)("$0.state, then $1.state", (first, next, rank) => {
    const run = runAt(ordered({ outputs }), T0, observed([first]), observed([next]));
    expect(run.record.tasks[0]?.attempts.at(-1)?.state).toBe(all[rank]?.state);
  });
});

describe("a run that is started or placed again: its latest attempt's result counts", () => {
  const next = `${RUN}/main/1.2`;
  const again = { outputs, restart: { attempts: 1, delay: "0s" } } as const;
  const rested = (report: AttemptReport) => runAt(started(again), T0, observed([report]));

  test.each<[string, AttemptReport, AttemptReport, object]>([
    ["both are stored", stored(1), stored(0, next, second), { state: "complete", snapshot: second }],
    ["only the first is", stored(1), failed(0, next), { state: "failed", snapshot: null }],
    ["only the second is", failed(0), stored(0, next, second), { state: "complete", snapshot: second }],
    ["none is", failed(1), failed(2, next), { state: "failed", exitCode: 2, snapshot: null }],
  ])("restarted: %s", (_what, first, then, status) => {
    const run = rested(first);
    expect(statusOf(run)).toMatchObject({ state: "running", snapshot: null, tasks: [{ restarts: 1 }] });
    expect(statusOf(runAt(run, T0 + 1, observed([first, then])))).toMatchObject(status);
  });

  test("a success whose outputs are stored is not started again, one that has lost them is", () => {
    expect(rested(stored()).record.ended).toBe(true);
    expect(types(rested(failed()))).toContain("Restarting");
  });

  test.each<[string, (run: Submitted) => Submitted]>([
    ["its outputs were lost", (run) => runAt(run, T0, observed([failed()]))],
    ["its machine was lost in the middle", (run) => runAt(run, T0, ended("lost"))],
  ])("placed anew, because %s", (_what, lose) => {
    const reschedule = { attempts: 1, interval: "1h", delay: "5s", unlimited: false } as const;
    const run = lose(begun({ reschedule }));
    expect(statusOf(run)).toMatchObject({ state: "running", snapshot: null });
    expect(types(run)).toContain("Rescheduling");
    const due = runAt(run, T0 + 10_000, { type: "tick" });
    const there = runAt(due, T0 + 10_000, place("w2", 2, due.record.version));
    const report = stored(0, `${RUN}/main/2.1`, second);
    const over = runAt(there, T0 + 11_000, observed([report], { epoch: 2, worker: "w2" }));
    expect(statusOf(over)).toMatchObject({ state: "complete", snapshot: second });
  });
});

describe("a group leaves what its leader, or its one main task, leaves", () => {
  const tasks = [
    { name: "build", argv: ["make"], leader: true, restart: { attempts: 0 } },
    { name: "db", argv: ["db"], restart: { attempts: 0 } },
  ];
  const spec = { argv: undefined, tasks, outputs, reschedule: { attempts: 0 } } as const;
  const [leader, other] = [`${RUN}/build/1.1`, `${RUN}/db/1.1`];
  const both = () => {
    const now = [leader, other].map((id): AttemptReport => ({ id, state: "running", startedAgoMs: 0 }));
    return runAt(ordered(spec as object), T0, observed(now));
  };

  test("the others run until they are stored, and are stopped then (tasks.md#reactions)", () => {
    const run = runAt(both(), T0, observed([uploading(0, leader)]));
    expect(orderNow(run, 1, T0)).toMatchObject({ attempts: [{ want: "run" }, { want: "run" }] });
    expect(statusOf(run).tasks).toMatchObject([{ phase: "uploading" }, { phase: "running" }]);
    const led = runAt(run, T0, observed([stored(0, leader)]));
    expect(orderNow(led, 1, T0)).toMatchObject({ attempts: [{ want: "run" }, { want: "stop" }] });
    const over = runAt(led, T0, observed([stored(0, leader), { ...exited({ code: 143 }), id: other }]));
    expect(statusOf(over)).toMatchObject({ state: "complete", exitCode: 0, snapshot });
  });

  test("a failed command fails it, and its result stands", () => {
    const led = runAt(both(), T0, observed([stored(2, leader)]));
    const over = runAt(led, T0, observed([{ ...exited({ code: 143 }), id: other }]));
    const failure = { class: "task", code: "task_failed" };
    expect(statusOf(over)).toMatchObject({ state: "failed", exitCode: 2, failure, snapshot });
  });

  test("outputs that are lost fail it, and the machinery is to blame", () => {
    const led = runAt(both(), T0, observed([failed(0, leader)]));
    const over = runAt(led, T0, observed([{ ...exited({ code: 143 }), id: other }]));
    const failure = {
      class: "infrastructure",
      code: "outputs_failed",
      text: expect.stringMatching(/task "build"/),
    };
    expect(statusOf(over)).toMatchObject({ state: "failed", exitCode: 0, failure, snapshot: null });
    expect(statusOf(over).tasks).toMatchObject([{ failed: true }, { failed: false }]);
  });

  test("what a sibling's failure cuts off owes none", () => {
    const run = runAt(both(), T0, observed([uploading(0, leader), { ...exited({ code: 1 }), id: other }]));
    expect(orderNow(run, 1, T0)).toMatchObject({ attempts: [{ id: leader, want: "stop" }, {}] });
    const over = runAt(run, T0, observed([{ ...cut(), id: leader }]));
    expect(statusOf(over)).toMatchObject({
      state: "failed",
      failure: { code: "task_failed", text: expect.stringMatching(/"db"/) },
    });
    expect(types(over)).not.toContain("Outputs Failed");
  });

  test("its machine is lost: nobody knows how the others ended", () => {
    const run = runAt(both(), T0, observed([uploading(0, leader)]), ended("lost"));
    expect(statusOf(run)).toMatchObject({ state: "unknown", failure: { code: "machine_lost" } });
  });
});
