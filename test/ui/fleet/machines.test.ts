import { describe, expect, test } from "vitest";
import type { GoneWorker, ListedWorker } from "../../../src/generated/api.ts";
import { costWithin, lifeWithin, machinesOf } from "../../../ui/fleet/past/machine.ts";
import { sumOf, typesOf } from "../../../ui/fleet/past/types.ts";

const HOUR = 3_600_000;
const SPAN = { fromMs: 10 * HOUR, toMs: 20 * HOUR };
const at = (hour: number) => new Date(hour * HOUR).toISOString();
const common = { pool: "p", project: null, idleBehavior: "run" as const, providerType: null, own: false };
const more = {
  instance: null,
  address: null,
  reason: "",
  resources: { vcpus: 1, memoryBytes: 1, diskBytes: 1, gpus: 0 },
};
const live = (id: string, asked: number, rest: Partial<ListedWorker> = {}): ListedWorker => ({
  ...common,
  ...more,
  id,
  state: "idle",
  instanceType: "small",
  price: 2,
  runs: [],
  askedAt: at(asked),
  readyAt: at(asked),
  idleSince: null,
  lastRun: null,
  ...rest,
});
const gone = (id: string, asked: number, end: number, rest: Partial<GoneWorker> = {}): GoneWorker => ({
  ...common,
  ...more,
  id,
  state: "gone",
  instanceType: "small",
  price: 2,
  askedAt: at(asked),
  readyAt: at(asked),
  endingAt: null,
  goneAt: at(end),
  cost: 2 * (end - asked),
  ...rest,
});
const machines = (lives: ListedWorker[], ends: GoneWorker[], endings: [string, number][] = []) =>
  machinesOf(lives, ends, new Map(endings), SPAN);

describe("the machines of a time (ui.md#fleet)", () => {
  test("are those of both lists that were there then, in the order of their requests", () => {
    const found = machines(
      [live("b", 15), live("a", 1), live("later", 20)],
      [gone("c", 2, 11), gone("before", 1, 9), gone("b", 15, 16)],
    );
    expect(found.map(({ id, goneMs }) => [id, goneMs])).toEqual([
      ["a", null],
      ["c", 11 * HOUR],
      ["b", 16 * HOUR],
    ]);
  });

  test("a machine that is still there has begun to end only if it is ending", () => {
    const found = machines(
      [live("a", 1, { state: "shutdown" }), live("b", 2)],
      [],
      [
        ["a", 5],
        ["b", 6],
      ],
    );
    expect(found.map(({ endingMs }) => endingMs)).toEqual([5, null]);
  });

  test.each<[string, ReturnType<typeof machines>, number, number | null]>([
    ["there all the time", machines([live("a", 1)], []), 10, 20],
    ["asked for within it", machines([live("a", 18)], []), 2, 4],
    ["there, of unknown price", machines([live("a", 18, { price: null })], []), 2, null],
    ["of somebody's own", machines([live("a", 18, { price: 0 })], []), 2, 0],
    ["gone, wholly within it: as the API says", machines([], [gone("a", 11, 12, { cost: 1.5 })]), 1, 1.5],
    ["gone, a quarter of its life within it", machines([], [gone("a", 7, 11, { cost: 8 })]), 1, 2],
    ["gone, of unknown price", machines([], [gone("a", 11, 12, { cost: null })]), 1, null],
    ["gone at once", machines([], [gone("a", 11, 11, { cost: 0 })]), 0, 0],
  ])("a machine %s: hours and money within the time", (_, [machine], hours, cost) => {
    expect(machine && [lifeWithin(machine, SPAN) / HOUR, costWithin(machine, SPAN)]).toEqual([hours, cost]);
  });

  test("totals of a type: machines, hours, money, what has no price, and who is there now", () => {
    const all = machines(
      [
        live("a", 15, { state: "running" }),
        live("b", 18),
        live("big", 12, { instanceType: "big", price: 9 }),
      ],
      [gone("c", 11, 12), gone("d", 11, 13, { cost: null })],
    );
    const [big, small] = typesOf(all, SPAN);
    expect(big).toMatchObject({ type: "big", machines: 1, cost: 72, now: { idle: 1 }, most: 1 });
    expect(small).toMatchObject({
      type: "small",
      machines: 4,
      lifeMs: 10 * HOUR,
      cost: 16,
      unpriced: 1,
      now: { running: 1, idle: 1 },
      most: 2,
    });
    expect(small?.steps.map(({ atMs, count }) => [atMs / HOUR, count])).toEqual([
      [11, 2],
      [12, 1],
      [13, 0],
      [15, 1],
      [18, 2],
    ]);
    expect(sumOf("all", all, SPAN)).toMatchObject({ machines: 5, cost: 88, unpriced: 1 });
  });
});
