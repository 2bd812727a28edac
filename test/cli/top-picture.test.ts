import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Canvas, idsOf, picture } from "../../cli/top/picture.ts";
import { sharesOf } from "../../cli/top/shares.ts";
import { lookOf, NOW, pending, queued, running, worker } from "./support/pool-look.ts";

// What `drover top` draws, on screens of any size.

const PLAIN: Canvas["emphasis"] = { bold: (text) => text, inverse: (text) => text, red: (text) => text };
const canvas = (columns: number, rows: number): Canvas => ({ columns, rows, emphasis: PLAIN });
const ENDLESS = canvas(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);

/** A pool with so many of each. */
const busy = (runs: number, waiting: number, machines: number) => {
  const names = (word: string, count: number) =>
    Array.from({ length: count }, (_, at) => `${word}-${at + 1}`);
  return lookOf({
    running: names("run", runs).map(running),
    pending: names("wait", waiting).map((id) => pending(id)),
    workers: names("w", machines).map((id) => worker(id, { state: "running", runs: ["run-1"] })),
    queue: names("wait", waiting).map((id, at) => queued(id, at + 1)),
  });
};

test("it shows the pool, what runs, what waits and why, and the machines (cli.md#top)", () => {
  const look = lookOf({
    running: [running("build-17")],
    pending: [pending("build-18", "w-1"), pending("build-19")],
    workers: [
      worker("w-1", {
        state: "running",
        runs: ["build-17", "build-18"],
        resources: { vcpus: 4, memoryBytes: 2 ** 33, diskBytes: 1, gpus: 0 },
        used: { vcpus: 1.5, memoryBytes: 2 ** 28, diskBytes: 0, gpus: 0 },
        reason: "it has 2 runs",
      }),
    ],
    queue: [queued("build-19", 1)],
  });
  expect(picture(look, { now: NOW + 5_000 }, ENDLESS)).toEqual([
    "Pool      default: 1 running, 2 pending",
    "Queue     1 without a place, the oldest for 10m5s: max_instances: no machine has capacity (1 running)",
    `Machines  1 running; at most ${look.pool.config.maxInstances}`,
    `Costs     0.050 an hour, at most 0.20 with ${look.pool.config.maxInstances}`,
    "",
    "RUNNING (1)  FOR    WORKER  COMMAND",
    "  build-17   10m5s  w-1     make test",
    "",
    "PENDING (2)  AGE    PLACE  WHY",
    "  build-18   10m5s         placed on w-1",
    "  build-19   10m5s  1      max_instances: no machine has capacity (1 running)",
    "",
    "WORKERS (1)  STATE    RUNS  CPUS        MEMORY            PRICE  AGE    WHY",
    "  w-1        running  2     ██░░ 1.5/4  █░░░ 256MiB/8GiB  0.050  1h30m  it has 2 runs",
  ]);
});

test("a pool with GPUs has a column for them (devices.md#report)", () => {
  const room = { vcpus: 4, memoryBytes: 2 ** 33, diskBytes: 1 };
  const look = lookOf({
    workers: [
      worker("w-1", { resources: { ...room, gpus: 2 }, used: { ...room, gpus: 1 } }),
      worker("w-2", { resources: { ...room, gpus: 0 }, used: { ...room, gpus: 0 } }),
    ],
  });
  const lines = picture(look, { now: NOW }, ENDLESS).filter((line) => /WORKERS|w-\d/.test(line));
  expect(lines).toEqual([
    expect.stringMatching(/ MEMORY +GPUS +PRICE /),
    expect.stringMatching(/8GiB +██░░ 1\/2 +\d/),
    expect.stringMatching(/8GiB {4,}\d/),
  ]);
});

test.each([
  ["default", "No runs. To submit one: drover run -- uname -a"],
  ["gpu", "No runs. To submit one: drover run --pool gpu -- uname -a"],
])("without runs it says what to type: %s (cli.md#top)", (name, hint) => {
  const lines = picture(lookOf({ pool: { name } }), { now: NOW }, ENDLESS);
  expect(lines).toContain(hint);
  expect(lines.join("\n")).not.toMatch(/RUNNING|PENDING|WORKERS/);
});

