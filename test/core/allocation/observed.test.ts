import { describe, expect, test } from "vitest";
import { whyOf } from "../../../src/core/allocation/read/why.ts";
import { newTask } from "../../../src/core/allocation/state.ts";
import type { AttemptReport } from "../../../src/schema/host.ts";
import {
  at,
  ended,
  exited,
  FIRST,
  observed,
  ordered,
  orderNow,
  owed,
  place,
  queued,
  RUN,
  runAt,
  running,
  type Submitted,
  started,
  T0,
} from "../support/allocation.ts";

const attemptOf = ({ record }: Submitted) => record.tasks[0]?.attempts.at(-1);
const preparing: AttemptReport = { id: FIRST, state: "preparing" };
const stopping: AttemptReport = { id: FIRST, state: "stopping", startedAgoMs: 0 };
const gone: AttemptReport = { id: FIRST, state: "gone" };
const notFound: AttemptReport = {
  id: FIRST,
  state: "exited",
  startError: { code: "command_not_found", text: "no such command: mak" },
};

describe("an attempt goes on and never back, in whatever order its reports arrive", () => {
  const all = [preparing, running, stopping, exited({ code: 3 })];
  const orders = all.flatMap((_, i) => all.map((_, j) => [all[i], all[j]] as [AttemptReport, AttemptReport]));

  test.each(orders)("$0.state, then $1.state", (first, second) => {
    const rank = (one: AttemptReport) => all.indexOf(one);
    const furthest = rank(first) > rank(second) ? first : second;
    const state = runAt(ordered(), T0, observed([first]), observed([second]));
    expect(attemptOf(state)?.state).toBe(furthest.state);
  });

  test("the same report again changes nothing, and costs no version", () => {
    const state = started();
    expect(at(state, T0 + 9, observed([{ ...running, startedAgoMs: 9 }])).record).toBe(state.record);
  });

  test("what its host does for it is news while it is prepared, at most every ten seconds", () => {
    const pulls = (done: string): AttemptReport => ({ ...preparing, doing: `pulling node:24: ${done}` });
    const seen = (state: Submitted) => attemptOf(state)?.doing;
    const first = runAt(ordered(), T0, observed([pulls("3 %")]));
    expect(seen(first)).toBe("pulling node:24: 3 %");
    const soon = runAt(first, T0 + 9_999, observed([pulls("40 %")]));
    expect(soon.record).toBe(first.record);
    const later = runAt(soon, T0 + 10_000, observed([pulls("50 %")]));
    expect(seen(later)).toBe("pulling node:24: 50 %");
    expect(whyOf(later, null, "w1", T0 + 10_000).reason.text).toContain("pulling node:24: 50 %");
    expect(later.record.events).toBe(first.record.events);
    expect(seen(runAt(later, T0 + 60_000, observed([running])))).toBeUndefined();
    expect(seen(runAt(started(), T0 + 60_000, observed([pulls("60 %")])))).toBeUndefined();
    expect(seen(runAt(ordered(), T0, observed([pulls("x".repeat(400))])))).toHaveLength(200);
  });

  test("it has no more devices than its task asks for (reports.md)", () => {
    const ids = ["gpu-0", "gpu-1", "gpu-2"];
    const seen = (gpus: number) =>
      attemptOf(runAt(ordered({ resources: { gpus } }), T0, observed([{ ...running, devices: ids }])))
        ?.devices;
    expect([seen(0), seen(2), seen(8)]).toEqual([undefined, ids.slice(0, 2), ids]);
  });

  test("an error of the kill is kept", () => {
    const kill = { tries: 5, error: "it does not die", treeGone: false, by: "cgroup" as const };
    const state = runAt(started(), T0, observed([{ ...stopping, kill }]), observed([exited()]));
    expect(attemptOf(state)?.killError).toBe("it does not die");
  });
});

