import { describe, expect, test } from "vitest";
import { BLOCK_BYTES, blockStart } from "../../../ui/log/bytes/block.ts";
import {
  append,
  bytesOf,
  dropped,
  emptyWindow,
  isContinued,
  type LogWindow,
  lineNumber,
  prepend,
  rowAt,
  rowBytes,
  rowCount,
  withNewlines,
} from "../../../ui/log/bytes/window.ts";

const bytesFrom = (text: string) => new TextEncoder().encode(text);
const filled = (text: string, at = 0): LogWindow => append(emptyWindow(at), at, bytesFrom(text));

/** The rows of a window, as text. */
function rowsOf(window: LogWindow): string[] {
  return Array.from({ length: rowCount(window) }, (_, row) => {
    const { from, to } = rowBytes(window, row);
    return new TextDecoder().decode(bytesOf(window, from, to));
  });
}

/** Lines of different lengths, over many blocks. */
const LINES = Array.from({ length: 9_000 }, (_, i) => `${i} ${"x".repeat((i * 37) % 61)}\n`);
const LOG = bytesFrom(LINES.join(""));

describe("rows (ui.md#d9)", () => {
  test.each([
    ["", []],
    ["one", ["one"]],
    ["one\n", ["one\n"]],
    ["one\ntwo", ["one\n", "two"]],
    ["\n\n", ["\n", "\n"]],
    ["a\r\nb\r\n", ["a\r\n", "b\r\n"]],
  ])("of %j are %j", (text, rows) => {
    expect(rowsOf(filled(text))).toEqual(rows);
  });

  test("over many blocks are the lines, however the bytes came in", () => {
    for (const step of [1_000, 16_384, 50_001, LOG.length]) {
      let window = emptyWindow();
      for (let at = 0; at < LOG.length; at += step) window = append(window, at, LOG.slice(at, at + step));
      expect(rowsOf(window)).toEqual(LINES);
      expect(lineNumber(window, 8_000)).toBe(8_001);
    }
  });

  test("are found by each of their bytes", () => {
    const window = filled(LINES.join(""));
    for (let row = 0; row < LINES.length; row += 97) {
      const { from, to } = rowBytes(window, row);
      expect([rowAt(window, from), rowAt(window, to - 1)]).toEqual([row, row]);
    }
    expect(rowAt(window, LOG.length + 10)).toBe(LINES.length - 1);
  });

  test("end in a line of a megabyte, at whole characters, and belong to one line", () => {
    const line = "aé€😀".repeat(100_000);
    const window = filled(`first\n${line}\nlast\n`);
    const rows = rowsOf(window);
    expect(rows.length).toBeGreaterThan(50);
    expect(rows.join("")).toBe(`first\n${line}\nlast\n`);
    expect(rows.every((row) => row.length <= 2 * BLOCK_BYTES && !row.includes("\ufffd"))).toBe(true);
    const last = rows.length - 1;
    expect([lineNumber(window, 1), lineNumber(window, last - 1), lineNumber(window, last)]).toEqual([
      2, 2, 3,
    ]);
    expect([isContinued(window, 1), isContinued(window, 2), isContinued(window, last)]).toEqual([
      false,
      true,
      false,
    ]);
  });

  test("do not exist outside of the window", () => {
    expect(() => rowBytes(filled("one\n"), 1)).toThrow(RangeError);
  });
});

describe("lines have the numbers of a count (ui.md#log-rows)", () => {
  const begin = 5 * BLOCK_BYTES;
  const newlinesUpTo = (at: number) => LOG.slice(0, at).filter((byte) => byte === 0x0a).length;
  const uncounted = append(emptyWindow(begin), begin, LOG.slice(begin));

  test("whichever byte of the window it is about", () => {
    for (let at = begin; at <= LOG.length; at += 4_999) {
      const window = withNewlines(uncounted, { at, newlines: newlinesUpTo(at) });
      expect(lineNumber(window, 0)).toBe(newlinesUpTo(begin) + 1);
      expect(lineNumber(window, rowCount(window) - 1)).toBe(LINES.length);
    }
    const end = withNewlines(uncounted, { at: LOG.length, newlines: LINES.length });
    expect(lineNumber(end, rowCount(end) - 1)).toBe(LINES.length);
  });

  test("not if it is about other bytes, or less than the newlines that are there", () => {
    const counts = [
      { at: begin - 1, newlines: 5_000 },
      { at: LOG.length + 1, newlines: 9_000 },
      { at: LOG.length, newlines: 3 },
    ];
    for (const count of counts) expect(lineNumber(withNewlines(uncounted, count), 0)).toBeUndefined();
  });

  test("and keep them when earlier bytes come", () => {
    const window = withNewlines(uncounted, { at: LOG.length, newlines: LINES.length });
    const earlier = prepend(window, BLOCK_BYTES, LOG.slice(BLOCK_BYTES, begin));
    expect(lineNumber(earlier, 0)).toBe(newlinesUpTo(BLOCK_BYTES) + 1);
  });
});

describe("bytes are added", () => {
  test("once, also if an answer has some of them again (ui.md#d5)", () => {
    const window = append(filled("hello"), 3, bytesFrom("lo world"));
    expect(rowsOf(window)).toEqual(["hello world"]);
    expect(append(window, 2, bytesFrom("llo"))).toBe(window);
  });

  test("never after a gap", () => {
    expect(() => append(filled("hello"), 6, bytesFrom("x"))).toThrow(/ends at byte 5/);
  });

  test("before the window, and rows are the same as from the beginning", () => {
    const middle = blockStart(LOG.length / 2);
    let window = append(emptyWindow(middle), middle, LOG.slice(middle));
    expect(lineNumber(window, 0)).toBeUndefined();
    window = prepend(window, 0, LOG.slice(0, middle));
    expect(rowsOf(window)).toEqual(LINES);
    expect(lineNumber(window, 4_000)).toBe(4_001);
  });

  test("before the window only if they join it", () => {
    const window = append(emptyWindow(BLOCK_BYTES), BLOCK_BYTES, bytesFrom("x"));
    expect(() => prepend(window, 0, bytesFrom("x"))).toThrow(/do not join/);
    expect(() => prepend(window, 1, new Uint8Array(BLOCK_BYTES - 1))).toThrow(/do not join/);
  });
});

describe("memory is bounded (ui.md#d6)", () => {
  const most = 3 * BLOCK_BYTES;

  test("at the beginning, where lines stay counted", () => {
    const window = dropped(filled(LINES.join("")), "start", most);
    expect(window.to - window.from).toBeLessThanOrEqual(most);
    expect(window.to).toBe(LOG.length);
    expect(lineNumber(window, rowCount(window) - 1)).toBe(LINES.length);
  });

  test("at the end, after which the next bytes join again", () => {
    const window = dropped(filled(LINES.join("")), "end", most);
    expect(window.to).toBe(most);
    expect(rowsOf(append(window, most, LOG.slice(most)))).toEqual(LINES);
  });

  test("but not below the bound", () => {
    const window = filled("hello");
    expect(dropped(window, "start", 5)).toBe(window);
  });
});
