import { expect, test } from "vitest";
import { longTasksOf, timesOf } from "../../bench/page/acts.ts";
import type { Seen, Took } from "../../bench/page/probe.ts";

// What the bench of the page says of an interaction (budgets.md#the-dashboard-under-load).

const seen = (parts: Partial<Seen>): Seen => ({
  now: 0,
  interactions: [],
  longTasks: [],
  frames: [],
  draws: [],
  ...parts,
});
const took = (at: number, ms: number): Took => ({ at, ms });

test("a report that arrives after the next act counts for the act in whose time it began", () => {
  const done = [
    { kind: "first", from: 100 },
    { kind: "second", from: 400 },
  ];
  const early = seen({ interactions: [took(110, 20), took(410, 16)] });
  const late = seen({ interactions: [took(110, 350)] });
  expect([...timesOf(done, [early, late])]).toEqual([
    ["first", [350]],
    ["second", [16]],
  ]);
});

test("scrolling counts by its longest frame, and what is no act counts for nothing", () => {
  const done = [{ kind: "scroll", isScroll: true, from: 100 }, { from: 300 }];
  const all = seen({
    frames: [took(50, 90), took(120, 17), took(140, 33), took(310, 80)],
    interactions: [took(120, 500)],
    longTasks: [took(90, 60), took(150, 70), took(350, 900)],
  });
  expect([...timesOf(done, [all])]).toEqual([["scroll", [33]]]);
  expect(longTasksOf(done, [all])).toEqual([70]);
});

test("an act of which nothing was measured is a fault of the bench, and not a fast one", () => {
  const done = [{ kind: "next row (j)", from: 100 }];
  expect(() => timesOf(done, [seen({ interactions: [took(90, 20)] })])).toThrow(/next row/);
});