// A non-zero exit code is complete, never failed: failed means that the mechanism failed (api.md#states,
// api.md#ends-of-a-command).
describe("how the attempt ended decides how the run ends", () => {
  test.each([
    ["exit code 0", exited(), { state: "complete", exitCode: 0, signal: null, failure: null }],
    ["exit code 2", exited({ code: 2 }), { state: "complete", exitCode: 2, signal: null, failure: null }],
    ["exit code 255", exited({ code: 255 }), { state: "complete", exitCode: 255 }],
    [
      "SIGTERM",
      exited({ code: null, signal: "SIGTERM" }),
      { state: "complete", exitCode: 143, signal: "SIGTERM" },
    ],
    [
      "SIGKILL",
      exited({ code: null, signal: "SIGKILL" }),
      { state: "complete", exitCode: 137, signal: "SIGKILL" },
    ],
    [
      "SIGHUP",
      exited({ code: null, signal: "SIGHUP" }),
      { state: "complete", exitCode: 129, signal: "SIGHUP" },
    ],
    [
      "an unheard-of signal",
      exited({ code: null, signal: "SIGX" }),
      { state: "complete", exitCode: 128, signal: "SIGX" },
    ],
    [
      "out of memory",
      { ...exited({ code: 137 }), exit: { code: 137, signal: null, oomKilled: true, message: "" } },
      { state: "complete", exitCode: 137 },
    ],
    [
      "its time was over",
      { ...exited({ code: 143 }), timedOut: true },
      { state: "timedout", exitCode: null, failure: null },
    ],
    ["it could not be started", notFound, { state: "failed", exitCode: null, failure: notFound.startError }],
    ["nothing is left of it", gone, { state: "unknown", exitCode: null, failure: { code: "status_lost" } }],
  ] as [string, AttemptReport, object][])("%s", (_what, report, outcome) => {
    const { record } = runAt(ordered(), T0 + 7, observed([report]));
    expect(record).toMatchObject({ ended: true, endedEpoch: 1, outcome: { ...outcome, at: T0 + 7 } });
    expect(record.placements).toMatchObject([{ epoch: 1, outcome: "gone", to: T0 + 7 }]);
  });
});

test("an end that was seen empties the order, and tells the pool that the place is free (R3)", () => {
  const state = runAt(started(), T0 + 1, observed([exited({ code: 2 })]));
  expect(orderNow(state, 1, T0 + 1)).toMatchObject({ kind: "order", attempts: [] });
  expect(owed(state, T0 + 1)).toEqual({
    run: expect.objectContaining({ state: "complete", exitCode: 2, wants: "nothing", epoch: 0, ended: 1 }),
  });
});

describe("times are durations on the host's own clock: its date is never asked (cases.md#case-16)", () => {
  test("the start and the end of an attempt are that long ago", () => {
    const state = runAt(
      ordered(),
      T0 + 5_000,
      observed([{ ...exited(), startedAgoMs: 1_200, endedAgoMs: 200 }]),
    );
    expect(attemptOf(state)).toMatchObject({ startedAt: T0 + 3_800, finishedAt: T0 + 4_800 });
  });

  test("the first word on the start stays, and an end without a time is now", () => {
    const { endedAgoMs: _unsaid, ...end } = exited();
    const state = runAt(started(), T0 + 5_000, observed([{ ...end, startedAgoMs: 1 }]));
    expect(attemptOf(state)).toMatchObject({ startedAt: T0, finishedAt: T0 + 5_000 });
  });

  // A host that is a shell script knows no ages. Its run once stayed `pending` for as long as it ran.
  test.each(["running", "uploading"] as const)(
    "what is %s without an age started when that was heard",
    (state) => {
      const run = runAt(ordered(), T0 + 5_000, observed([{ id: FIRST, state }]));
      expect(attemptOf(run)?.startedAt).toBe(T0 + 5_000);
      expect(runAt(run, T0 + 9_000, observed([exited()])).record.startedAt).toBe(T0 + 5_000);
    },
  );

  test.each([1e13, 1e18, Number.MAX_VALUE])(
    "an absurd age of %d ms is no reason to fail (apply is total)",
    (ms) => {
      const report = { ...exited(), startedAgoMs: ms, endedAgoMs: ms };
      expect(runAt(ordered(), T0, observed([report])).record).toMatchObject({ ended: true });
    },
  );
});

