import { describe, expect, test } from "vitest";
import { statusOf } from "../../../src/core/allocation/read/status.ts";
import { upsertOf } from "../../../src/core/allocation/summary.ts";
import type { AttemptReport } from "../../../src/schema/host.ts";
import type { RunSpecInput } from "../../../src/schema/run/run.ts";
import {
  EXIT,
  ended,
  FIRST,
  observed,
  ordered,
  orderNow,
  queued,
  RUN,
  runAt,
  type Submitted,
  started,
  T0,
} from "../support/allocation.ts";
import { group, poststop, task } from "../support/group.ts";

// The control plane was away for 35 s from the second second on. What the host has seen meanwhile counts by
// when it happened, and not by when it is heard.

const AWAY_MS = 35_000;
const HEARD = T0 + AWAY_MS;
const iso = (ms: number) => new Date(T0 + ms).toISOString();
const tick = { type: "tick" } as const;

/** What a host reports of an attempt that started and ended so long after T0. */
function report(startMs: number, endMs: number, more: Partial<AttemptReport> = {}): AttemptReport {
  const ages = { startedAgoMs: AWAY_MS - startMs, endedAgoMs: AWAY_MS - endMs };
  return { id: FIRST, state: "exited", ...ages, exit: EXIT, ...more };
}

/** As hosts say it that see to time limits, unless `keepsTime` is false. */
function said(reports: AttemptReport[], keepsTime = true) {
  return observed(reports, { protocol: keepsTime ? 1 : 0 });
}

/** The alarm for the deadline fires first when the control plane is back. */
function heardAfter(spec: Partial<RunSpecInput>, reports: AttemptReport[], keepsTime = true): Submitted {
  return runAt(runAt(ordered(spec), HEARD, tick), HEARD + 20, said(reports, keepsTime));
}

const KILLED = { code: null, signal: "SIGTERM", oomKilled: false, message: "" };
const KILL = { tries: 0, error: null, treeGone: true, by: "cgroup" as const };

describe("P1: how a command ended is its host's word, however late that is heard", () => {
  test.each<[string, Partial<AttemptReport>, number, boolean, object]>([
    ["it ended in time", {}, 8_000, true, { state: "complete", exitCode: 0 }],
    ["it failed in time", { exit: { ...EXIT, code: 3 } }, 8_000, true, { state: "complete", exitCode: 3 }],
    ["its host says nothing of limits", {}, 8_000, false, { state: "complete", exitCode: 0 }],
    [
      "it ended while its host stopped it",
      { timedOut: true, exit: KILLED, kill: KILL },
      20_000,
      true,
      { state: "timedout" },
    ],
    ["its host did not see to the limit", {}, 30_000, false, { state: "timedout" }],
    ["its host began late, and saw to the limit", {}, 20_500, true, { state: "complete", exitCode: 0 }],
  ])("P1: %s", (_, more, endMs, keepsTime, outcome) => {
    const { record } = heardAfter({ timeout: "20s" }, [report(100, endMs, more)], keepsTime);
    expect(record).toMatchObject({ ended: true, outcome });
    expect(record.events.some(({ type }) => type === "Killing")).toBe(
      outcome !== null && record.stopRequest !== null,
    );
  });

  test("P1: what its host was never seen to start is not started after the limit", () => {
    const late = runAt(ordered({ timeout: "20s" }), HEARD, tick);
    expect(orderNow(late, 1, HEARD)).toMatchObject({ attempts: [{ want: "stop", timedOut: true }] });
    const gone: AttemptReport = { id: FIRST, state: "gone" };
    expect(runAt(late, HEARD + 20, said([gone])).record.outcome?.state).toBe("timedout");
  });

  test("P1: what its host times is left to it, also if the clock here has jumped", () => {
    const running: AttemptReport = { id: FIRST, state: "running", startedAgoMs: 0 };
    const state = runAt(ordered({ timeout: "20s" }), T0, said([running]));
    const jumped = runAt(state, T0 + 7_200_000, tick);
    expect(orderNow(jumped, 1, T0 + 7_200_000)).toMatchObject({ attempts: [{ want: "run" }] });
    expect(jumped.record.stopRequest).toBeNull();
  });

  test.each([
    ["before the limit", 10_000, "unknown"],
    ["after the limit", 25_000, "timedout"],
  ])("P1: of a run whose machine was lost %s the time of the loss decides", (_, lostMs, state) => {
    const event = ended("lost");
    if (event.type !== "ended") return;
    const lost = { ...event, body: { ...event.body, at: T0 + lostMs } };
    expect(runAt(started({ timeout: "20s" }), HEARD, lost).record).toMatchObject({
      ended: true,
      outcome: { state, at: T0 + lostMs },
    });
  });

  test("P1: a run without a place is judged here, as of its limit", () => {
    expect(runAt(queued({ queueTimeout: "20s" }), HEARD, tick).record.stopRequest).toMatchObject({
      failure: "queue_timeout",
      at: T0 + 20_000,
    });
  });
});

