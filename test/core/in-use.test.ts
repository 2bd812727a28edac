import { expect, test } from "vitest";
import { filledCells, inUse } from "../../src/shared/cloud/in-use.ts";

// How full a machine is (pool.md#fit).

test.each([
  [0, 0],
  [0.001, 1],
  [1, 1],
  [2, 2],
  [3.9, 3],
  [4, 4],
  [5, 4],
])("of 4, %f fill %i of 4 cells: what is not empty shows, and full is full (pool.md#fit)", (used, cells) => {
  expect(filledCells({ used, of: 4 }, 4)).toBe(cells);
});

test("what nobody has said, and what is not measured yet, is not shown as empty (pool.md#fit)", () => {
  const resources = { vcpus: 4, memoryBytes: 2 ** 33, gpus: 0 };
  const none = { vcpus: 0, memoryBytes: 0, gpus: 0 };
  expect(inUse({ resources })).toEqual([]);
  expect(inUse({ resources: none, used: none })).toEqual([]);
  expect(inUse({ resources, used: none }).map(({ usedText, ofText }) => [usedText, ofText])).toEqual([
    ["0", "4"],
    ["0B", "8GiB"],
  ]);
});

test("GPUs are shown where there are any, also while none of them can be used (devices.md#report)", () => {
  const machine = { vcpus: 4, memoryBytes: 2 ** 33 };
  const use = (used: number, of: number) =>
    inUse({ resources: { ...machine, gpus: of }, used: { ...machine, gpus: used } })
      .filter(({ name }) => name === "GPUs")
      .map(({ usedText, ofText }) => `${usedText} of ${ofText}`);
  expect([use(0, 0), use(1, 2), use(1, 0)]).toEqual([[], ["1 of 2"], ["1 of 0"]]);
});
