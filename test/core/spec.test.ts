import { expect, test } from "vitest";
import { commandOf, groupOf, resourcesOf, resourcesOfType, tasksOf } from "../../src/core/spec.ts";
import { InstanceType } from "../../src/schema/pool.ts";
import { RunSpec } from "../../src/schema/run/run.ts";
import { specOf } from "./support/allocation.ts";

test("the short form is one task called main (api.md#forms-and-defaults)", () => {
  const spec = specOf({ env: { CI: "1" }, meta: { a: "b" }, killTimeout: "20s", killSignal: "SIGINT" });
  expect(tasksOf(spec)).toEqual([
    {
      name: "main",
      argv: ["make", "test"],
      env: { CI: "1" },
      meta: { a: "b" },
      resources: { vcpus: 1, memoryBytes: 256 * 2 ** 20, diskBytes: 0, gpus: 0 },
      memoryLimitBytes: 0,
      killTimeoutMs: 20_000,
      killSignal: "SIGINT",
    },
  ]);
});

test.each([
  ["named", { dir: "src" }, "src"],
  ["not named", {}, undefined],
])("a directory that is %s stands in the task as it is", (_what, more, dir) => {
  const [task] = tasksOf(specOf(more));
  expect(task?.dir).toBe(dir);
  expect("dir" in (task ?? {})).toBe(dir !== undefined);
});

test.each<[string, object, number, number | undefined]>([
  ["that says nothing of memory has 256MiB set aside, and no limit", {}, 256, 0],
  ["that says how much is held to it", { resources: { memory: "1GiB" } }, 1_024, undefined],
  ["that says the usual amount is held to it, too", { resources: { memory: "256MiB" } }, 256, undefined],
  ["whose task says how much is held to that", { resources: {}, task: { memory: "64MiB" } }, 64, undefined],
])("S1: a run %s", (_what, { task, ...more }: { task?: object }, mebibytes, limit) => {
  const tasks = [{ name: "main", argv: ["true"], resources: task }];
  const spec = task === undefined ? specOf(more) : RunSpec.parse({ ...more, tasks });
  const [first] = tasksOf(spec);
  expect(first?.resources.memoryBytes).toBe(mebibytes * 2 ** 20);
  expect(first?.memoryLimitBytes).toBe(limit);
  expect(resourcesOf(spec).memoryBytes).toBe(mebibytes * 2 ** 20);
});

test("P2: the umask of a task is its own, or that of its run", () => {
  const tasks = [
    { name: "main", argv, umask: "077" },
    { name: "beside", argv },
  ];
  expect(tasksOf(RunSpec.parse({ tasks, umask: "002" })).map(({ umask }) => umask)).toEqual(["077", "002"]);
  for (const umask of ["22", "0o22", "888", 22])
    expect(RunSpec.safeParse({ argv, umask }).success).toBe(false);
});

test("what a run needs, and a machine has, is in whole numbers", () => {
  const resources = { vcpus: 2, memory: "1.5GiB", disk: 7, gpus: 1 };
  const whole = { vcpus: 2, memoryBytes: 1_610_612_736, diskBytes: 7, gpus: 1 };
  expect(resourcesOf(specOf({ resources }))).toEqual(whole);
  expect(resourcesOfType(InstanceType.parse(resources))).toEqual(whole);
});

const argv = ["true"];

// tasks.md#env-note-3
test("what a task of the long form does not say, it takes from its group (api.md#forms-and-defaults)", () => {
  const spec = RunSpec.parse({
    env: { A: "group", B: "group" },
    meta: { m: "group" },
    dir: "src",
    killSignal: "SIGINT",
    resources: { vcpus: 2, memory: "1MiB" },
    tasks: [
      { name: "a", argv, env: { B: "own" }, meta: { m: "own" }, resources: { vcpus: 3 }, killTimeout: "9s" },
      { name: "b", argv, killSignal: "SIGHUP", dir: "other" },
    ],
  });
  const memoryBytes = 2 ** 20;
  expect(tasksOf(spec)).toMatchObject([
    { name: "a", env: { A: "group", B: "own" }, meta: { m: "own" }, dir: "src", killSignal: "SIGINT" },
    { name: "b", env: { A: "group", B: "group" }, meta: { m: "group" }, dir: "other", killSignal: "SIGHUP" },
  ]);
  expect(tasksOf(spec).map((task) => task.killTimeoutMs)).toEqual([9_000, 5_000]);
  expect(tasksOf(spec).map((task) => task.resources)).toMatchObject([
    { vcpus: 3, memoryBytes },
    { vcpus: 2, memoryBytes },
  ]);
});

