import { describe, expect, test } from "vitest";
import { spansOf, styleAfter } from "../../../ui/log/text/spans.ts";
import { lookOf } from "../../../ui/log/text/style.ts";

const ESC = "\u001b";
const BEL = "\u0007";
const shown = (row: string) =>
  spansOf(row)
    .spans.map(({ text }) => text)
    .join("");
const linksOf = (row: string) => spansOf(row).spans.map(({ text, href }) => [text, href]);

describe("a row shows (ui.md#log-text)", () => {
  test.each([
    ["text as it is", "hello, wörld 😀\ttab\n", "hello, wörld 😀\ttab"],
    ["no end of a line", "hello\r\n", "hello"],
    ["markup as text", "<script>alert(1)</script>&amp;", "<script>alert(1)</script>&amp;"],
    ["the last state of a progress bar", "10%\r50%\r100%\n", "100%"],
    ["what a shorter text leaves", "abcdef\rxy", "xycdef"],
    ["what was erased after the cursor", `abcdef\r${ESC}[Kxy`, "xy"],
    ["what was erased before the cursor", `abc${ESC}[1K\rx`, "x  "],
    ["nothing of an erased row", `abcdef${ESC}[2K\rxy`, "xy    "],
    ["what overwrites after a step back", "abc\b\bX", "aXc"],
    ["no step back before the beginning", "\b\b\babc", "abc"],
    ["nothing for moves of a cursor", `a${ESC}[2Jb${ESC}[10;10Hc${ESC}[?25ld`, "abcd"],
    ["nothing for a title of a window", `a${ESC}]0;title${BEL}b${ESC}]2;t${ESC}\\c`, "abc"],
    ["nothing for device control", `a${ESC}P1;2q#~${ESC}\\b${ESC}_x${ESC}\\c`, "abc"],
    ["nothing for character sets", `a${ESC}(Bb${ESC}7c${ESC}8d${ESC}=e`, "abcde"],
    ["all of a string that does not end", `a${ESC}]0;title hides this`, "a\u241b]0;title hides this"],
    ["all of a sequence that does not end", `a${ESC}[31`, "a\u241b[31"],
    ["symbols for controls", "a\u0000b\u0001c\u007fd", "a\u2400b\u2401c\u2421d"],
    ["numbers for C1 controls", "a\u009bb", "a\u2039009B\u203ab"],
    [
      "numbers for what reorders text",
      "user\u202enimda\u2066x",
      "user\u2039202E\u203animda\u20392066\u203ax",
    ],
    ["numbers for what has no width", "pass\u200bword\ufeff", "pass\u2039200B\u203aword\u2039FEFF\u203a"],
    ["joined emoji", "👩‍💻", "👩‍💻"],
  ])("%s", (_, row, text) => {
    expect(shown(row)).toBe(text);
  });

  test("every byte of C0 harmlessly", () => {
    const all = Array.from({ length: 32 }, (_, code) => String.fromCharCode(code)).join("x");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
    expect(shown(`${all}end`)).not.toMatch(/[\u0000-\u0008\u000a-\u001f]/);
    expect(shown(`${all}end`)).toContain("end");
  });
});

describe("a link (ui.md#log-text)", () => {
  const link = (address: string) => `${ESC}]8;;${address}${ESC}\\here${ESC}]8;;${ESC}\\ there`;

  test.each([["https://example.com/a?b=c"], ["http://example.com/"]])("to %s leads there", (address) => {
    expect(linksOf(link(address))).toEqual([
      ["here", address],
      [" there", undefined],
    ]);
  });

  test.each([
    ["javascript:alert(1)"],
    [" javascript:alert(1)"],
    ["data:text/html,<script>alert(1)</script>"],
    ["file:///etc/passwd"],
    ["vbscript:x"],
    ["/v1/runs"],
    ["nonsense"],
  ])("to %s is text", (address) => {
    expect(linksOf(link(address))).toEqual([["here there", undefined]]);
  });
});

describe("styles (ui.md#log-text)", () => {
  test.each([
    ["a color", "31", ["log-red"]],
    ["a bright color", "92", ["log-bright-green"]],
    ["decorations", "1;3;4;9", ["log-bold", "log-italic", "log-underline", "log-strikethrough"]],
    ["what was ended", "1;31;22;39", []],
    ["a ground", "37;44", ["log-white", "log-on-blue"]],
    ["reversed colors", "7;31;44", ["log-blue", "log-on-red"]],
    ["a reversed color", "7;31", ["log-on-red"]],
    ["usual colors reversed", "7", ["log-reversed"]],
    ["one of 256, if it is one of the 16", "38;5;1", ["log-red"]],
    ["hidden text, which is shown", "8", []],
    ["a curly underline", "4:3", ["log-underline"]],
    ["a color of underlines, which is not shown", "58;5;1;31", ["log-red"]],
    ["unknown numbers", "31;777", ["log-red"]],
  ])("have classes for %s", (_, parameters, classes) => {
    const { style } = spansOf(`${ESC}[${parameters}m`);
    expect(lookOf(style).classes).toEqual(classes);
  });

  test.each([["38;5;196"], ["38;2;255;0;0"], ["38:2::255:0:0"], ["38:2:255:0:0"], ["38:5:196"]])(
    "of %s have a color for each theme",
    (parameters) => {
      const { color, background } = lookOf(`${ESC}[${parameters}m`);
      expect(color).toMatch(/^light-dark\(rgb\(\d+ \d+ \d+\), rgb\(\d+ \d+ \d+\)\)$/);
      expect(background).toBeUndefined();
    },
  );

  test("with a ground of their own are as the task chose them", () => {
    const { color, background } = lookOf(`${ESC}[38;2;1;2;3;48;2;250;250;250m`);
    expect([color, background]).toEqual(["rgb(1 2 3)", "rgb(250 250 250)"]);
  });

  test("go on in the next row, until a reset", () => {
    const first = spansOf(`${ESC}[1;31mred`);
    expect(lookOf(first.style).classes).toEqual(["log-red", "log-bold"]);
    const second = spansOf(`still${ESC}[0m plain`, first.style);
    expect(second.spans.map(({ text, style }) => [text, lookOf(style).classes])).toEqual([
      ["still", ["log-red", "log-bold"]],
      [" plain", []],
    ]);
    expect(second.style).toBe("");
  });

  test("are the same by rows and by `styleAfter`", () => {
    const text = `a${ESC}[31mb${ESC}[0;1mc${ESC}[4md`;
    expect(styleAfter("", text)).toBe(spansOf(text).style);
  });

  test("do not grow without end", () => {
    const row = Array.from({ length: 1_000 }, (_, i) => `${ESC}[38;5;${i % 256}mx`).join("");
    expect(spansOf(row).style.length).toBeLessThanOrEqual(256);
    expect(spansOf(row).style.startsWith(`${ESC}[`)).toBe(true);
  });
});