describe("P1: a group that was to end before its time was over has ended so", () => {
  const tasks = (leader: boolean) => [
    { name: "main", argv: ["a"], leader, restart: { attempts: 0 } },
    { name: "beside", argv: ["b"], lifecycle: { hook: "poststart" as const, sidecar: true } },
  ];
  const id = (task: string) => `${RUN}/${task}/1.1`;
  const beside = report(200, 20_000, { id: id("beside"), timedOut: true, exit: KILLED, kill: KILL });

  test.each<[string, boolean, number, object]>([
    ["its leader ended well", true, 0, { state: "complete", exitCode: 0 }],
    ["its main task ended well", false, 0, { state: "complete", exitCode: 0 }],
    ["its main task failed", false, 1, { state: "failed", failure: { code: "task_failed" } }],
  ])("P1: %s", (_, leader, code, outcome) => {
    const spec = { argv: undefined, tasks: tasks(leader), timeout: "20s", reschedule: { attempts: 0 } };
    const running = ["main", "beside"].map((task): AttemptReport => {
      return { id: id(task), state: "running", startedAgoMs: 0 };
    });
    const begun = runAt(runAt(ordered(spec), T0 + 100, said(running.slice(0, 1))), T0 + 200, said(running));
    const main = report(100, 8_000, { id: id("main"), exit: { ...EXIT, code } });
    expect(runAt(begun, HEARD, said([main, beside])).record).toMatchObject({ ended: true, outcome });
  });
});

