import { describe, expect, test } from "vitest";
import {
  gateIsOpen,
  hasTurn,
  reachedStage,
  reactionOf,
  type Stage,
  type TaskView,
} from "../../../src/core/allocation/lifecycle.ts";
import { clientStatus } from "../../../src/core/allocation/status.ts";
import { groupOf } from "../../../src/core/spec.ts";
import { RunSpec } from "../../../src/schema/run.ts";

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

// nomad.md §7.1, the coordinator's table
test.each<[Stage, string, Stage]>([
  ["prestart", "main:P", "main"],
  ["prestart", "pre:P main:P", "prestart"],
  ["prestart", "pre:R main:P", "prestart"],
  ["prestart", "pre:F main:P", "prestart"],
  ["prestart", "pre:D main:P", "main"],
  ["prestart", "pre:D side:P main:P", "prestart"],
  ["prestart", "pre:D side:R main:P", "main"],
  ["main", "side:P main:P", "main"],
  ["main", "main1:R main2:P", "main"],
  ["main", "main1:R main2:D post:P", "poststart"],
  ["poststart", "main:R post:R", "poststart"],
  ["poststart", "main:R post:F", "running"],
  ["prestart", "pre:D main:R", "running"],
  ["running", "main:P", "running"],
  ["restarting", "main:R pre:P", "restarting"],
  ["restarting", "main:P pre:P stop:D", "prestart"],
])("from %s with %s the group reaches %s", (stage, tasks, reached) => {
  expect(reachedStage(stage, views(tasks))).toBe(reached);
});

describe("open gates (nomad.md §7.1)", () => {
  const tasks = views("pre:P side:P main:P post:P aside:P stop:P");
  const open = (stage: Stage, all = tasks) =>
    all.filter(({ task }) => gateIsOpen(task, stage, all)).map(({ task }) => task.name);

  test.each<[Stage, string[]]>([
    ["restarting", []],
    ["prestart", ["pre", "side"]],
    ["main", ["side", "main"]],
    ["poststart", ["side", "main", "post", "aside"]],
    ["running", ["side", "main", "aside"]],
  ])("%s: %j", (stage, names) => {
    expect(open(stage)).toEqual(names);
  });

  test.each<Stage>(["prestart", "running"])("poststop: when all others are dead, from %s too", (stage) => {
    const dead = views("pre:F side:D main:D post:D aside:D stop:P");
    expect(open(stage, dead)).toContain("stop");
    expect(open(stage, views("main:R stop:P"))).not.toContain("stop");
  });
});

// nomad.md §1.7
test.each<[string, string, string | null]>([
  ["main:R", "", null],
  ["main1:D main2:R", "", null],
  ["main1:F main2:R", "Sibling Task Failed", "main1"],
  ["lead:D main:R", "Leader Task Dead", "lead"],
  ["lead:F main:R", "Sibling Task Failed", "lead"],
  ["lead:D main1:F main2:R", "Leader Task Dead", "lead"],
  ["main2:F5 main1:F4 main3:R", "Sibling Task Failed", "main1"],
  ["main2:F4 main1:F4 main3:R", "Sibling Task Failed", "main1"],
  ["main:D side:R", "Main Tasks Dead", null],
  ["main:D side:P", "Main Tasks Dead", null],
  ["main:D side:R post:R", "", null],
  ["main:D side:D aside:R", "Main Tasks Dead", null],
  ["main1:F main2:D", "", null],
  ["main:R stop:F", "", null],
  ["main:D stop:R", "", null],
])("of %s follows: %s (%s)", (tasks, type, name) => {
  expect(reactionOf(views(tasks))).toEqual(type === "" ? null : { type, task: name });
});

// nomad.md §1.8
test.each<[string, string[]]>([
  ["lead:R main:R side:R stop:P", ["lead"]],
  ["lead:D main:R pre:R side:R", ["main", "pre"]],
  ["lead:D main:D side:R aside:R", ["side", "aside"]],
  ["main:R side:R", ["main"]],
])("of %s it is the turn of %j", (tasks, names) => {
  const all = views(tasks);
  const live = all.filter(({ task, state }) => task.hook !== "poststop" && state !== "dead");
  expect(live.filter(({ task }) => hasTurn(task, all)).map(({ task }) => task.name)).toEqual(names);
});

// nomad.md §2.1, truth table
test.each<[string, string]>([
  ["main:P", "pending"],
  ["main1:P main2:P", "pending"],
  ["main1:R main2:P", "running"],
  ["pre:D main:P", "pending"],
  ["pre:D main:R", "running"],
  ["main1:D main2:D", "complete"],
  ["main1:F main2:R", "failed"],
  ["main1:F main2:P", "failed"],
  ["main1:F main2:D", "failed"],
])("the client status of %s is %s", (tasks, status) => {
  expect(clientStatus(views(tasks))).toBe(status);
});
