import { describe, expect, test } from "vitest";
import { RUN_REASONS, whyOf } from "../../../src/core/allocation/read/why.ts";
import type { Existing } from "../../../src/core/allocation/state.ts";
import { POSTSTOP_AFTER_WISH_MS } from "../../../src/core/allocation/tasks/group.ts";
import { nextAt } from "../../../src/core/next.ts";
import type { NextCode, Why } from "../../../src/schema/why.ts";
import {
  abort,
  ended,
  exited,
  exitedButUnlogged,
  FIRST,
  observed,
  ordered,
  queued,
  runAt,
  running,
  started,
  T0,
} from "../support/allocation.ts";
import { GroupStory, group, poststop, task } from "../support/group.ts";
import { lieOfRun } from "../support/truth-of-runs.ts";

const SECOND = 1_000;
const delayed = (more: object = {}) => new GroupStory({ ...group(task("m", more)), shutdownDelay: "30s" });
const slow = { shutdownDelay: "4s" };
const again = { restart: { attempts: 1, delay: "10s", interval: "1m" } };
const stubborn = (story: GroupStory, name: string) => {
  story.stubborn.add(name);
  return story;
};
const timed = () => new GroupStory({ ...group(task("m")), shutdownDelay: "30s", timeout: "20s" });
const two = () => new GroupStory(group(task("lead", { leader: true, ...slow }), task("side")));
const withPost = () => new GroupStory(group(task("m"), task("post", poststop)));
const force = { type: "abort", reason: "enough", by: "bob", force: true } as const;
const sigkill = { task: "lead", signal: "SIGKILL", by: "bob" } as const;

const once = { restart: { attempts: 0 } };
const reschedule = { attempts: 1, delay: "30s" };

/** A run with a check of which its host says this. */
function withCheck(status: "critical" | "pending") {
  const checks = [{ name: "port", status, sinceAgoMs: 0, output: "refused" }];
  const spec = { checks: [{ name: "port", tcp: { port: 80 } }] };
  return runAt(ordered(spec), T0, observed([{ ...running, checks }], { protocol: 2 }));
}

/** What happens next, when, and until then whose word is waited for. */
type Says = [code: string, text: RegExp, next: NextCode, afterMs: number | null, waitsFor: string | null];

