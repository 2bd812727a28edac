import { expect, test } from "vitest";
import { earliest } from "../../src/shared/machine.ts";

test.each([
  [[], undefined],
  [[undefined], undefined],
  [[5], 5],
  [[undefined, 7, undefined, 3, 9], 3],
  [[0, 1], 0],
  [[-1, undefined], -1],
])("the earliest of %j is %s: what is absent never comes (shell.md#machine)", (instants, first) => {
  expect(earliest(...instants)).toBe(first);
});
