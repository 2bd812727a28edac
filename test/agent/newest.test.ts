import { expect, test } from "vitest";
import { Newest } from "../../agent/tunnels/newest.ts";

// The newest size of a terminal is applied last, however long each takes (tunnels.md#terminal).

/** Values are applied when the test says so. */
function applier() {
  const begun: string[] = [];
  const applied: string[] = [];
  const waiting: (() => void)[] = [];
  const newest = new Newest<string>(async (value) => {
    begun.push(value);
    await new Promise<void>((resolve) => waiting.push(resolve));
    applied.push(value);
  });
  return { begun, applied, newest, finishOne: () => waiting.shift()?.() };
}

test("a value waits for the one before it, and is applied last (tunnels.md#terminal)", async () => {
  const { begun, applied, newest, finishOne } = applier();
  const set = [newest.set("11x40"), newest.set("11x41")];
  expect(begun).toEqual(["11x40"]);
  finishOne();
  await expect.poll(() => begun).toEqual(["11x40", "11x41"]);
  finishOne();
  await Promise.all(set);
  expect(applied).toEqual(["11x40", "11x41"]);
});

test("of the values that come meanwhile only the newest is applied (tunnels.md#terminal)", async () => {
  const { begun, newest, finishOne } = applier();
  void newest.set("1");
  for (const value of ["2", "3", "4"]) void newest.set(value);
  finishOne();
  await expect.poll(() => begun).toEqual(["1", "4"]);
});

test("a value that comes right after the end of the last is applied, too (tunnels.md#terminal)", async () => {
  const applied: number[] = [];
  const newest = new Newest<number>(async (value) => {
    applied.push(value);
  });
  for (let value = 1; value <= 5; value += 1) await newest.set(value);
  void newest.set(6).then(() => newest.set(7));
  await expect.poll(() => applied).toEqual([1, 2, 3, 4, 5, 6, 7]);
});
