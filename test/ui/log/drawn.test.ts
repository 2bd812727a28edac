import { describe, expect, test } from "vitest";
import { BLOCK_BYTES } from "../../../ui/log/bytes/block.ts";
import { type LogDocument, newDocument, withAttempt, withBytes } from "../../../ui/log/bytes/document.ts";
import { lookOf } from "../../../ui/log/text/style.ts";
import { type DrawnRow, drawnRows } from "../../../ui/log/view/drawn.ts";

const ESC = "\u001b";
const bytesFrom = (text: string) => new TextEncoder().encode(text);

function filled(text: string, at = 0): LogDocument {
  return withBytes(newDocument("1.1", at), "1.1", at, bytesFrom(text));
}

function textOf(row: DrawnRow): string {
  return row.kind === "text" ? row.spans.map(({ text }) => text).join("") : `[${row.attempt}]`;
}

const classesOf = (row: DrawnRow | undefined) =>
  row?.kind === "text" ? row.spans.flatMap(({ style }) => lookOf(style).classes) : undefined;

describe("the visible rows", () => {
  test("are those that are asked for, with their bytes and numbers (ui.md#log-rows)", () => {
    const [row] = drawnRows(filled("one\ntwo\nthree\n"), { from: 1, to: 2 });
    expect(row).toMatchObject({ attempt: "1.1", from: 4, to: 8, line: 2, isContinued: false });
    expect(row && textOf(row)).toBe("two");
  });

  test("have no numbers where nobody has counted (ui.md#log-rows)", () => {
    const [row] = drawnRows(filled("x\n", BLOCK_BYTES), { from: 0, to: 1 });
    expect(row).toMatchObject({ from: BLOCK_BYTES, line: undefined });
  });

  test("have the color that began above them, but not one of another attempt (ui.md#log-text)", () => {
    const red = filled(`${ESC}[31mred\n${"still red\n".repeat(50)}`);
    const both = withBytes(withAttempt(red, "1.2"), "1.2", 0, bytesFrom("plain\n"));
    const rows = drawnRows(both, { from: 50, to: 53 });
    expect(rows.map(textOf)).toEqual(["still red", "[1.2]", "plain"]);
    expect([classesOf(rows[0]), classesOf(rows[2])]).toEqual([["log-red"], []]);
  });

  test("are there for bytes that are not UTF-8 (ui.md#log-text)", () => {
    const document = withBytes(newDocument("1.1"), "1.1", 0, Uint8Array.from([0xff, 0x61, 0xc3, 0x0a]));
    expect(drawnRows(document, { from: 0, to: 1 }).map(textOf)).toEqual(["\ufffda\ufffd"]);
  });

  test("are no more than there are", () => {
    expect(drawnRows(filled("one\n"), { from: 0, to: 9 })).toHaveLength(1);
  });
});