test("its user and its artifacts are its own, and go to the host as they are", () => {
  const artifacts = [{ url: "https://a.example/${meta.v}.tar", sha256: "0".repeat(64), to: "in/" }];
  const spec = RunSpec.parse({
    tasks: [
      { name: "a", argv, user: "ci", artifacts },
      { name: "b", argv },
    ],
  });
  const [a, b] = tasksOf(spec);
  expect(a).toMatchObject({ user: "ci", artifacts });
  for (const field of ["user", "artifacts"]) expect(b).not.toHaveProperty(field);
});

test("a group needs what its fullest moment needs (tasks.md#stages)", () => {
  const task = (name: string, vcpus: number, hook?: string, sidecar = false) => ({
    name,
    argv,
    resources: { vcpus, memory: 0 },
    ...(hook === undefined ? {} : { lifecycle: { hook, sidecar } }),
  });
  const needs = (...tasks: object[]) => resourcesOf(RunSpec.parse({ tasks })).vcpus;
  expect(needs(task("m", 1), task("n", 2))).toBe(3);
  expect(needs(task("m", 1), task("pre", 5, "prestart"))).toBe(5);
  expect(needs(task("m", 1), task("pre", 5, "prestart"), task("side", 2, "prestart", true))).toBe(7);
  expect(needs(task("m", 4), task("side", 2, "prestart", true), task("up", 3, "poststart"))).toBe(9);
  expect(needs(task("m", 1), task("stop", 6, "poststop"))).toBe(6);
  expect(needs(task("m", 0.1), task("n", 0.2))).toBe(0.3);
});

test("a spec that was stored before there were groups reads as it did", () => {
  const { type: _type, ...stored } = { type: undefined, ...specOf() };
  expect(groupOf(stored)).toMatchObject({
    lone: true,
    short: true,
    shutdownDelayMs: 0,
    reschedule: { attempts: 0, unlimited: false },
    tasks: [
      { name: "main", hook: "main", sidecar: false, leader: false, restart: { attempts: 0, mode: "fail" } },
    ],
  });
});

test("lists show the command of the leader, or of the first main task", () => {
  const pre = { name: "p", argv: ["pre"], lifecycle: { hook: "prestart" as const } };
  const tasks = [pre, { name: "a", argv: ["one", "1"] }, { name: "b", argv: ["two"] }];
  expect(commandOf(RunSpec.parse({ tasks }))).toBe("one 1");
  expect(
    commandOf(RunSpec.parse({ tasks: tasks.map((one) => ({ ...one, leader: one.name === "b" })) })),
  ).toBe("two");
});

test("the script of a task that is only played says everything, in milliseconds", () => {
  const played = (fake?: object) =>
    tasksOf(RunSpec.parse({ tasks: [{ name: "m", argv: ["x"], driver: "fake", fake }] }))[0]?.fake;
  const nothing = {
    runForMs: 0,
    blockStartMs: 0,
    exitCode: 0,
    ignoreSignals: false,
    dieWithAgent: false,
    output: [],
  };
  expect(played()).toEqual(nothing);
  expect(played({ runFor: "2s", blockStart: "1m", signal: "SIGHUP", output: ["a"] })).toEqual({
    ...nothing,
    runForMs: 2_000,
    blockStartMs: 60_000,
    signal: "SIGHUP",
    output: ["a"],
  });
  expect(played({ startError: { text: "no" } })?.startError).toEqual({ text: "no", recoverable: false });
  const startError = { text: "no", code: "command_not_found", recoverable: true };
  expect(played({ startError, oomKilled: true })).toEqual({ ...nothing, startError, oomKilled: true });
});

test("N9: every task of a run that says `compat: nomad` is told Nomad's names, in either form", () => {
  const both = [
    specOf({ compat: "nomad" }),
    RunSpec.parse({ compat: "nomad", tasks: [{ name: "a", argv }] }),
  ];
  expect(both.flatMap(tasksOf).map(({ compat }) => compat)).toEqual(["nomad", "nomad"]);
  expect(tasksOf(specOf()).map((task) => "compat" in task)).toEqual([false]);
  expect(RunSpec.safeParse({ argv, compat: "arvados" }).success).toBe(false);
});