test("an attempt of a task that an update removed before this placement changes nothing", () => {
  const state = started();
  const removed = {
    ...state,
    record: { ...state.record, tasks: [...state.record.tasks, newTask("removed")] },
  };
  const id = FIRST.replace("/main/", "/removed/");
  expect(runAt(removed, T0 + 9, observed([{ ...exited(), id }])).record).toEqual(removed.record);
});

// cases.md#case-10
describe("a report that is not of the open placement is not applied (invariant 2)", () => {
  const second = runAt(ordered(), T0, ended("refused", { held: false }), place("w2", 2, 2));
  const end = [exited()];
  const endOf2 = [{ ...exited(), id: `${RUN}/main/2.1` }];

  test.each([
    ["the epoch before, from the worker of then", second, observed(end, { epoch: 1, worker: "w1" })],
    ["an epoch to come", ordered(), observed(endOf2, { epoch: 2 })],
    ["another worker", ordered(), observed(end, { worker: "w2" })],
    ["the worker of the epoch before", second, observed(endOf2, { epoch: 2, worker: "w1" })],
    ["an attempt of another epoch within it", second, observed(end, { epoch: 2, worker: "w2" })],
    ["a task that the run does not have", ordered(), observed([{ ...exited(), id: `${RUN}/db/1.1` }])],
    ["an id that is none", ordered(), observed([{ ...exited(), id: "nonsense" }])],
  ])("%s", (_what, before, event) => {
    const { record } = runAt(before, T0 + 1, event);
    expect(record).toMatchObject({ ended: false, outcome: null, endedEpoch: before.record.endedEpoch });
    expect(record.tasks).toEqual(before.record.tasks);
  });

  test.each<[string, Submitted, number, string?]>([
    ["the epoch before", second, 1],
    ["an epoch to come", ordered(), 2],
    ["an epoch that is open on another worker", started(), 1, "w2"],
    ["any epoch, while none is open", runAt(ordered(), T0, ended("refused", { held: false })), 2],
    ["the run's own, when it has ended", runAt(started(), T0, ended("lost")), 1],
  ])(
    "what it is answered is empty: stop it, and forget it. %s (R2)",
    (_what, state, epoch, worker = "w1") => {
      expect(orderNow(state, epoch, T0, worker)).toMatchObject({ kind: "order", attempts: [] });
    },
  );
});

