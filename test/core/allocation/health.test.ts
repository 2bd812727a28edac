import { describe, expect, test } from "vitest";
import { MAX_HEALTH_EVENTS } from "../../../src/core/allocation/health/fold.ts";
import { statusOf } from "../../../src/core/allocation/read/status.ts";
import { MAX_RUN_CHECK_TEXT_BYTES } from "../../../src/core/allocation/read/texts.ts";
import { whyOf } from "../../../src/core/allocation/read/why.ts";
import type { Existing } from "../../../src/core/allocation/state.ts";
import { summaryOf, upsertOf } from "../../../src/core/allocation/summary.ts";
import { isSettled } from "../../../src/objects/reads/existing.ts";
import type { AttemptReport, CheckReport } from "../../../src/schema/host.ts";
import type { RunSpecInput } from "../../../src/schema/run/run.ts";
import { type CheckStatus, healthOf, MAX_CHECK_OUTPUT_CHARS } from "../../../src/shared/health/words.ts";
import {
  abort,
  EXIT,
  exited,
  FIRST,
  observed,
  ordered,
  queued,
  RUN,
  reloaded,
  runAt,
  running,
  T0,
} from "../support/allocation.ts";
import { group, sidecar, task } from "../support/group.ts";

const HTTP = { name: "http", http: { port: 8080 } };
const PORT = { name: "port", tcp: { port: 5432 } };
const SPEC: Partial<RunSpecInput> = { checks: [HTTP, PORT] };
const AGENT = { protocol: 2 };

const says = (name: string, status: CheckStatus, output?: string): CheckReport => {
  return { name, status, sinceAgoMs: 0, ...(output === undefined ? {} : { output }) };
};
const both = (http: CheckStatus, port: CheckStatus, output?: string) => [
  says("http", http, output),
  says("port", port),
];
/** Its command runs, and its host says this of its checks. */
const report = (checks: CheckReport[], more: Partial<AttemptReport> = {}) =>
  observed([{ ...running, checks, ...more }], AGENT);
const started = (spec = SPEC) => runAt(ordered(spec), T0, observed([running], AGENT));
const told = (...checks: CheckReport[][]) =>
  checks.reduce((state, one, n) => runAt(state, T0 + (n + 1) * 1_000, report(one)), started());
const whyText = (state: Existing) => whyOf(state, null, "w1", T0 + 60_000).reason;
const eventsOf = (state: Existing, ...types: string[]) =>
  state.record.events.filter(({ type }) => types.includes(type)).map(({ message }) => message);

describe("health.md#run: how healthy a run is", () => {
  test.each<[string, CheckStatus[], string | undefined]>([
    ["no checks: it has no health", [], undefined],
    [
      "health.md#run-1: one is critical, whatever the others are",
      ["passing", "pending", "critical"],
      "unhealthy",
    ],
    ["health.md#run-2: one is pending", ["passing", "pending", "warning"], "pending"],
    ["health.md#run-3: one warns", ["passing", "warning"], "warning"],
    ["health.md#run-4: all pass", ["passing", "passing"], "healthy"],
  ])("%s", (_, statuses, health) => {
    expect(healthOf(statuses)).toBe(health);
  });

  test.each<[string, Existing, string | undefined]>([
    ["it waits", queued(SPEC), "pending"],
    ["its host has said nothing yet", started(), "pending"],
    ["all pass", told(both("passing", "passing")), "healthy"],
    ["one fails", told(both("passing", "passing"), both("passing", "critical")), "unhealthy"],
    ["it has no checks", started({}), undefined],
    [
      "it has ended",
      runAt(told(both("passing", "passing")), T0 + 5_000, observed([exited()], AGENT)),
      undefined,
    ],
  ])("%s", (_, state, health) => {
    expect(statusOf(state).health).toBe(health);
    expect(summaryOf(state, T0).health).toBe(health);
    expect(statusOf(reloaded(state)).health).toBe(health);
  });

  test("tasks without checks do not count, and sidecars do", () => {
    const spec = {
      ...group(task("main", { checks: [HTTP] }), task("proxy", { ...sidecar, checks: [PORT] })),
    };
    const state = runAt(ordered({ ...spec, argv: undefined }), T0, report([says("http", "passing")]));
    expect(statusOf(state).health).toBe("pending");
    const { checks } = upsertOf(state);
    expect(checks).toEqual({ pending: 1, passing: 1, warning: 0, critical: 0 });
  });
});

