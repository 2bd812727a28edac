import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatSize, parseSize, sizeBytes } from "../../src/shared/size.ts";

describe("a size is a number with a unit of ten or of two (api.md#sizes)", () => {
  test.each([
    ["0", 0],
    ["1048576", 1_048_576],
    ["17B", 17],
    ["2GB", 2_000_000_000],
    ["512MiB", 536_870_912],
    ["1.5GiB", 1_610_612_736],
    ["1 KiB", 1_024],
    ["3KB", 3_000],
    ["1TB", 1_000_000_000_000],
    ["1TiB", 1_099_511_627_776],
    ["0.3B", 0],
    [String(Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER],
  ])("%s is %d bytes", (text, bytes) => {
    expect(parseSize(text)).toBe(bytes);
    expect(sizeBytes(text)).toBe(bytes);
  });

  test.each([
    ["nothing", ""],
    ["a negative one", "-1"],
    ["a unit without a number", "MiB"],
    ["small letters", "1mib"],
    ["a unit that is none", "1PiB"],
    ["half a unit", "1Ki"],
    ["two spaces", "1  KiB"],
    ["a space at the end", "1 KiB "],
    ["an exponent", "1e9"],
    ["one more than a number can say exactly", String(Number.MAX_SAFE_INTEGER + 1)],
    ["far too many bytes", "9007199254740991TiB"],
    ["more text than any size needs", `${"0".repeat(32)}1`],
  ])("%s is none", (_what, text) => {
    expect(parseSize(text)).toBeUndefined();
    expect(sizeBytes(text)).toBe(0);
  });

  test("a number of bytes is what it is", () => {
    expect(sizeBytes(12)).toBe(12);
  });
});

test.each([
  [0, "0B"],
  [1_023, "1023B"],
  [1_024, "1KiB"],
  [536_870_912, "512MiB"],
  [1_610_612_736, "1.5GiB"],
  [2 ** 41, "2TiB"],
])("%d bytes are written %s", (bytes, text) => {
  expect(formatSize(bytes)).toBe(text);
});

test("what is written is read back to within the decimal that is shown", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 50 }), (bytes) => {
      const back = parseSize(formatSize(bytes)) ?? Number.NaN;
      expect(Math.abs(back - bytes)).toBeLessThanOrEqual(Math.max(1, bytes * 0.051));
    }),
  );
});
