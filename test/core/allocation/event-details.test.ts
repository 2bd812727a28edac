import { expect, test } from "vitest";
import { abort, ended, exited, FIRST, observed, queued, runAt, started, T0 } from "../support/allocation.ts";
import { GroupStory, group, poststop, prestart, sidecar, task } from "../support/group.ts";

const pair = (...more: object[]) => new GroupStory(group(task("m"), task("n"), ...more));
const policy = (restart: object, more: object = {}) =>
  new GroupStory(group(task("m", { restart, ...more }), task("n")));
const by = "ann";
const giveUp = observed([
  { id: FIRST, state: "stopping", kill: { tries: 5, error: "pid 7 lives", treeGone: false, by: "cgroup" } },
]);

// Of each story the last event of a type: its details, all of them, and its text.
const attempt = "build-17/m/1.1";

test.each<[string, () => Pick<GroupStory, "run">, string, object, string | RegExp]>([
  ["tasks.md#event-received", () => ({ run: queued() }), "Received", {}, "the run was submitted"],
  ["tasks.md#event-started", () => pair(), "Started", { attempt }, "the command was started"],
  [
    "tasks.md#event-driver-failure",
    () => pair().cannotStart("m"),
    "Driver Failure",
    { driver_error: "no such command" },
    "no such command",
  ],
  [
    // No process ends with both, a report may say so.
    "tasks.md#event-terminated, tasks.md#text-6: code and signal",
    () => pair().ends("m", { code: 1, signal: "SIGQUIT" } as object),
    "Terminated",
    { attempt, exit_code: "1", signal: "SIGQUIT", oom_killed: "false", exit_message: "" },
    "exit code 1, signal SIGQUIT",
  ],
  [
    "tasks.md#text-7: a message",
    () => pair().ends("m", { message: "done" }),
    "Terminated",
    { attempt, exit_code: "0", signal: "", oom_killed: "false", exit_message: "done" },
    "exit code 0, done",
  ],
  [
    "tasks.md#event-killing, tasks.md#text-5, tasks.md#order-note-1: of a task",
    () => policy({ attempts: 0 }, { killTimeout: "9s" }).ends("n", { code: 1 }),
    "Killing",
    { kill_timeout: "9s", kill_reason: 'task "n" of its group has failed' },
    'task "n" of its group has failed',
  ],
  [
    "tasks.md#event-killing: of a command by itself",
    () => ({ run: runAt(started({ killTimeout: "7s" }), T0, abort()) }),
    "Killing",
    { by, kill_reason: "enough", kill_timeout: "7s" },
    "enough",
  ],
  [
    "tasks.md#event-killed, tasks.md#text-8: of a task",
    () => pair().abort(),
    "Killed",
    { kill_reason: "enough" },
    "it was stopped",
  ],
  [
    "tasks.md#text-8: of what could not be killed",
    () => ({ run: runAt(started(), T0, abort(), giveUp, ended("lost")) }),
    "Killed",
    { kill_reason: "enough", kill_error: "pid 7 lives" },
    "all of it has ended, with an error: pid 7 lives",
  ],
  [
    "tasks.md#event-restarting, tasks.md#text-3: within its policy",
    () => policy({ attempts: 1, delay: "0s" }).ends("m", { code: 1 }),
    "Restarting",
    { start_delay: "0", restart_reason: "within_policy" },
    "it is started again in 0ms",
  ],
  [
    "tasks.md#text-4: for another reason",
    () =>
      policy({ attempts: 1, delay: "0s", interval: "10s", mode: "delay" })
        .ends("m", { code: 1 })
        .ends("m", { code: 1 }),
    "Restarting",
    { start_delay: "10000000000", restart_reason: "delaying" },
    /^more than 1 restarts in 10s; .* it is started again in 10s$/,
  ],
  [
    "tasks.md#event-not-restarting, tasks.md#text-9",
    () => pair().ends("m", { code: 1 }),
    "Not Restarting",
    { restart_reason: "not_allowed", fails_task: "true" },
    "it is not started again: its policy allows no restarts",
  ],
  [
    "tasks.md#event-not-restarting: lost too often",
    () => {
      const story = policy({ attempts: 1, delay: "1s" });
      for (let i = 0; i < 6; i += 1) story.later(2_000).isLost("m");
      return story;
    },
    "Not Restarting",
    { restart_reason: "exceeded", fails_task: "true" },
    /^it is not started again: 6 times in a row/,
  ],
  [
    "tasks.md#event-restart-signaled",
    () => pair().apply({ type: "restart", request: { task: "m", by } }),
    "Restart Signaled",
    { restart_reason: "ann asked for it" },
    "it is to be started again: ann asked for it",
  ],
  [
    "tasks.md#event-signaling, tasks.md#text-11",
    () => pair().apply({ type: "signal", request: { task: "m", signal: "SIGHUP", by } }),
    "Signaling",
    { task_signal: "SIGHUP", task_signal_reason: "ann asked for it" },
    "ann sends it SIGHUP",
  ],
  [
    "tasks.md#event-sibling-task-failed, tasks.md#text-10",
    () => pair().ends("n", { code: 1 }),
    "Sibling Task Failed",
    { failed_sibling: "n" },
    'task "n" of its group has failed',
  ],
  [
    "tasks.md#event-leader-task-dead",
    () => new GroupStory(group(task("m", { leader: true }), task("n"))).ends("m"),
    "Leader Task Dead",
    {},
    'the leader of its group, "m", has ended',
  ],
  [
    "tasks.md#event-main-tasks-dead",
    () => pair(task("s", sidecar)).ends("m").ends("n"),
    "Main Tasks Dead",
    {},
    "the main tasks of its group have ended",
  ],
  [
    "tasks.md#event-waiting-for-shutdown-delay",
    () => policy({ attempts: 0 }, { shutdownDelay: "3s" }).abort(),
    "Waiting for shutdown delay",
    {},
    "waiting 3s before it is stopped",
  ],
  [
    "tasks.md#event-failed-restoring-task",
    () => policy({ attempts: 1 }).isLost("m"),
    "Failed Restoring Task",
    {},
    "its host lost track of it; it is started again in 0ms",
  ],
])("%s", (_rule, story, type, details, message) => {
  const events = story().run.record.events.filter((event) => event.type === type);
  const event = events.findLast(({ task: name }) => name === "m") ?? events.at(-1);
  expect(event).toMatchObject({
    message: message instanceof RegExp ? expect.stringMatching(message) : message,
  });
  expect(event).toHaveProperty("details", details);
});