describe("health.md#status: what readers see of a check", () => {
  const shown = (state: Existing) => statusOf(state).tasks[0]?.checks;

  test("its name, its status, since when, and what its failure said", () => {
    const state = told(both("pending", "pending"), both("critical", "passing", "connection refused"));
    const since = new Date(T0 + 2_000).toISOString();
    expect(shown(state)).toEqual([
      { name: "http", status: "critical", since, output: "connection refused" },
      { name: "port", status: "passing", since },
    ]);
  });

  test("the age of a status counts, within the life of its attempt", () => {
    const aged = (sinceAgoMs: number) =>
      runAt(
        started(),
        T0 + 9_000,
        report([{ name: "http", status: "critical", sinceAgoMs }, says("port", "passing")]),
      );
    expect(shown(aged(4_000))?.[0]?.since).toBe(new Date(T0 + 5_000).toISOString());
    expect(shown(aged(1e9))?.[0]?.since).toBe(new Date(T0).toISOString());
  });

  test("before anything was heard: pending, of no time", () => {
    expect(shown(started())).toEqual([
      { name: "http", status: "pending", since: null },
      { name: "port", status: "pending", since: null },
    ]);
    expect(shown(started({}))).toBeUndefined();
  });

  test("of a task that has ended: as they were then", () => {
    const state = runAt(told(both("critical", "passing", "no")), T0 + 9_000, observed([exited()], AGENT));
    expect(shown(state)).toMatchObject([{ status: "critical", output: "no" }, { status: "passing" }]);
  });
});

describe("health.md#rows: what is written", () => {
  /** Whether the second report changes what is stored. */
  const writes = (first: CheckReport[], second: CheckReport[]) => {
    const before = told(first);
    return runAt(before, T0 + 60_000, report(second)).record !== before.record;
  };

  test.each<[string, CheckReport[], CheckReport[], boolean]>([
    ["the same once more", both("passing", "passing"), both("passing", "passing"), false],
    [
      "another text for the same status",
      both("critical", "passing", "a"),
      both("critical", "passing", "b"),
      false,
    ],
    ["a first text", both("pending", "passing"), both("pending", "passing", "refused"), true],
    ["another status", both("passing", "passing"), both("warning", "passing"), true],
  ])("%s", (_, first, second, isWritten) => {
    expect(writes(first, second)).toBe(isWritten);
  });

  test("what is no check of the task is not believed, nor half of them", () => {
    const before = told(both("passing", "passing"));
    for (const checks of [[says("other", "critical")], [says("http", "critical")], []])
      expect(runAt(before, T0 + 9_000, report(checks)).record).toBe(before.record);
    const extra = [...both("passing", "passing"), says("other", "critical")];
    expect(runAt(before, T0 + 9_000, report(extra)).record).toBe(before.record);
  });

  test("what is said of an attempt that has ended, or of an earlier one, changes nothing", () => {
    const over = runAt(told(both("passing", "passing")), T0 + 9_000, observed([exited()], AGENT));
    const late = { ...exited(), checks: both("critical", "critical") };
    expect(runAt(over, T0 + 10_000, observed([late], AGENT)).record.tasks).toEqual(over.record.tasks);
  });

  test("the texts of all checks of a run have a bound together (MAX_RUN_CHECK_TEXT_BYTES)", () => {
    const names = Array.from({ length: 16 }, (_, n) => `check-${n}`);
    const checks = names.map((name, n) => ({ name, tcp: { port: n + 1 } }));
    const tasks = Array.from({ length: 8 }, (_, n) => task(`task-${n}`, { checks }));
    let state = ordered({ ...group(...tasks), argv: undefined });
    for (const [n, { name }] of tasks.entries()) {
      const said = names.map((one) => says(one, "critical", "x".repeat(MAX_CHECK_OUTPUT_CHARS)));
      const one = { id: `${RUN}/${name}/1.1`, state: "running" as const, startedAgoMs: 0, checks: said };
      state = runAt(state, T0 + n * 1_000, observed([one], AGENT));
    }
    const texts = statusOf(state)
      .tasks.flatMap((one) => one.checks ?? [])
      .map(({ output = "" }) => output);
    const whole = texts.filter((text) => text.length === MAX_CHECK_OUTPUT_CHARS).length;
    expect(whole).toBe(MAX_RUN_CHECK_TEXT_BYTES / MAX_CHECK_OUTPUT_CHARS);
    expect(texts.at(-1)).toHaveLength(MAX_CHECK_OUTPUT_CHARS);
    expect(texts[0]).toMatch(/… \(cut\)$/);
  });

  test("the pool hears of it when a status changes, and not otherwise", () => {
    const before = told(both("passing", "passing"));
    const same = runAt(before, T0 + 9_000, report(both("passing", "passing")));
    const other = runAt(before, T0 + 9_000, report(both("passing", "warning")));
    expect(same.record.poolVersion).toBe(before.record.poolVersion);
    expect(other.record.poolVersion).toBeGreaterThan(before.record.poolVersion);
    expect(upsertOf(other)).toMatchObject({ health: "warning", checks: { passing: 1, warning: 1 } });
  });
});

