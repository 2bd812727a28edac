import { describe, expect, test } from "vitest";
import { BLOCK_BYTES } from "../../../ui/log/bytes/block.ts";
import {
  bounded,
  documentBytes,
  documentRows,
  type LogDocument,
  newDocument,
  placeOf,
  rowAtPlace,
  rowOf,
  withAttempt,
  withBytes,
  withWindow,
} from "../../../ui/log/bytes/document.ts";
import { anchorOf, positionOf, rowsAfter } from "../../../ui/log/bytes/position.ts";
import { bytesOf, prepend, rowBytes } from "../../../ui/log/bytes/window.ts";

const bytesFrom = (text: string) => new TextEncoder().encode(text);
const EXTENT = { rows: 100, viewPx: 500 };

/** The rows, as text; boundaries in brackets. */
function rowsOf(document: LogDocument): string[] {
  return Array.from({ length: documentRows(document) }, (_, row) => {
    const found = rowOf(document, row);
    if (found?.kind !== "text") return `[${found?.attempt}]`;
    const { from, to } = rowBytes(found.section.window, found.row);
    return new TextDecoder().decode(bytesOf(found.section.window, from, to));
  });
}

/** Two attempts, the first of them without an end of its last line. */
function twoAttempts(): LogDocument {
  const first = withBytes(newDocument("1.1"), "1.1", 0, bytesFrom("a\nb"));
  return withBytes(withAttempt(first, "1.2"), "1.2", 0, bytesFrom("c\nd\n"));
}

test("a restart adds a boundary, and nothing goes away (ui.md#d3)", () => {
  expect(rowsOf(twoAttempts())).toEqual(["a\n", "b", "[1.2]", "c\n", "d\n"]);
  expect(rowsOf(withAttempt(twoAttempts(), "1.2"))).toHaveLength(5);
});

test("bytes of another attempt are dropped (ui.md#d4)", () => {
  expect(rowsOf(withBytes(newDocument("1.1"), "2.1", 0, bytesFrom("x\n")))).toEqual([]);
});

test("each row is found again by its place", () => {
  const document = twoAttempts();
  for (let row = 0; row < documentRows(document); row++) {
    const place = placeOf(document, row);
    expect(place && rowAtPlace(document, place)).toBe(row);
  }
  expect(rowAtPlace(document, { attempt: "7.7", offset: 0 })).toBe(0);
});

describe("a position stays on its text (ui.md#d2)", () => {
  test("when bytes are added at the end", () => {
    const before = twoAttempts();
    const position = positionOf(before, { row: 3.25, y: 100 });
    const after = withBytes(before, "1.2", 4, bytesFrom("e\nf\n"));
    expect(anchorOf(after, position, EXTENT)).toEqual({ row: 3.25, y: 100 });
  });

  test("when bytes are added at the beginning", () => {
    const tail = withBytes(newDocument("1.1", BLOCK_BYTES), "1.1", BLOCK_BYTES, bytesFrom("x\ny\nz\n"));
    const position = positionOf(tail, { row: 1.5, y: 40 });
    const earlier = bytesFrom("0123456\n".repeat(BLOCK_BYTES / 8));
    const after = withWindow(tail, "1.1", (window) => prepend(window, 0, earlier));
    expect(anchorOf(after, position, EXTENT)).toEqual({ row: BLOCK_BYTES / 8 + 1.5, y: 40 });
  });

  test("unless it is the end", () => {
    expect(anchorOf(twoAttempts(), { is: "end" }, { rows: 5, viewPx: 300 })).toEqual({ row: 5, y: 300 });
  });

  test("also at the very end, from where new rows are counted", () => {
    const before = twoAttempts();
    const position = positionOf(before, { row: 5, y: 500 });
    const after = withBytes(before, "1.2", 4, bytesFrom("e\nf\n"));
    expect(anchorOf(after, position, EXTENT)).toEqual({ row: 5, y: 500 });
    expect(position.is === "at" && rowsAfter(after, position.place)).toBe(2);
  });
});

describe("memory is bounded over all attempts (ui.md#d6)", () => {
  const row = `${"x".repeat(63)}\n`;
  const large = bytesFrom(row.repeat((4 * BLOCK_BYTES) / 64));
  const full = ["1.1", "1.2", "1.3"].reduce(
    (document, attempt) => withBytes(withAttempt(document, attempt), attempt, 0, large),
    newDocument("1.1"),
  );

  test.each([
    ["start", 6, ["1.2", "1.3"]],
    ["start", 4, ["1.3"]],
    ["start", 1, ["1.3"]],
    ["end", 6, ["1.1", "1.2"]],
    ["end", 1, ["1.1"]],
  ] as const)("by dropping at the %s until %i blocks are left", (side, blocks, attempts) => {
    const document = bounded(full, side, blocks * BLOCK_BYTES);
    expect(document.sections.map(({ attempt }) => attempt)).toEqual(attempts);
    expect(documentBytes(document)).toBe(blocks * BLOCK_BYTES);
  });
});
