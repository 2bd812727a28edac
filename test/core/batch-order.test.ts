import { describe, expect, test } from "vitest";
import { batchOrder, type Ordered } from "../../src/shared/after/batch-order.ts";
import type { After } from "../../src/shared/after/entries.ts";
import { MAX_BATCH_RUNS } from "../../src/shared/limits.ts";

// The runs of one submission may follow each other, but not in a circle (api.md#after).

const one = (id: string, after: After[] = [], array?: string): Ordered => ({
  id,
  pool: "default",
  after,
  array: array === undefined ? undefined : { id: array },
});

describe("the runs of a submission", () => {
  test.each<[string, Ordered[], number[][]]>([
    ["that follow nobody are stored together", [one("a"), one("b")], [[0, 1]]],
    ["are stored after those that they follow", [one("b", ["a"]), one("a")], [[1], [0]]],
    ["may follow runs of elsewhere", [one("a", ["x", { array: "y" }])], [[0]]],
    [
      "of a chain are stored one after the other",
      [one("a"), one("b", [{ run: "a", on: "any" }]), one("c", ["b"])],
      [[0], [1], [2]],
    ],
    [
      "may follow an array of it",
      [one("join", [{ array: "p" }]), one("p-0", [], "p"), one("p-1", ["p-0"], "p")],
      [[1], [2], [0]],
    ],
    [
      "do not follow an array of another pool of that name",
      [{ ...one("a", [{ array: "p" }]), pool: "other" }, one("p-0", [], "p")],
      [[0, 1]],
    ],
  ])("%s", (_what, runs, waves) => {
    const order = batchOrder(runs);
    if (!("waves" in order)) throw new Error(`a circle: ${order.circle}`);
    const rank = (wave: number[][]) => runs.map((_, index) => wave.findIndex((of) => of.includes(index)));
    expect(rank(order.waves)).toEqual(rank(waves));
  });

  test.each<[string, Ordered[], string[]]>([
    ["itself", [one("a", ["a"])], ["a", "a"]],
    ["each other", [one("a", ["b"]), one("b", ["a"])], ["a", "b", "a"]],
    [
      "each other in a longer circle, of which others are no part",
      [one("z", ["a"]), one("a", [{ run: "b", on: "any" }]), one("b", ["c"]), one("c", ["a", "y"]), one("y")],
      ["a", "b", "c", "a"],
    ],
    ["its own array", [one("p-0", [{ array: "p" }], "p")], ["p-0", "array p", "p-0"]],
  ])("are refused if one follows %s, and the circle is spelled out", (_what, runs, circle) => {
    expect(batchOrder(runs)).toEqual({ circle });
  });

  test("can be as many as a batch has, in one chain", () => {
    const chain = Array.from({ length: MAX_BATCH_RUNS }, (_, i) =>
      one(`r${i}`, i === 0 ? [] : [`r${i - 1}`]),
    );
    expect(batchOrder([...chain].reverse())).toMatchObject({ waves: { length: MAX_BATCH_RUNS } });
  });

  test("can all follow an array of half of them, in as many steps as there are runs", () => {
    const half = MAX_BATCH_RUNS / 2;
    const members = Array.from({ length: half }, (_, i) => one(`p-${i}`, [], "p"));
    const followers = Array.from({ length: half }, (_, i) => one(`f-${i}`, [{ array: "p" }]));
    expect(batchOrder([...followers, ...members])).toMatchObject({
      waves: [{ length: half }, { length: half }],
    });
  });
});