describe("health.md#events, tasks.md#event-healthy: what the history says", () => {
  test("that one fails and why, and that all pass again", () => {
    const state = told(
      both("passing", "pending"),
      both("passing", "passing"),
      both("passing", "warning"),
      both("critical", "warning", "connection refused"),
      both("critical", "critical"),
      both("passing", "passing"),
    );
    expect(eventsOf(state, "Healthy", "Unhealthy")).toEqual([
      "its checks pass",
      'its check "http" fails: connection refused',
      "its checks pass",
    ]);
    const { details } = state.record.events.find(({ type }) => type === "Unhealthy") ?? {};
    expect(details).toEqual({ attempt: FIRST, check: "http", check_output: "connection refused" });
  });

  test("at most so many of one attempt (MAX_HEALTH_EVENTS), and the last one says so", () => {
    const flips = Array.from({ length: 50 }, (_, n) => both(n % 2 === 0 ? "passing" : "critical", "passing"));
    const messages = eventsOf(told(...flips), "Healthy", "Unhealthy");
    expect(messages).toHaveLength(MAX_HEALTH_EVENTS);
    expect(messages.filter((text) => text.includes("no more events"))).toEqual([messages.at(-1)]);
    expect(statusOf(told(...flips)).health).toBe("unhealthy");
  });
});

describe("health.md#why", () => {
  test.each<[string, Existing, string, RegExp]>([
    ["it is healthy", told(both("passing", "passing")), "running", /^its command is running$/],
    [
      "`why` names the check that fails, and what it met",
      told(both("passing", "critical"), both("critical", "critical", "connection refused.")),
      "unhealthy",
      /^task main: check `http` fails since 2026-11-21T08:30:02.000Z: connection refused\. To see .*logs/,
    ],
    [
      "it warns",
      told(both("warning", "passing", "full")),
      "not_healthy",
      /check `http` warns since .*: full\. To/,
    ],
    [
      "it has not passed yet",
      told(both("pending", "passing")),
      "not_healthy",
      /`http` has not passed yet\. To/,
    ],
    [
      "… and its first failure said why",
      told(both("pending", "passing", "refused")),
      "not_healthy",
      /`http` has not passed yet: refused\. To/,
    ],
    [
      "health.md#old-hosts: an agent that is too old tries nothing",
      runAt(ordered(SPEC), T0, observed([running], { protocol: 1 })),
      "not_healthy",
      /`http` is not tried: the agent of its host is too old for that; update that agent/,
    ],
  ])("%s", (_, state, code, text) => {
    const reason = whyText(state);
    expect(reason.code).toBe(code);
    expect(reason.text).toMatch(text);
  });

  test("a task that has ended cannot pass any more", () => {
    const spec = group(task("main", { checks: [HTTP] }), task("other", {}));
    const first = { id: `${RUN}/main/1.1`, state: "running" as const, startedAgoMs: 0 };
    const other = { ...first, id: `${RUN}/other/1.1` };
    const state = runAt(ordered({ ...spec, argv: undefined }), T0, observed([first, other], AGENT));
    const over = { ...first, state: "exited" as const, endedAgoMs: 0, exit: EXIT };
    const ended = runAt(state, T0 + 1_000, observed([over], AGENT));
    expect(whyText(ended).text).toMatch(/^task main: it has ended, so check `http` cannot pass any more/);
  });
});