const types = (story: GroupStory, name: string) =>
  story.run.record.events.filter((event) => event.task === name).map(({ type }) => type);
const again = { restart: { attempts: 1, delay: "1s" } };

// What a task goes through: its events, and what it is then.
test.each<[string, () => GroupStory, string[], object]>([
  [
    "tasks.md#change-1: it waits for its gate",
    () => pair(task("p", poststop)),
    [],
    { state: "pending", phase: "waiting" },
  ],
  [
    "tasks.md#change-3: it is started",
    () => pair(task("p", prestart)),
    ["Started"],
    { state: "running", phase: "running" },
  ],
  [
    "tasks.md#change-4, tasks.md#change-5, restart.md#outcome-4: it ends, and is to be started again",
    () => pair(task("p", { ...prestart, ...again })).ends("p", { code: 1 }),
    ["Started", "Terminated", "Restarting"],
    { state: "pending", phase: "backoff", failed: false },
  ],
  [
    "tasks.md#change-6, restart.md#outcome-2, tasks.md#failure-1: it ends for good, and has failed",
    () => pair(task("p", prestart)).ends("p", { code: 1 }),
    ["Started", "Terminated", "Not Restarting"],
    { state: "dead", failed: true },
  ],
  [
    "tasks.md#change-7, restart.md#outcome-3: it has done its work",
    () => pair(task("p", prestart)).ends("p"),
    ["Started", "Terminated"],
    { state: "dead", failed: false },
  ],
  [
    "tasks.md#change-8, restart.md#outcome-1, tasks.md#kill-8: it is killed, whatever its exit code",
    () => {
      const story = pair(task("p", prestart));
      story.stubborn.add("p");
      return story.abort().ends("p", { code: 1 });
    },
    ["Started", "Killing", "Terminated", "Killed"],
    { state: "dead", failed: false },
  ],
  [
    "tasks.md#change-9, tasks.md#kill-1: it is killed behind its gate",
    () => new GroupStory(group(task("p"), task("a", prestart))).abort(),
    [],
    { state: "dead", failed: false },
  ],
  [
    "tasks.md#change-9, tasks.md#life-2: it is killed in its restart delay",
    () =>
      pair(task("p", { ...prestart, ...again }))
        .ends("p", { code: 1 })
        .abort(),
    ["Started", "Terminated", "Restarting"],
    { state: "dead", failed: false, restarts: 1 },
  ],
  [
    "tasks.md#change-10, tasks.md#t-q2, tasks.md#alloc-case-12: it runs on in its shutdown delay",
    () => new GroupStory(group(task("p", { shutdownDelay: "3s" }), task("n"))).abort(),
    ["Started", "Killing", "Waiting for shutdown delay"],
    { state: "running", phase: "stopping" },
  ],
  [
    "tasks.md#change-11, tasks.md#handle-6: its host lost track of it",
    () => pair(task("p", { ...prestart, ...again })).isLost("p"),
    ["Started", "Lost", "Failed Restoring Task", "Started"],
    { state: "running", failed: false, restarts: 0 },
  ],
  [
    "tasks.md#change-12: it is dead, and all are started again",
    () =>
      pair(task("p", prestart))
        .ends("p")
        .apply({ type: "restart", request: { all: true, by } }),
    ["Started", "Terminated", "Restart Signaled", "Restarting"],
    { state: "pending", restarts: 1, finishedAt: null },
  ],
  [
    "tasks.md#life-6: its preparation fails because it is stopped",
    () => {
      const story = pair(task("p", prestart));
      story.stubborn.add("p");
      return story.abort().cannotStart("p");
    },
    ["Started", "Killing", "Driver Failure", "Killed"],
    { state: "dead", failed: false },
  ],
  [
    "tasks.md#failure-note-1: it cannot be started, and may be again",
    () => pair(task("p", { ...prestart, ...again })).cannotStart("p", true),
    ["Started", "Driver Failure", "Restarting"],
    { state: "pending", failed: false },
  ],
  [
    "tasks.md#failure-3: an update has left it out",
    () => {
      const story = pair(task("p"));
      const { tasks: [m, n] = [], ...rest } = story.run.record.spec;
      const spec = { ...rest, tasks: [m, n].flatMap((one) => one ?? []) };
      return story.apply({ type: "update", spec, specIndex: 1, by }).obey();
    },
    ["Started", "Killing", "Terminated", "Killed"],
    { state: "dead", failed: false },
  ],
])("%s", (_rule, make, events, status) => {
  const story = make();
  expect(types(story, "p")).toEqual(events);
  expect(story.status.tasks.find(({ name }) => name === "p")).toMatchObject(status);
});

test("an exit of a command by itself is told like any other", () => {
  const { record } = runAt(started(), T0, observed([exited({ message: "so" })]));
  expect(record.events.at(-1)?.details.exit_message).toBe("so");
});
