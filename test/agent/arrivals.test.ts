import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Arrivals, MAX_HELD_STAMPS, MAX_STAMP_LINES } from "../../agent/exec/arrivals.ts";
import { AttemptStore } from "../../agent/exec/processes/dirs.ts";
import { unpackStamps } from "../../src/shared/time/stamps.ts";

// What an agent notes of the times at which output arrived, and what of it survives the agent
// (host-protocol.md#stamps).

const ID = "build-17/main/1.1";

let dir: string;
let store: AttemptStore;
/** The time since the boot of the machine. */
let now: number;
let arrivals: Arrivals;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "drover-arrivals-"));
  store = new AttemptStore(dir);
  store.claim(ID);
  now = 1_000;
  arrivals = new Arrivals(store, () => now);
  arrivals.begin(ID);
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Looks at `at`, when the streams have these sizes. They were written so long before. */
function look(
  at: number,
  stdout: number,
  stderr = 0,
  agoMs: { stdout?: number; stderr?: number } = {},
): void {
  now = at;
  const grown = (size: number, ago = 0) => ({ size, agoMs: ago });
  arrivals.look(ID, { stdout: grown(stdout, agoMs.stdout), stderr: grown(stderr, agoMs.stderr) }, at);
}

/** The stamps of a part of a stream, with the times since the boot. */
function of(stream: "stdout" | "stderr", from: number, bytes: number, most = 100): number[][] | undefined {
  const packed = arrivals.of(ID, stream, { from, bytes, startedAt: 0, most });
  return packed && unpackStamps(packed).map((one) => [one.bytes, one.ms]);
}

/** The agent dies, and another one begins. */
function restart(): void {
  writeFileSync(store.dirsOf(ID).stdout, "");
  arrivals = new Arrivals(store, () => now);
  arrivals.begin(ID);
}

test("each look stamps what has come since the one before", () => {
  look(1_050, 5);
  look(1_100, 5, 3);
  look(1_150, 9, 3);
  expect([of("stdout", 0, 9), of("stderr", 0, 3)]).toEqual([
    [
      [5, 1_050],
      [4, 1_150],
    ],
    [[3, 1_100]],
  ]);
  expect(of("stdout", 2, 5)).toEqual([
    [3, 1_050],
    [2, 1_150],
  ]);
});

test("what came between two looks has the time of the latest write, and never that of another look", () => {
  look(2_000, 1, 1);
  look(2_050, 2, 2, { stdout: 10, stderr: 30 });
  look(2_100, 3, 3, { stdout: 5_000, stderr: -5_000 });
  expect(of("stdout", 1, 2)?.map(([, ms]) => ms)).toEqual([2_040, 2_050]);
  expect(of("stderr", 1, 2)?.map(([, ms]) => ms)).toEqual([2_020, 2_100]);
});

test("stamps count from the start of the attempt, and are not known without one", () => {
  look(1_500, 4);
  const wanted = { from: 0, bytes: 4, most: 10 };
  expect(arrivals.of(ID, "stdout", { ...wanted, startedAt: 1_400 })).toEqual([4, 100]);
  expect(arrivals.of(ID, "stdout", { ...wanted, startedAt: 1_600 })).toEqual([4, 0]);
  expect(arrivals.of(ID, "stdout", wanted)).toBeUndefined();
});

test.each([
  ["more than has come", 0, 6, 10],
  ["no stamp at all", 0, 5, 1],
])("there are no stamps for %s", (_what, from, bytes, most) => {
  look(1_100, 5);
  expect(of("stdout", from, bytes, most)).toBeUndefined();
});

test("an attempt that is forgotten has none", () => {
  look(1_100, 5);
  arrivals.forget(ID);
  expect(of("stdout", 0, 5)).toBeUndefined();
});

