import { expect, test } from "vitest";
import { resourcesOf, resourcesOfType, tasksOf } from "../../src/core/spec.ts";
import { InstanceType } from "../../src/schema/pool.ts";
import { specOf } from "./support/allocation.ts";

test("the short form is one task called main (api.md, Submitting)", () => {
  const spec = specOf({ env: { CI: "1" }, meta: { a: "b" }, killTimeout: "20s", killSignal: "SIGINT" });
  expect(tasksOf(spec)).toEqual([
    {
      name: "main",
      argv: ["make", "test"],
      env: { CI: "1" },
      meta: { a: "b" },
      resources: { vcpus: 1, memoryBytes: 256 * 2 ** 20, diskBytes: 0, gpus: 0 },
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

test("what a run needs, and a machine has, is in whole numbers", () => {
  const resources = { vcpus: 2, memory: "1.5GiB", disk: 7, gpus: 1 };
  const whole = { vcpus: 2, memoryBytes: 1_610_612_736, diskBytes: 7, gpus: 1 };
  expect(resourcesOf(specOf({ resources }))).toEqual(whole);
  expect(resourcesOfType(InstanceType.parse(resources))).toEqual(whole);
});