// What it promises for a time is proved by letting that time come (`lieOfRun`).
describe("N7, N1: each reason of a run is the truth, and so is what it says happens next", () => {
  const silent: Why = {
    state: "unknown",
    reason: { code: "silent", text: "its host has not reported for 40s" },
    next: nextAt("give_up", "give it up, unless its host reports", T0 + 90 * SECOND, "host"),
    chain: [],
  };
  const table: [string, Existing, Says, Why?][] = [
    ["it waits", queued(), ["waiting", /its pool/, "place", null, "pool"]],
    ["… for so long", queued({ queueTimeout: "1m" }), ["waiting", /its pool/, "give_up", 60_000, "pool"]],
    ["it is ordered", ordered(), ["starting", /w1 has been ordered/, "start_task", null, "host"]],
    [
      "… by a worker whose host is silent",
      ordered(),
      ["starting", /its host is silent: .* for 40s/, "give_up", 90_000, "host"],
      silent,
    ],
    [
      "A3: … and may have started it",
      ordered(),
      [
        "starting",
        /w1 has been ordered .* \(it may have started there\), and .* silent/,
        "give_up",
        90_000,
        "host",
      ],
      silent,
    ],
    [
      "A3: … and was never told of it",
      ordered(),
      ["starting", /\(its host has not received the order yet\)/, "give_up", 90_000, "host"],
      { ...silent, reason: { ...silent.reason, undelivered: true } },
    ],
    [
      "… whose host is silent for longer than the run has time",
      ordered({ timeout: "1m" }),
      ["starting", /silent/, "stop_run", 60_000, "command"],
      silent,
    ],
    [
      "it starts after other runs",
      queued({ after: ["a", "b"] }),
      ["awaiting", /starts after others: it waits for run a to end well and run b/, "place", null, "command"],
    ],
    ["it runs", started(), ["running", /is running/, "end", null, "command"]],
    ["… for so long", started({ timeout: "1m" }), ["running", /running/, "stop_run", 60_000, "command"]],
    [
      "health.md#why: a check of it fails",
      withCheck("critical"),
      ["unhealthy", /check `port` fails since .*: refused/, "end", null, "command"],
    ],
    [
      "… or has not passed yet",
      withCheck("pending"),
      ["not_healthy", /check `port` has not passed yet: refused/, "end", null, "command"],
    ],
    [
      "its outputs are stored",
      runAt(started({ outputs: ["x"] }), T0, observed([{ ...exited(), state: "uploading" }])),
      ["uploading", /collects its outputs/, "end", null, "host"],
    ],
    [
      "the last of its logs is on the way",
      runAt(started(), T0, observed([exitedButUnlogged])),
      ["last_bytes", /last bytes/, "end", 60_000, "host"],
    ],
    [
      "… though it is being stopped",
      runAt(started(), T0, abort(), observed([exitedButUnlogged])),
      ["last_bytes", /last bytes/, "end", 60_000, "host"],
    ],
    [
      "its data are stored for its next place",
      new GroupStory({ ...group(task("m", once), task("n", once)), sticky: true, reschedule }).ends("m", {
        code: 1,
      }).run,
      ["storing_data", /w1 stores its data/, "end", 900_000, "host"],
    ],
    [
      "a task waits for its next start",
      new GroupStory(group(task("m", again))).ends("m", { code: 1 }).run,
      ["backoff", /task m has ended/, "start_task", 11_267, null],
    ],
    [
      "it was lost, and waits for its next place",
      runAt(started({ reschedule: { attempts: 1, delay: "30s" } }), T0, ended("lost")),
      ["rescheduling", /placed again/, "reschedule", 30_000, null],
    ],
    [
      "it cannot be killed",
      runAt(
        started(),
        T0,
        abort(),
        observed([
          {
            id: FIRST,
            state: "stopping",
            kill: { tries: 5, error: "it hangs", treeGone: false, by: "cgroup" },
          },
        ]),
      ),
      ["unkillable", /cannot be killed/, "end", null, "host"],
    ],
    ["it has ended", runAt(started(), T0, observed([exited()])), ["ended", /code 0/, "nothing", null, null]],
    [
      "it is aborted in the queue",
      runAt(queued(), T0, abort()),
      ["stopping", /enough/, "confirm", null, "pool"],
    ],
    [
      "its host is told to stop it",
      runAt(started(), T0, abort()),
      ["stopping", /its command gets SIGTERM, and is killed after 5s$/, "confirm", null, "host"],
    ],
    [
      "the shutdown delay of its group comes first",
      delayed().abort().run,
      ["stopping", /once its shutdown delay is over in 30s/, "stop_task", 30_000, "host"],
    ],
    [
      "… and then that of its task",
      delayed(slow).abort().run,
      ["stopping", /is over in 34s/, "stop_task", 34_000, "host"],
    ],
    [
      "the leader is stopped first, after its delay",
      two().abort().run,
      ["stopping", /"lead" .* in 4s; task "side" is stopped after the others/, "stop_task", 4_000, "host"],
    ],
    [
      "nobody has asked for it: its leader has ended",
      stubborn(two(), "side").ends("lead").run,
      [
        "stopping",
        /the leader of its group, "lead", has ended.*"side" gets SIGTERM/,
        "confirm",
        null,
        "host",
      ],
    ],
    [
      "a poststop task runs on, for so long",
      withPost().abort().run,
      [
        "stopping",
        /its poststop task "post" runs to its end/,
        "stop_task",
        POSTSTOP_AFTER_WISH_MS,
        "command",
      ],
    ],
    [
      "… and for its shutdown delay",
      new GroupStory(group(task("m"), task("post", { ...poststop, ...slow }))).abort().run,
      ["stopping", /runs to its end/, "stop_task", POSTSTOP_AFTER_WISH_MS + 4_000, "command"],
    ],
    [
      "… and to its end, if nobody wants the run to end",
      new GroupStory(group(task("m", { leader: true }), task("n"), task("post", poststop))).ends("m").run,
      ["stopping", /its poststop task "post" runs to its end/, "end", null, "command"],
    ],
    [
      "N7: nobody has said why",
      runAt(started(), T0, abort("")),
      ["stopping", /^it is being stopped; its command gets SIGTERM/, "confirm", null, "host"],
    ],
    [
      "N7: … also of a run without a place",
      runAt(queued(), T0, abort("")),
      ["stopping", /^it is being stopped$/, "confirm", null, "pool"],
    ],
    [
      "everything of it is killed at once",
      runAt(started(), T0, force),
      ["stopping", /\(enough\); its command is killed at once$/, "confirm", null, "host"],
    ],
    [
      "… in place of the shutdown delays",
      delayed(slow).abort().apply(force).run,
      ["stopping", /its command is killed at once$/, "confirm", null, "host"],
    ],
    [
      "… all tasks, whatever their order",
      two().abort().apply(force).run,
      ["stopping", /task "lead" is killed at once; task "side" is killed at once$/, "confirm", null, "host"],
    ],
    [
      "… and poststop tasks, too",
      withPost().abort().apply(force).run,
      ["stopping", /task "post" is killed at once$/, "confirm", null, "host"],
    ],
    [
      "… and its end waits for no log",
      runAt(started(), T0, force, observed([exitedButUnlogged])),
      ["ended", /./, "nothing", null, null],
    ],
    [
      "its machine is kept",
      runAt(started({ keep: "1h" }), T0, observed([exited({ code: 3 })])),
      ["kept", /exit code 3; worker w1 keeps it/, "release", 3_600_000, null],
    ],
    [
      "… and is let go",
      runAt(started({ keep: "1h" }), T0, observed([exited({ code: 3 })]), {
        type: "release",
        by: "ann",
        reason: "ann has released it",
      }),
      ["kept", /worker w1 lets it go: ann has released it/, "confirm", null, "host"],
    ],
    [
      "a task is killed in its stop by SIGKILL",
      stubborn(two(), "lead").abort().apply({ type: "signal", request: sigkill }).run,
      [
        "stopping",
        /task "lead" is killed at once; task "side" is stopped after the others$/,
        "confirm",
        null,
        "host",
      ],
    ],
    [
      "a task that is to be started again is killed by SIGKILL",
      stubborn(new GroupStory(group(task("m"), task("n"))), "m")
        .apply({ type: "restart", request: { task: "m", by: "ann" } })
        .obey()
        .apply({ type: "signal", request: { ...sigkill, task: "m" } }).run,
      ["restarting", /"m" is killed at once, to be started again/, "confirm", null, "host"],
    ],
    [
      "a poststop task comes last",
      stubborn(withPost(), "m").abort().run,
      ["stopping", /task "m" gets SIGTERM/, "confirm", null, "host"],
    ],
    [
      "a task is stopped, to be started again",
      stubborn(new GroupStory(group(task("m"))), "m").apply({ type: "restart", request: { by: "ann" } }).run,
      ["restarting", /"m" is stopped, to be started again/, "confirm", null, "host"],
    ],
    [
      "… after the shutdown delay of its group",
      delayed().apply({ type: "restart", request: { by: "ann" } }).run,
      ["restarting", /started again/, "stop_task", 30_000, null],
    ],
    [
      "… unless the time of the run is over before",
      timed().apply({ type: "restart", request: { by: "ann" } }).run,
      ["restarting", /started again/, "stop_run", 20_000, "command"],
    ],
    [
      "nor does the delay of a task last longer than the time of the run, if nobody wants the run to end",
      new GroupStory({ ...group(task("lead", { leader: true }), task("side", slow)), timeout: "3s" }).ends(
        "lead",
      ).run,
      ["stopping", /"side" .* in 4s/, "stop_run", 3_000, "command"],
    ],
    [
      "… but it does, if somebody does",
      timed().abort().run,
      ["stopping", /is over in 30s/, "stop_task", 30_000, "host"],
    ],
  ];

  test.each(table)("%s", (_what, run, [code, text, next, afterMs, waitsFor], other) => {
    const why = whyOf(run, other ?? null, "w1", T0);
    expect(why.reason.code).toBe(code);
    expect(why.reason.text).toMatch(text);
    const at = afterMs === null ? null : new Date(T0 + afterMs).toISOString();
    expect(why.next).toMatchObject({ code: next, at, waitsFor });
    expect(lieOfRun(run, other ?? null, T0)).toBeUndefined();
  });

  test("no reason is left out", () => {
    expect([...new Set(table.map(([, , [code]]) => code))].sort()).toEqual([...RUN_REASONS].sort());
  });
});

