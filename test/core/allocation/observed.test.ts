import { describe, expect, test } from "vitest";
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

  test("an error of the kill is kept", () => {
    const kill = { tries: 5, error: "it does not die", treeGone: false, by: "cgroup" as const };
    const state = runAt(started(), T0, observed([{ ...stopping, kill }]), observed([exited()]));
    expect(attemptOf(state)?.killError).toBe("it does not die");
  });
});

// A non-zero exit code is complete, never failed: failed means that the mechanism failed (scoot.md §1.1, §2.4).
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
    upsert: expect.objectContaining({ state: "complete", exitCode: 2, wants: "nothing", epoch: 0, ended: 1 }),
  });
});

describe("times are durations on the host's own clock: its idea of the date is never asked", () => {
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

  test.each([1e13, 1e18, Number.MAX_VALUE])(
    "an absurd age of %d ms is no reason to fail (apply is total)",
    (ms) => {
      const report = { ...exited(), startedAgoMs: ms, endedAgoMs: ms };
      expect(runAt(ordered(), T0, observed([report])).record).toMatchObject({ ended: true });
    },
  );
});

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
    expect(at(state, T0 + 2, observed([exited()])).record).toBe(state.record);
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

test("a report of an abandoned place that the run has not heard of is not lost: it takes the place up (R1)", () => {
  const state = runAt(queued(), T0, observed([running]));
  expect(state.record.placements).toMatchObject([{ epoch: 1, worker: "w1", to: null }]);
});
