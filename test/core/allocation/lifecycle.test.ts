import { describe, expect, test } from "vitest";
import { clientStatus } from "../../../src/core/allocation/read/status.ts";
import type { Stage } from "../../../src/core/allocation/state.ts";
import { gateIsOpen, hasTurn, reachedStage, reactionOf } from "../../../src/core/allocation/tasks/group.ts";
import type { TaskView } from "../../../src/core/allocation/tasks/tasks.ts";
import { groupOf } from "../../../src/core/spec.ts";
import { RunSpec } from "../../../src/schema/run/run.ts";

const HOOKS: Record<string, object> = {
  pre: { lifecycle: { hook: "prestart" } },
  side: { lifecycle: { hook: "prestart", sidecar: true } },
  main: {},
  lead: { leader: true },
  post: { lifecycle: { hook: "poststart" } },
  aside: { lifecycle: { hook: "poststart", sidecar: true } },
  stop: { lifecycle: { hook: "poststop" } },
};

const STATES: Record<string, TaskView["state"]> = { D: "dead", F: "dead", R: "running", P: "pending" };

/** `pre:D main:P` → views. D dead and well, F dead and failed, R running, P pending; F2 failed at 2. */
function views(text: string): TaskView[] {
  const parts = text.split(" ").map((part) => part.split(":") as [string, string]); // as written below
  const mains = parts.some(([name]) => name === "lead" || name.startsWith("main"));
  const all: [string, string][] = mains ? parts : [...parts, ["main", "P"]];
  const spec = RunSpec.parse({
    tasks: all.map(([name]) => ({ name, argv: ["x"], ...HOOKS[name.replace(/\d/, "")] })),
  });
  return groupOf(spec).tasks.map((task, i): TaskView => {
    const said = all[i]?.[1] ?? "P";
    const state = STATES[said.charAt(0)] ?? "pending";
    const started = state !== "pending";
    return { task, state, started, failed: said[0] === "F", deadAt: Number(said[1] ?? 1) };
  });
}

test.each<[string, Stage, string, Stage]>([
  ["tasks.md#stage-2", "prestart", "main:P", "main"],
  ["tasks.md#stage-2", "prestart", "pre:P main:P", "prestart"],
  ["tasks.md#stage-2", "prestart", "pre:R main:P", "prestart"],
  ["tasks.md#stage-2", "prestart", "pre:F main:P", "prestart"],
  ["tasks.md#stage-2", "prestart", "pre:D main:P", "main"],
  ["tasks.md#stage-2", "prestart", "pre:D side:P main:P", "prestart"],
  ["tasks.md#stage-2", "prestart", "pre:D side:R main:P", "main"],
  ["tasks.md#stage-note-3", "main", "side:P main:P", "main"],
  ["tasks.md#stage-3", "main", "main1:R main2:P", "main"],
  ["tasks.md#stage-3", "main", "main1:R main2:D post:P", "poststart"],
  ["tasks.md#stage-4", "poststart", "main:R post:R", "poststart"],
  ["tasks.md#stage-4", "poststart", "main:R post:F", "running"],
  ["tasks.md#stage-note-2", "prestart", "pre:D main:R", "running"],
  ["tasks.md#stage-5", "running", "main:P", "running"],
  ["tasks.md#stage-1", "restarting", "main:R pre:P", "restarting"],
  ["tasks.md#stage-1", "restarting", "main:P pre:P stop:D", "prestart"],
])("%s: from %s with %s the group reaches %s", (_, stage, tasks, reached) => {
  expect(reachedStage(stage, views(tasks))).toBe(reached);
});