test("N7: no start is promised once the time limit was reached while the host waits for it", () => {
  const story = new GroupStory({ ...group(task("m", again)), timeout: "5s" });
  story.waits = true;
  const { run } = story.ends("m", { code: 1 });
  const now = T0 + 6 * SECOND;
  expect(whyOf(run, null, "w1", now)).toMatchObject({
    reason: {
      code: "backoff",
      text: expect.stringContaining("before task m was started again"),
    },
    next: { code: "stop_run", at: null, waitsFor: "host" },
  });
  expect(lieOfRun(run, null, now)).toBeUndefined();
});

test("N7: no stop is promised for later once the time limit has stopped a task that restarts", () => {
  const { run } = timed().apply({ type: "restart", request: { by: "ann" } });
  const now = T0 + 21 * SECOND;
  expect(whyOf(run, null, "w1", now).next).toMatchObject({ code: "confirm", at: null, waitsFor: "host" });
  expect(lieOfRun(run, null, now)).toBeUndefined();
});

test("N7: how long a shutdown delay still takes is said in seconds", () => {
  const why = whyOf(delayed().abort().run, null, "w1", T0 + 275);
  expect(why.reason.text).toMatch(/is over in 30s$/);
});

test("N7: a run that was aborted without a reason says by whom", () => {
  const run = runAt(started(), T0, { type: "abort", reason: "", by: "ann" }, observed([exited()]));
  expect(whyOf(run, null, "w1", T0).reason).toMatchObject({ code: "ended", text: "aborted by ann" });
  expect(run.record.events.find(({ type }) => type === "Killing")?.message).toBe("aborted by ann");
});
