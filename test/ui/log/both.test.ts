import { describe, expect, test } from "vitest";
import {
  type Arrival,
  firstOf,
  LineMerge,
  type Offsets,
  offsetsAfter,
  type StreamLine,
} from "../../../ui/log/both/merge.ts";
import { lineIndexAt, mergedText } from "../../../ui/log/both/merged-text.ts";

const bytesFrom = (text: string) => new TextEncoder().encode(text);
const textFrom = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const shown = ({ stream, from, to, bytes, at }: StreamLine) => [stream, from, to, textFrom(bytes), at];

/** What arrives, second by second: texts of the streams, of which the first ones begin at `start`. */
function merged(start: Offsets, texts: [Arrival["stream"], string][]) {
  const merge = new LineMerge(start);
  let next = start;
  const lines = texts.flatMap(([stream, text], second) => {
    const from = next[stream];
    const arrival: Arrival = { stream, from, to: from + text.length, at: `00:0${second}`, after: null };
    next = offsetsAfter(next, [arrival]);
    return merge.take(arrival, bytesFrom(text));
  });
  return { lines: lines.map(shown), unended: merge.unended().map(shown) };
}

describe("lines of both streams (ui.md#both)", () => {
  const start = { stdout: 0, stderr: 0 };

  test("come in the order in which their ends arrived, with their bytes and times", () => {
    const texts: [Arrival["stream"], string][] = [
      ["stdout", "one\ntw"],
      ["stderr", "oops\n"],
      ["stdout", "o\n"],
    ];
    expect(merged(start, texts).lines).toEqual([
      ["stdout", 0, 4, "one\n", "00:00"],
      ["stderr", 0, 5, "oops\n", "00:01"],
      ["stdout", 4, 8, "two\n", "00:02"],
    ]);
  });

  test("that have not ended are shown, too, stdout first", () => {
    const { lines, unended } = merged(start, [
      ["stderr", "Password: "],
      ["stdout", "50 %"],
      ["stdout", " 60 %"],
    ]);
    expect(lines).toEqual([]);
    expect(unended).toEqual([
      ["stdout", 0, 9, "50 % 60 %", "00:02"],
      ["stderr", 0, 10, "Password: ", "00:00"],
    ]);
  });

  test("without an end become rows, and no byte of them is lost", () => {
    const piece = "x".repeat(50_000);
    const { lines, unended } = merged(start, [
      ["stdout", piece],
      ["stdout", piece],
      ["stdout", "end\n"],
    ]);
    expect(lines.map(([, from, to]) => [from, to])).toEqual([
      [0, 100_000],
      [100_000, 100_004],
    ]);
    expect(unended).toEqual([]);
  });

  test("begin where both streams are known, and with a whole line of a stream that is cut off", () => {
    const { lines, unended } = merged({ stdout: 0, stderr: 100 }, [
      ["stdout", "long ago\n"],
      ["stderr", "half\nwhole\n"],
      ["stdout", "now\n"],
    ]);
    expect(lines).toEqual([
      ["stderr", 105, 111, "whole\n", "00:01"],
      ["stdout", 9, 13, "now\n", "00:02"],
    ]);
    expect(unended).toEqual([]);
  });

  test("begin at all if a stream that is cut off has no newline any more", () => {
    const { lines, unended } = merged({ stdout: 0, stderr: 100 }, [
      ["stderr", "half"],
      ["stdout", "now\n"],
    ]);
    expect(lines).toEqual([["stdout", 0, 4, "now\n", "00:01"]]);
    expect(unended).toEqual([]);
  });
});

describe("the text of both streams (ui.md#both)", () => {
  const line = (stream: Arrival["stream"], text: string): StreamLine => {
    return { stream, from: 0, to: text.length, bytes: bytesFrom(text), at: null };
  };

  test("has each line on a row, and a color ends with its line", () => {
    const { bytes, lines } = mergedText([line("stdout", "\u001b[31mred\n"), line("stderr", "plain")], 10);
    expect(textFrom(bytes)).toBe("\u001b[31mred\u001b[0m\nplain\n");
    expect(lines.map(({ begin }) => begin)).toEqual([10, 23]);
  });

  test("says which line has a byte", () => {
    const { lines } = mergedText([line("stdout", "one\n"), line("stderr", "two\n")], 10);
    expect([9, 10, 13, 14, 17].map((at) => lineIndexAt(lines, at))).toEqual([-1, 0, 0, 1, 1]);
  });
});

test("a step has a bounded number of bytes, but one arrival at least (ui.md#both)", () => {
  const arrival = (from: number, to: number): Arrival => {
    return { stream: "stdout", from, to, at: null, after: null };
  };
  const all = [arrival(0, 60), arrival(60, 90), arrival(90, 120)];
  expect(firstOf(all, 100)).toEqual(all.slice(0, 2));
  expect(firstOf(all, 10)).toEqual(all.slice(0, 1));
  expect(firstOf(all, 120)).toEqual(all);
  expect(offsetsAfter({ stdout: 0, stderr: 7 }, all)).toEqual({ stdout: 120, stderr: 7 });
});
