import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  LONGEST_NEEDLE_BYTES,
  needlesOf,
  SHORTEST_NEEDLE_BYTES,
} from "../../../../agent/core/redaction/needles.ts";

const textOf = (needle: Uint8Array) => Buffer.from(needle).toString("utf8");
const needlesIn = (...values: string[]) => needlesOf(values.map((value) => Buffer.from(value))).map(textOf);

/** A quote, a backslash, a space, a slash, a plus, an umlaut, and what HTML escapes. */
const VALUE = `p'a\\s "w/o+r<d>&ö~*`;

describe("a secret is found in each of its forms (redaction.md#needles)", () => {
  test.each([
    ["the value", VALUE, VALUE],
    ["JSON", VALUE, `p'a\\\\s \\"w/o+r<d>&ö~*`],
    ["JSON in ASCII", VALUE, `p'a\\\\s \\"w/o+r<d>&\\u00f6~*`],
    ["JSON with slashes escaped", VALUE, `p'a\\\\s \\"w\\/o+r<d>&\\u00f6~*`],
    ["JSON that is safe in HTML", VALUE, `p'a\\\\s \\"w/o+r\\u003cd\\u003e\\u0026ö~*`],
    ["the quotes of bash", VALUE, `p'\\''a\\s "w/o+r<d>&ö~*`],
    ["the quotes of dash", VALUE, `p'"'"'a\\s "w/o+r<d>&ö~*`],
    ["$'…' with raw bytes", "tab\tö\n'end\\", "tab\\tö\\n\\'end\\\\"],
    ["$'…' without raw bytes", "tab\tö\x01\x1b\x7fz", "tab\\t\\303\\266\\001\\E\\177z"],
    ["percent, as encodeURIComponent", VALUE, encodeURIComponent(VALUE)],
    ["percent in lower case", VALUE, encodeURIComponent(VALUE).replace(/%../g, (at) => at.toLowerCase())],
    ["a form", VALUE, new URLSearchParams({ "": VALUE }).toString().slice(1)],
    ["percent with the slash left", VALUE, "p%27a%5Cs%20%22w/o%2Br%3Cd%3E%26%C3%B6~%2A"],
    ["a form with the tilde left", VALUE, "p%27a%5Cs+%22w%2Fo%2Br%3Cd%3E%26%C3%B6~%2A"],
    ["hex", VALUE, Buffer.from(VALUE).toString("hex")],
    ["hex in upper case", VALUE, Buffer.from(VALUE).toString("hex").toUpperCase()],
    ["the value without its last line end", "abcdefg\n", "abcdefg"],
    ["base64 of it without its last line end", "abcdefghi\n", "YWJjZGVmZ2hp"],
    ["LF as CR LF", "abcdefg\nhijklmn", "abcdefg\r\nhijklmn"],
    ["CR LF as LF", "abcdefg\r\nhijklmn", "abcdefg\nhijklmn"],
    ["a line of several", "abc\n  defghi\r\njkl", "defghi"],
  ])("%s", (_, value, form) => {
    expect(needlesIn(value)).toContain(form);
  });

  test("base64 and base64url behind any bytes and before any, without what depends on them", () => {
    const bytes = () => fc.uint8Array({ minLength: 0, maxLength: 7 });
    const secret = fc.uint8Array({ minLength: 8, maxLength: 30 });
    fc.assert(
      fc.property(bytes(), secret, bytes(), (before, value, after) => {
        const needles = needlesOf([value]).map((needle) => Buffer.from(needle).toString("latin1"));
        for (const encoding of ["base64", "base64url"] as const) {
          const written = Buffer.concat([before, value, after]).toString(encoding);
          const first = Math.ceil((before.length * 8) / 6);
          const end = Math.floor(((before.length + value.length) * 8) / 6);
          expect(needles).toContain(written.slice(first, end));
        }
      }),
    );
  });

  // What a shell prints depends on the shell alone, so this is asked of those that are here.
  test.each([
    ["sh", "it's a 'secret'"],
    ["bash", "it's a 'secret'"],
    ["bash", "first line\nsecond 'line'\t\\"],
  ])("what %s prints of %j with set -x", (shell, value) => {
    const env = { SECRET: value, PATH: process.env.PATH ?? "" };
    const args = ["-c", 'exec 2>&1; set -x; : "$SECRET"'];
    const printed = execFileSync(shell, args, {
      env,
      stdio: ["ignore", "pipe", "inherit"],
      encoding: "utf8",
    });
    const isWhole = (needle: string) => needle.length >= value.length && printed.includes(needle);
    expect(needlesIn(value).some(isWhole)).toBe(true);
  });
});

describe("what is no needle (redaction.md#needles)", () => {
  test("a value of 5 bytes, in any form; one of 6 is", () => {
    expect(needlesIn("a b<c")).toEqual([]);
    expect(needlesIn("ab<cde")).toContain("ab<cde");
  });

  test("a line or a form of 5 bytes", () => {
    const needles = needlesIn("abcde\nfghijk");
    expect(needles).toContain("fghijk");
    expect(needles).not.toContain("abcde");
    expect(needles.every(({ length }) => length >= SHORTEST_NEEDLE_BYTES)).toBe(true);
  });

  test("the same twice: the longer ones come first", () => {
    const needles = needlesIn("abcdefgh", "abcdefgh", "abcdef");
    expect(new Set(needles).size).toBe(needles.length);
    expect(needles.map(({ length }) => length)).toEqual(
      needles.map(({ length }) => length).toSorted((a, b) => b - a),
    );
  });

  test("a form that is longer than any: its pieces cover it", () => {
    const value = Array.from({ length: 1_500 }, (_, n) => n.toString(36).padStart(4, "-")).join("");
    const pieces = needlesIn(value).filter((needle) => value.includes(needle));
    expect(Math.max(...pieces.map(({ length }) => length))).toBe(LONGEST_NEEDLE_BYTES);
    const covered = pieces.flatMap((piece) => Array.from(piece, (_, index) => value.indexOf(piece) + index));
    expect(new Set(covered).size).toBe(value.length);
  });

  test("JSON of what is no text", () => {
    const needles = needlesOf([Uint8Array.from([0xff, 0x22, 0xfe, 1, 2, 3])]);
    expect(needles.map(textOf)).toContain("ff22fe010203");
  });
});