describe("a report that contradicts a stored end is recorded, once, and never applied (invariant 1)", () => {
  const over = runAt(started(), T0, observed([gone]));

  test("it is an event, and the end stays", () => {
    const state = runAt(over, T0 + 1, observed([running]));
    expect(state.record).toMatchObject({ ended: true, outcome: over.record.outcome });
    expect(state.record.events.at(-1)).toMatchObject({
      type: "Late Report",
      details: { attempt: FIRST, state: "running" },
    });
    expect(at(state, T0 + 2, observed([running])).record).toBe(state.record);
  });

  // [what is stored, what is said late, whether it contradicts that]
  const three = exited({ code: 3 });
  const byTerm = exited({ code: null, signal: "SIGTERM" });
  const lost = runAt(started(), T0, ended("lost"));
  const unseen = runAt(ordered(), T0, ended("lost"));
  const complete = runAt(started(), T0, observed([three]));
  const cases: [string, Submitted, AttemptReport, boolean][] = [
    ["nobody saw its end, and it had one", over, three, true],
    ["nobody saw its end, and it is stopping", over, stopping, true],
    ["its machine was lost, and it had ended there", lost, three, true],
    ["its machine was lost, and it still runs: that is why it was lost", lost, running, false],
    ["its machine was lost before it was heard of, and it had run", unseen, three, true],
    ["its machine was lost before it was heard of, and it could not be started", unseen, notFound, true],
    ["another exit code than it had", complete, exited({ code: 4 }), true],
    ["an exit code where it had no other", complete, exited({ code: 0 }), true],
    ["a signal where it had an exit code", complete, byTerm, true],
    ["an exit code where it had a signal", runAt(started(), T0, observed([byTerm])), exited(), true],
    ["an end where it could not be started", runAt(ordered(), T0, observed([notFound])), exited(), true],
    ["that it could not be started, where it has ended", complete, notFound, true],
    ["the same end", complete, three, false],
    ["the same end, and other times", complete, { ...three, startedAgoMs: 9e6, endedAgoMs: 5e6 }, false],
    ["an earlier state: reports may cross", complete, running, false],
    ["that nothing is left, which is so", complete, gone, false],
    ["of an attempt that was never ordered", lost, { ...three, id: `${RUN}/main/1.2` }, false],
    ["of a task that is not the run's", lost, { ...three, id: `${RUN}/db/1.1` }, false],
  ];

  test.each(cases)("%s", (_what, before, report, contradicts) => {
    const after = runAt(before, T0 + 1, observed([report]));
    const late = after.record.events.filter(({ type }) => type === "Late Report");
    expect(late).toHaveLength(contradicts ? 1 : 0);
    const { events: _events, version: _version, poolVersion: _told, ...rest } = after.record;
    expect(before.record).toMatchObject(rest);
    expect(at(after, T0 + 2, observed([report])).record).toBe(after.record);
  });

  test("that it lives and how it ended are two events, and no more of it are", () => {
    const late = [running, stopping, three, exited({ code: 4 })];
    const after = late.reduce((run, report) => runAt(run, T0 + 1, observed([report])), over);
    const said = after.record.events.filter(({ type }) => type === "Late Report");
    expect(said.map(({ details }) => details)).toEqual([
      { attempt: FIRST, state: "running" },
      { attempt: FIRST, state: "exited", exit_code: "3", signal: "" },
    ]);
    expect(said[1]?.message).toContain("exit code 3");
  });

  test("from another worker than it was placed on it is nobody's business", () => {
    expect(at(over, T0 + 1, observed([three], { worker: "w2" })).record).toBe(over.record);
  });

  test("the same while the run goes on: its other tasks, or the last of its logs", () => {
    const log = { stdout: { from: 0, size: 10 } };
    const ending = runAt(started(), T0, observed([{ ...three, log }]));
    const after = runAt(ending, T0 + 1, observed([{ ...exited({ code: 4 }), log }]));
    expect(after.record.tasks).toEqual(ending.record.tasks);
    expect(after.record.events.at(-1)).toMatchObject({ type: "Late Report", details: { exit_code: "4" } });
  });

  test("the epoch before, when the run is placed anew: its end there stays lost", () => {
    const reschedule = { attempts: 1, interval: "1h", delay: "5s", unlimited: false } as const;
    const anew = runAt(started({ reschedule }), T0, ended("lost"));
    const after = runAt(anew, T0 + 1, observed([three]));
    expect(after.record.events.at(-1)).toMatchObject({ type: "Late Report", details: { exit_code: "3" } });
    expect(after.record).toMatchObject({ ended: false, outcome: null });
  });

  test("one that says nothing else than before is none", () => {
    expect(at(over, T0 + 1, observed([gone])).record).toBe(over.record);
    const complete = runAt(started(), T0, observed([exited()]));
    expect(at(complete, T0 + 1, observed([exited()])).record).toBe(complete.record);
  });
});

test("an attempt that was never ordered is none of the run's, and neither are its logs", () => {
  const log = { stdout: { from: 0, size: 3, data: "YWJj" } };
  const ids = [`${RUN}/main/1.2`, `${RUN}/main/1.999`, `${RUN}/db/1.1`];
  const { record } = runAt(ordered(), T0, observed(ids.map((id) => ({ ...exited(), id, log }))));
  expect(record).toMatchObject({ ended: false, tasks: [{ attempts: [] }], logs: {} });
});

test("a report of a place that the run has forgotten is not lost: it takes the place up (R1)", () => {
  const state = runAt(queued(), T0, observed([running]));
  expect(state.record.placements).toMatchObject([{ epoch: 1, worker: "w1", to: null }]);
});