describe("open gates", () => {
  const tasks = views("pre:P side:P main:P post:P aside:P stop:P");
  const open = (stage: Stage, all = tasks) =>
    all.filter(({ task }) => gateIsOpen(task, stage, all)).map(({ task }) => task.name);

  test.each<[string, Stage, string[]]>([
    ["tasks.md#stage-1", "restarting", []],
    ["tasks.md#stage-2", "prestart", ["pre", "side"]],
    ["tasks.md#stage-3, tasks.md#stage-note-5", "main", ["side", "main"]],
    ["tasks.md#stage-4", "poststart", ["side", "main", "post", "aside"]],
    ["tasks.md#stage-5, tasks.md#stage-note-5", "running", ["side", "main", "aside"]],
  ])("%s: %s: %j", (_, stage, names) => {
    expect(open(stage)).toEqual(names);
  });

  test.each<Stage>(["prestart", "running"])(
    "poststop: when all others are dead, from %s too (tasks.md#stage-6, tasks.md#stage-note-1)",
    (stage) => {
      const dead = views("pre:F side:D main:D post:D aside:D stop:P");
      expect(open(stage, dead)).toContain("stop");
      expect(open(stage, views("main:R stop:P"))).not.toContain("stop");
    },
  );
});

test.each<[string, string, string, string | null]>([
  ["tasks.md#reaction-2", "main:R", "", null],
  ["tasks.md#group-3", "main1:D main2:R", "", null],
  ["tasks.md#reaction-3", "main1:F main2:R", "Sibling Task Failed", "main1"],
  ["tasks.md#reaction-3", "lead:D main:R", "Leader Task Dead", "lead"],
  ["tasks.md#reaction-3", "lead:F main:R", "Sibling Task Failed", "lead"],
  ["tasks.md#reaction-3", "lead:D main1:F main2:R", "Leader Task Dead", "lead"],
  ["tasks.md#reaction-3", "main2:F5 main1:F4 main3:R", "Sibling Task Failed", "main1"],
  ["tasks.md#reaction-3", "main2:F4 main1:F4 main3:R", "Sibling Task Failed", "main1"],
  ["tasks.md#reaction-4", "main:D side:R", "Main Tasks Dead", null],
  ["tasks.md#reaction-4", "main:D side:P", "Main Tasks Dead", null],
  ["tasks.md#reaction-4", "main:D side:R post:R", "", null],
  ["tasks.md#reaction-4", "main:D side:D aside:R", "Main Tasks Dead", null],
  ["tasks.md#reaction-4", "main1:F main2:D", "", null],
  ["tasks.md#reaction-1", "main:R stop:F", "", null],
  ["tasks.md#reaction-1", "main:D stop:R", "", null],
])("%s: of %s follows: %s (%s)", (_, tasks, type, name) => {
  expect(reactionOf(views(tasks))).toEqual(type === "" ? null : { type, task: name });
});

test.each<[string, string, string[]]>([
  ["tasks.md#order-3", "lead:R main:R side:R stop:P", ["lead"]],
  ["tasks.md#order-4", "lead:D main:R pre:R side:R", ["main", "pre"]],
  ["tasks.md#order-5", "lead:D main:D side:R aside:R", ["side", "aside"]],
  ["tasks.md#order-4", "main:R side:R", ["main"]],
])("%s: of %s it is the turn of %j", (_, tasks, names) => {
  const all = views(tasks);
  const live = all.filter(({ task, state }) => task.hook !== "poststop" && state !== "dead");
  expect(live.filter(({ task }) => hasTurn(task, all)).map(({ task }) => task.name)).toEqual(names);
});

test.each<[string, string, string]>([
  ["tasks.md#alloc-case-1, tasks.md#alloc-status-5", "main:P", "pending"],
  ["tasks.md#alloc-case-2", "main1:P main2:P", "pending"],
  ["tasks.md#alloc-case-3, tasks.md#alloc-status-4", "main1:R main2:P", "running"],
  ["tasks.md#alloc-case-4", "pre:D main:P", "pending"],
  ["tasks.md#alloc-case-5", "pre:D main:R", "running"],
  ["tasks.md#alloc-case-6, tasks.md#alloc-status-6", "main1:D main2:D", "complete"],
  ["tasks.md#alloc-case-7, tasks.md#alloc-status-3", "main1:F main2:R", "failed"],
  ["tasks.md#alloc-case-8", "main1:F main2:P", "failed"],
  ["tasks.md#alloc-case-9", "main1:F main2:D", "failed"],
])("%s: the client status of %s is %s", (_, tasks, status) => {
  expect(clientStatus(views(tasks))).toBe(status);
});