test("what somebody must look at is red, and stands above machines and costs (cli.md#top)", () => {
  const hold = {
    scope: "all",
    cause: "quota",
    until: null,
    trying: false,
    tries: 3,
    reason: "no quota left",
  } as const;
  const look = lookOf({ pool: { holdOffs: [hold], cloudError: "the cloud does not answer" } });
  const red = (text: string) => `<${text}>`;
  const lines = picture(look, { now: NOW }, { ...ENDLESS, emphasis: { ...PLAIN, red } });
  expect(lines.slice(2, 4)).toEqual([
    "<Trouble >  the cloud does not answer",
    "<Held off>  no machine is asked for (all), until the pool is applied again: no quota left",
  ]);
});

test("the oldest run has no reason if it may not be among those that were asked for (cli.md#top)", () => {
  const look = lookOf({
    pending: [pending("a"), pending("b")],
    queue: [queued("a", 1)],
    pool: { queue: { depth: 2, oldestAgeMs: 900_000 } },
  });
  expect(picture(look, { now: NOW }, ENDLESS)[1]).toBe("Queue     2 without a place, the oldest for 15m");
});

describe("on a screen of any size", () => {
  test.each<[columns: number, rows: number, headings: string[]]>([
    [60, 10, ["RUNNING (1 of 40)", "PENDING (1 of 40)", "WORKERS (1 of 40)"]],
    [80, 23, ["RUNNING (6 of 40)", "PENDING (5 of 40)", "WORKERS (5 of 40)"]],
    [200, 200, ["RUNNING (40)", "PENDING (40)", "WORKERS (40)"]],
  ])("%i × %i: each list says how much of it is shown (cli.md#top)", (columns, rows, headings) => {
    const lines = picture(busy(40, 40, 40), { now: NOW }, canvas(columns, rows));
    const found = lines.flatMap((line) => /^[A-Z]+ \([^)]*\)/.exec(line)?.[0] ?? []);
    expect(found).toEqual(headings);
  });

  test("it never has more lines or columns than there are, and shows what is chosen (cli.md#top)", () => {
    const size = { columns: fc.integer({ min: 1, max: 150 }), rows: fc.integer({ min: 0, max: 60 }) };
    const count = fc.integer({ min: 0, max: 50 });
    const pool = fc.record({ ...size, runs: count, waiting: count, machines: count, pick: fc.nat() });
    fc.assert(
      fc.property(pool, ({ columns, rows, runs, waiting, machines, pick }) => {
        const look = busy(runs, waiting, machines);
        const ids = idsOf(look);
        const chosen = ids[pick % Math.max(1, ids.length)];
        const lines = picture(look, { now: NOW, chosen }, canvas(columns, rows));
        expect(lines.length).toBeLessThanOrEqual(rows);
        expect(Math.max(0, ...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
        if (rows < 8 || columns < 30 || chosen === undefined) return;
        expect(lines.filter((line) => line.startsWith(">")).map((line) => line.split(/\s+/)[1])).toEqual([
          chosen,
        ]);
      }),
    );
  });

  test("an explanation takes the place of the lists, in whole words (cli.md#top)", () => {
    const shown = { now: NOW, chosen: "wait-1", detail: ["Why  it waits for a machine that is booting"] };
    const lines = picture(busy(1, 1, 1), shown, canvas(20, 23));
    expect(lines.slice(4)).toEqual(["Why  it waits for a", "machine that is", "booting"]);
    const short = picture(busy(1, 1, 1), shown, canvas(20, 3));
    expect(short.at(-1)).toBe("…");
    expect(short).toHaveLength(3);
  });
});

test("text of others cannot act on the terminal (cli.md#top)", () => {
  const hostile = "\u001b]0;title\u0007\u202e";
  const look = lookOf({
    running: [{ ...running("a"), command: hostile }],
    workers: [worker("w-1", { reason: hostile })],
    pool: { cloudError: hostile },
  });
  const shown = [
    picture(look, { now: NOW }, canvas(80, 24)),
    picture(look, { now: NOW, detail: [hostile] }, canvas(80, 24)),
  ];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be there
  for (const lines of shown) expect(lines.join("")).not.toMatch(/[\u0000-\u001f\u202e]/);
});

test.each<[lines: number, wants: number[], shares: number[]]>([
  [10, [3, 3, 3], [3, 3, 3]],
  [10, [40, 3, 40], [4, 3, 3]],
  [5, [40, 40, 40], [3, 2, 0]],
  [2, [40, 40], [2, 0]],
  [1, [40], [0]],
  [9, [0, 5], [0, 5]],
  [Number.POSITIVE_INFINITY, [40, 2], [40, 2]],
])("%j lines among lists that want %j: %j (cli.md#top)", (lines, wants, shares) => {
  expect(sharesOf(lines, wants)).toEqual(shares);
});
