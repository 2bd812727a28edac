import { describe, expect, test } from "vitest";
import { type LineStretch, stretchOfLine } from "../../../src/core/allocation/output/lines.ts";
import { MAX_INLINE_LOG_BYTES } from "../../../src/core/allocation/output/logs.ts";
import type { AllocationState, LogSegment } from "../../../src/core/allocation/state.ts";
import type { LogPiece } from "../../../src/schema/host.ts";
import { at, FIRST, observed, runAt, running, started, T0 } from "../support/allocation.ts";
import { base64 } from "../support/bytes.ts";

const chunk = (from: number, length: number, lines?: number) => ({
  type: "chunk" as const,
  chunk: { worker: "w1", attempt: FIRST, stream: "stdout" as const, from, length, lines },
});
const piece = (from: number, data: string): ReturnType<typeof observed> => {
  const stdout: LogPiece = { from, size: from + data.length, data: base64(data) };
  return observed([{ ...running, log: { stdout } }]);
};
/** Where each row of the last events begins, and how many lines end before it. */
const rowsOf = (states: AllocationState[]) =>
  states.flatMap(({ spill }) => spill.map(({ from, lines }: LogSegment) => [from, lines]));
const linesOf = (state: AllocationState) => state.record?.logs[FIRST]?.stdout.lines;

describe("how many lines end before each row of a log (api.md#lines)", () => {
  test("small output has no row, and nothing is stored of its lines", () => {
    const state = runAt(started(), T0, piece(0, "a\nb\n"));
    expect(linesOf(state)).toBeUndefined();
    expect(state.spill).toEqual([]);
  });

  test("the newlines of the tail count for what comes behind it", () => {
    const small = runAt(started(), T0, piece(0, "a\nb\nc"));
    const first = at(small, T0 + 1, chunk(5, 1_000, 40));
    const second = at(first, T0 + 2, chunk(1_005, 1_000, 7));
    expect(rowsOf([first, second])).toEqual([
      [0, 0],
      [5, 2],
      [1_005, 42],
    ]);
    expect(linesOf(second)).toBe(49);
  });

  test("rows of a log that travels in reports are counted by the control plane itself", () => {
    const line = `${"x".repeat(99)}\n`;
    const long = line.repeat(MAX_INLINE_LOG_BYTES / 100 + 1);
    const first = runAt(started(), T0, piece(0, long));
    const second = runAt(first, T0 + 1, piece(long.length, long));
    expect(rowsOf([first, second])).toEqual([
      [0, 0],
      [long.length, long.length / 100],
    ]);
  });

  test.each([
    ["an older agent does not count", undefined],
    ["a host says more lines than there are bytes", 1_001],
  ])("%s: from there on nobody knows", (_what, lines) => {
    const first = at(runAt(started(), T0), T0, chunk(0, 1_000, lines));
    const second = at(first, T0 + 1, chunk(1_000, 1_000, 5));
    expect(rowsOf([first, second])).toEqual([
      [0, 0],
      [1_000, undefined],
    ]);
    expect(linesOf(second)).toBeUndefined();
  });
});

describe("the stretch in which a line begins (api.md#lines)", () => {
  const stretches: LineStretch[] = [
    { from: 0, length: 100, lines: 0 },
    { from: 100, length: 50, lines: 10 },
    { from: 150, length: 50, lines: 10 },
    { from: 200, length: 100, lines: 12 },
  ];
  const find = (line: number, all = stretches) => {
    const last = all.at(-1);
    const size = last === undefined ? 0 : last.from + last.length;
    const stretchAt = (offset: number) => all.find(({ from, length }) => offset < from + length);
    return stretchOfLine(stretchAt, size, line)?.from;
  };

  test.each([
    [1, 0],
    [10, 0],
    // The newline before line 11 is the last in the first stretch, or the byte before the second.
    [11, 0],
    // A line may be longer than a stretch.
    [12, 150],
    [13, 150],
    [14, 200],
    [9_999, 200],
  ])("line %d begins in the stretch from %d on", (line, from) => {
    expect(find(line)).toBe(from);
  });

  test("where the lines are not known, it is the last stretch whose lines are", () => {
    const unknown = stretches.map((one) => (one.from < 150 ? one : { ...one, lines: undefined }));
    expect(find(14, unknown)).toBe(100);
  });

  test("an empty log has none", () => {
    expect(find(1, [])).toBeUndefined();
  });
});