describe("health.md#wait: when a wait for a healthy run is over", () => {
  test.each<[string, Existing, boolean]>([
    ["it is healthy", told(both("passing", "passing")), true],
    ["it is not", told(both("passing", "warning")), false],
    ["it waits", queued(SPEC), false],
    ["it has no checks", queued({}), true],
    ["it has ended", runAt(started(), T0 + 1, observed([exited()], AGENT)), true],
  ])("%s", (_, state, isOver) => {
    expect(isSettled(state, "healthy")).toBe(isOver);
  });
});

// health.md#restart
describe("restart.md#cause-6: the end of a task that its host has stopped for a check is a failure", () => {
  const unhealthy = { check: "http", failures: 3, output: "connection refused", agoMs: 2_000 };
  const policy = { attempts: 1, delay: "10s", interval: "1m" };
  const stopped = (exit = {}, more: Partial<AttemptReport> = {}) =>
    observed([{ ...exited(exit), unhealthy, ...more }], AGENT);
  const afterStop = (spec: Partial<RunSpecInput>, event = stopped()) =>
    runAt(started({ ...SPEC, ...spec }), T0 + 5_000, event);

  test.each<[string, object]>([
    ["even if it ends well", { code: 0 }],
    ["by the signal of the stop", { code: null, signal: "SIGTERM" }],
  ])("%s, and its policy starts it again", (_, exit) => {
    const { record } = afterStop({ restart: policy }, stopped(exit));
    expect(record).toMatchObject({ ended: false, tasks: [{ restarts: 1, n: 2 }] });
  });

  test("it is started again even if nobody knows how it ended", () => {
    const gone: AttemptReport = { id: FIRST, state: "gone", startedAgoMs: 1_000, unhealthy };
    expect(afterStop({ restart: policy }, observed([gone], AGENT)).record.tasks[0]?.restarts).toBe(1);
  });

  test("without restarts the run fails, and its failure names the check (check_failed)", () => {
    const { record } = afterStop({}, stopped({ code: 0 }));
    const text = 'its check "http" has failed 3 times in a row, and so it was stopped: connection refused';
    const failure = { code: "check_failed", text };
    expect(record).toMatchObject({ ended: true, outcome: { state: "failed", exitCode: null, failure } });
  });

  test("so does a group, by the name of its task", () => {
    const spec = group(task("main", { checks: [HTTP], restart: { attempts: 0 } }), task("other", {}));
    const of = (name: string): AttemptReport => ({ ...running, id: `${RUN}/${name}/1.1` });
    const state = runAt(
      ordered({ ...spec, argv: undefined }),
      T0,
      observed([of("main"), of("other")], AGENT),
    );
    const main = { ...exited(), id: `${RUN}/main/1.1`, unhealthy };
    const other = { ...exited(), id: `${RUN}/other/1.1` };
    const { outcome } = runAt(state, T0 + 5_000, observed([main], AGENT), observed([other], AGENT)).record;
    expect(outcome?.failure).toMatchObject({ code: "check_failed", text: /^task "main": its check "http"/ });
  });

  test("the history says why, at the time of the stop", () => {
    const { events } = afterStop({ restart: policy }).record;
    const at = (ms: number) => new Date(T0 + ms).toISOString();
    expect(events.filter(({ type }) => ["Restart Signaled", "Restarting"].includes(type))).toMatchObject([
      {
        at: at(3_000),
        message: 'its host stops it: check "http" has failed 3 times in a row: connection refused',
      },
      { at: at(5_000) },
    ]);
  });

  test("its next attempt begins with no status", () => {
    const state = afterStop({ restart: policy });
    expect(statusOf(state).health).toBe("pending");
    const next = { ...running, id: `${RUN}/main/1.2` };
    expect(statusOf(runAt(state, T0 + 30_000, observed([next], AGENT))).tasks[0]?.checks).toMatchObject([
      { status: "pending", since: null },
      { status: "pending", since: null },
    ]);
  });

  test("a wish to end the run comes first", () => {
    const state = runAt(started({ ...SPEC, restart: policy }), T0 + 1, abort());
    expect(runAt(state, T0 + 5_000, stopped()).record.outcome?.state).toBe("aborted");
  });

  test("what was said while it was being stopped is not forgotten", () => {
    const state = afterStop(
      { restart: policy },
      observed([{ ...running, state: "stopping", unhealthy }], AGENT),
    );
    expect(runAt(state, T0 + 6_000, observed([exited()], AGENT)).record.tasks[0]?.restarts).toBe(1);
  });
});