describe("an agent that is killed", () => {
  test("finds its stamps again; what came meanwhile was not looked at", () => {
    look(1_050, 5, 2);
    now = 9_000;
    restart();
    look(9_100, 8, 2, { stdout: 2_000 });
    expect(of("stdout", 0, 5)).toEqual([[5, 1_050]]);
    expect(of("stdout", 5, 3)).toEqual([
      [0, 1_050],
      [3, 7_100],
    ]);
  });

  test("looks again: what comes after that was watched", () => {
    look(1_050, 5);
    now = 9_000;
    restart();
    look(9_100, 5);
    look(9_200, 7);
    const watched = [
      [5, 1_050],
      [2, 9_200],
    ];
    expect(of("stdout", 0, 7)).toEqual(watched);
    restart();
    expect(of("stdout", 0, 7)).toEqual(watched);
  });

  test("and killed before it looks knows when the first one looked last", () => {
    look(1_050, 5);
    restart();
    restart();
    look(9_000, 6);
    expect(of("stdout", 5, 1)).toEqual([
      [0, 1_050],
      [1, 9_000],
    ]);
  });

  test("and killed again knows both times", () => {
    look(1_050, 5);
    restart();
    look(2_000, 6);
    restart();
    look(3_000, 7);
    expect(of("stdout", 0, 7)?.map(([bytes]) => bytes)).toEqual([5, 0, 1, 0, 1]);
  });

  test.each([
    ["half a line", "0 1"],
    ["no numbers", "x y z\n"],
    ["another stream", "2 5 7\n"],
    ["nothing", "\n\n"],
  ])("is not confused by a file with %s", (_what, torn) => {
    look(1_050, 5);
    appendFileSync(store.dirsOf(ID).stamps, torn);
    restart();
    look(2_000, 9);
    look(2_100, 12);
    expect(of("stdout", 0, 5)).toEqual([[5, 1_050]]);
    expect(of("stdout", 9, 3)?.at(-1)).toEqual([3, 2_100]);
    restart();
    expect(of("stdout", 0, 12)?.reduce((sum, [bytes = 0]) => sum + bytes, 0)).toBe(12);
  });

  test("whose file is gone says that nobody looked", () => {
    look(1_050, 5);
    rmSync(store.dirsOf(ID).stamps);
    restart();
    look(2_000, 9);
    const [gap, [bytes] = []] = of("stdout", 0, 9) ?? [];
    expect([gap, bytes]).toEqual([[0, 0], 9]);
  });
});

test("a file that cannot be written costs nothing but what a restart would know (faults-below.md)", () => {
  mkdirSync(store.dirsOf(ID).stamps);
  look(1_050, 5);
  expect(of("stdout", 0, 5)).toEqual([[5, 1_050]]);
});

test.each<[string, number, number, number[][]]>([
  [
    "is stamped anew from there",
    3,
    6,
    [
      [3, 1_050],
      [3, 1_200],
    ],
  ],
  ["to nothing is stamped anew", 0, 4, [[4, 1_200]]],
])("a stream that its task makes shorter %s", (_what, shorter, longer, expected) => {
  look(1_050, 3);
  look(1_060, 5);
  look(1_100, shorter);
  look(1_200, longer);
  expect(of("stdout", 0, longer)).toEqual(expected);
});

test("the stamps in memory and in the file have bounds, and bytes that wait are never without one", () => {
  const count = MAX_STAMP_LINES + 100;
  for (let n = 1; n <= count; n += 1) look(1_000 + n, n);
  const waiting = of("stdout", 0, count, MAX_HELD_STAMPS) ?? [];
  expect(waiting.length).toBeLessThanOrEqual(MAX_HELD_STAMPS);
  expect(waiting.reduce((sum, [bytes = 0]) => sum + bytes, 0)).toBe(count);
  expect(readFileSync(store.dirsOf(ID).stamps, "utf8").split("\n").length).toBeLessThan(MAX_STAMP_LINES);
  restart();
  expect(of("stdout", 0, count, MAX_HELD_STAMPS)?.reduce((sum, [bytes = 0]) => sum + bytes, 0)).toBe(count);
});

test("stored bytes make room for the stamps of those that wait", () => {
  for (let n = 1; n <= MAX_HELD_STAMPS; n += 1) look(1_000 + n, n);
  of("stdout", MAX_HELD_STAMPS - 10, 10);
  look(9_000, MAX_HELD_STAMPS + 1);
  expect(of("stdout", MAX_HELD_STAMPS - 10, 11)?.length).toBe(11);
  expect(of("stdout", 0, 5)).toBeUndefined();
});

test("others on the machine cannot read the stamps", () => {
  look(1_050, 5);
  expect(statSync(store.dirsOf(ID).stamps).mode & 0o077).toBe(0);
});
