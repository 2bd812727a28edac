import { expect, test } from "vitest";
import { readyTask } from "../../agent/core/attempts/task-environment.ts";
import { tasksOf } from "../../src/core/spec.ts";
import { RunSpec } from "../../src/schema/run/run.ts";
import { MAX_ARRAY_RUNS, MAX_MATRIX_AXES } from "../../src/shared/limits.ts";

// What a run of an array is told about its place there (api.md#arrays, tasks.md#env-12).

const AROUND = {
  id: "a-1/main/1.1",
  base: {},
  dirs: { alloc: "/a", local: "/l", secrets: "/s", tmp: "/t" },
  node: {},
  instance: undefined,
  identity: undefined,
};

/** The environment of the command of a run, on its host. */
function environmentOf(more: object): Record<string, string> {
  const [task] = tasksOf(RunSpec.parse({ argv: ["true"], ...more }));
  if (task === undefined) throw new Error("a run has a task");
  return readyTask(task, AROUND).env;
}

const array = { id: "a", index: 1, size: 3 };

test("the index, the size and the id of the array are variables", () => {
  expect(environmentOf({ array })).toMatchObject({
    DROVER_ARRAY_ID: "a",
    DROVER_ARRAY_INDEX: "1",
    DROVER_ARRAY_SIZE: "3",
  });
});

test("so is each value of a matrix, as it was written, with its axis in capitals", () => {
  const matrix = { os: "a b", Node_2: "${HOME} $x" };
  expect(environmentOf({ array: { ...array, matrix } })).toMatchObject({
    DROVER_MATRIX_OS: "a b",
    DROVER_MATRIX_NODE_2: "${HOME} $x",
  });
});

test("every task of a group has them, and `env` is stronger", () => {
  const tasks = [{ name: "main", argv: ["true"], env: { DROVER_ARRAY_SIZE: "9" } }];
  const env = environmentOf({ argv: undefined, tasks, array });
  expect(env).toMatchObject({ DROVER_ARRAY_INDEX: "1", DROVER_ARRAY_SIZE: "9" });
});

test("a run without an array has none of them", () => {
  expect(Object.keys(environmentOf({})).filter((name) => /ARRAY|MATRIX/.test(name))).toEqual([]);
});

test("arrays are taken up to their bounds", () => {
  const matrix = Object.fromEntries(Array.from({ length: MAX_MATRIX_AXES }, (_, at) => [`a${at}`, "x"]));
  const largest = { id: "a", index: MAX_ARRAY_RUNS - 1, size: MAX_ARRAY_RUNS, matrix };
  expect(RunSpec.safeParse({ argv: ["true"], array: largest }).success).toBe(true);
  const beyond = { ...largest, matrix: { ...matrix, b: "x" } };
  expect(RunSpec.safeParse({ argv: ["true"], array: beyond }).success).toBe(false);
});