describe("P14, O1: times are those of the events", () => {
  test("P14, O1: of a command that ended during an outage", () => {
    const state = heardAfter({ timeout: "60s" }, [report(100, 8_100)]);
    const status = statusOf(state);
    expect(status).toMatchObject({
      startedAt: iso(120),
      finishedAt: iso(8_120),
      tasks: [{ finishedAt: iso(8_120), attempts: [{ startedAt: iso(120), finishedAt: iso(8_120) }] }],
    });
    expect(upsertOf(state)).toMatchObject({ startedAt: T0 + 120, finishedAt: T0 + 8_120 });
    const terminated = state.record.events.find(({ type }) => type === "Terminated");
    expect(terminated?.at).toBe(iso(8_120));
  });

  test("P14: events are in the order of their times", () => {
    const stopped = report(100, 20_100, { timedOut: true, exit: KILLED, kill: KILL });
    const { events } = heardAfter({ timeout: "20s" }, [stopped]).record;
    expect(events.map(({ at }) => at)).toEqual(events.map(({ at }) => at).sort());
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1));
    const types = events.map(({ type }) => type);
    expect(types).toEqual(["Received", "Placed", "Started", "Killing", "Terminated", "Killed"]);
  });

  test.each<[string, Partial<AttemptReport>, number, number]>([
    ["older than the run", { startedAgoMs: 1e9, endedAgoMs: 1e8 }, 0, 0],
    ["ended before it started", { startedAgoMs: 5_000, endedAgoMs: 9_000 }, 30_000, 30_000],
    ["of an absurd age", { startedAgoMs: 1e300, endedAgoMs: 0 }, 0, AWAY_MS],
  ])("P14: a host's time counts only within what is possible: %s", (_, ages, startMs, endMs) => {
    const state = runAt(ordered({}), HEARD, said([report(0, 0, ages)]));
    expect(statusOf(state)).toMatchObject({ startedAt: iso(startMs), finishedAt: iso(endMs) });
  });

  test("P14: the last bytes of its logs are waited for from the moment at which its end was heard", () => {
    const log = { stdout: { from: 0, size: 10 } };
    const state = runAt(
      ordered({}),
      T0 + 300_000,
      said([report(100, 8_000, { log, startedAgoMs: 299_000, endedAgoMs: 290_000 })]),
    );
    expect(state.record).toMatchObject({ ended: false, outcome: { state: "complete", at: T0 + 10_000 } });
    expect(runAt(state, T0 + 359_999, tick).record.ended).toBe(false);
    expect(runAt(state, T0 + 360_000, tick).record.ended).toBe(true);
  });

  test("O1: a restart delay counts from the end of the attempt", () => {
    const restart = { attempts: 2, delay: "40s" };
    const failed = report(100, 30_000, { exit: { ...EXIT, code: 1 } });
    const { record } = runAt(started({ restart }), HEARD, said([failed]));
    const startAt = record.tasks[0]?.startAt ?? 0;
    expect(startAt - T0).toBeGreaterThanOrEqual(70_000);
    expect(startAt - T0).toBeLessThanOrEqual(70_000 + 10_000); // with its jitter
    expect(record.tasks[0]?.lastRestart).toBe(T0 + 30_000);
  });

  test.each([
    ["30s", 38_000],
    ["20s", undefined],
  ])("O1: a reschedule delay of %s counts from the failure", (delay, placeMs) => {
    const spec = {
      argv: undefined,
      tasks: [
        { name: "main", argv: ["a"], restart: { attempts: 0 } },
        { name: "too", argv: ["b"], restart: { attempts: 0 } },
      ],
      reschedule: { attempts: 1, delay },
    };
    const both = ["main", "too"].map((task) =>
      report(100, 8_000, { id: `${RUN}/${task}/1.1`, exit: { ...EXIT, code: 1 } }),
    );
    const run = runAt(ordered(spec), HEARD, said(both));
    const { record } = run;
    expect(record.placeAt).toBe(placeMs === undefined ? undefined : T0 + placeMs);
    expect(record.reschedules).toMatchObject([{ at: T0 + 8_000 }]);
    if (placeMs === undefined) expect(upsertOf(run).wants).toBe("place");
  });
});

test("P1: a limit that an update lowers below the time that has passed is told to the host", () => {
  const running: AttemptReport = { id: FIRST, state: "running", startedAgoMs: 0 };
  const run = runAt(ordered({ timeout: "1h" }), T0, said([running]));
  const { spec } = run.record;
  const late = T0 + 600_000;
  const lowered = runAt(run, late, {
    type: "update",
    spec: { ...spec, timeout: "5m" },
    specIndex: 1,
    by: "ann",
  });
  expect(orderNow(lowered, 1, late)).toMatchObject({
    attempts: [{ id: FIRST, want: "run", timeoutMs: 0 }],
  });
  // A clock that has jumped here says nothing: what was ordered before stands.
  expect(orderNow(run, 1, T0 + 7_200_000)).toMatchObject({ attempts: [{ id: FIRST, want: "run" }] });
  expect(JSON.stringify(orderNow(run, 1, T0 + 7_200_000))).not.toContain("timeoutMs");
});

test("P1: no poststop task is ordered when its host ended the others at the time limit", () => {
  const spec = { argv: undefined, ...group(task("main"), task("post", poststop)), timeout: "20s" };
  const { record } = heardAfter(spec, [report(100, 20_000, { timedOut: true, exit: KILLED, kill: KILL })]);
  expect(record).toMatchObject({ ended: true, outcome: { state: "timedout" } });
  expect(record.tasks.find(({ name }) => name === "post")?.attempts).toEqual([]);
});
