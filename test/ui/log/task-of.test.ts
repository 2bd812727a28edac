import { expect, test } from "vitest";
import { taskToShow } from "../../../ui/log/view/task-of.ts";

type Task = Parameters<typeof taskToShow>[0]["tasks"][number];
const AT = "2026-11-27T00:00:00.000Z";
const task = (name: string, more: Partial<Task> = {}): Task => ({
  ...{ name, phase: "waiting", failed: false, startedAt: null },
  ...more,
});
/** A run of these tasks; `web` leads. */
const run = (...tasks: Task[]) => {
  const spec = { tasks: [{ name: "migrate" }, { name: "web", leader: true }, { name: "log" }] };
  return taskToShow({ tasks, spec });
};

test.each([
  [
    "the one that has failed",
    run(task("migrate", { failed: true }), task("web", { startedAt: AT })),
    "migrate",
  ],
  ["the leader, once it has begun", run(task("migrate"), task("web", { startedAt: AT })), "web"],
  [
    "one that runs before the leader begins",
    run(task("migrate"), task("web", { startedAt: null }), task("log", { phase: "running" })),
    "log",
  ],
  ["the first one, if nothing runs", run(task("migrate"), task("web", { startedAt: null })), "migrate"],
  ["the only one of a command", taskToShow({ tasks: [], spec: {} }), "main"],
])("the output that is shown first is that of %s (ui.md#d1)", (_, shown, expected) => {
  expect(shown).toBe(expected);
});
