import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { maskerOf, maskIn } from "../../../../agent/core/redaction/mask.ts";
import {
  LONGEST_NEEDLE_BYTES,
  needlesOf,
  SHORTEST_NEEDLE_BYTES,
} from "../../../../agent/core/redaction/needles.ts";

const textOf = (needle: Uint8Array) => Buffer.from(needle).toString("utf8");
const latin1 = (bytes: Uint8Array) => Buffer.from(bytes).toString("latin1");
const needlesIn = (...values: string[]) => needlesOf(values.map((value) => Buffer.from(value))).map(textOf);

/** A quote, a backslash, a space, a slash, a plus, an umlaut, and what HTML escapes. */
const VALUE = `p'a\\s "w/o+r<d>&ö~*`;

describe("a secret is found in each of its forms (redaction.md#needles)", () => {
  test.each([
    ["the value", VALUE, VALUE],
    ["JSON", VALUE, `p'a\\\\s \\"w/o+r<d>&ö~*`],
    ["JSON in ASCII", VALUE, `p'a\\\\s \\"w/o+r<d>&\\u00f6~*`],
    ["JSON in ASCII with upper-case digits", VALUE, `p'a\\\\s \\"w/o+r<d>&\\u00F6~*`],
    ["JSON of control characters with upper-case digits", "ab\x1fcdef", "ab\\u001Fcdef"],
    ["JSON of what looks like an escape", "ab\\u00f6cö", "ab\\\\u00f6c\\u00F6"],
    ["JSON that is safe in HTML, in upper case", VALUE, `p'a\\\\s \\"w/o+r\\u003Cd\\u003E\\u0026ö~*`],
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
    // The final line end of a secret is in no encoded form.
    const secret = fc
      .uint8Array({ minLength: 8, maxLength: 30 })
      .filter((all) => !/[\r\n]$/.test(latin1(all)));
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

/** What programs of this machine print for these bytes. A program that is not here prints nothing. */
function printedBy(command: string[], input: Uint8Array): string | undefined {
  const [name = "", ...args] = command;
  const { status, stdout } = spawnSync(name, args, { input, encoding: "latin1" });
  return status === 0 ? stdout : undefined;
}

/** The output with each needle of the value masked. */
function masked(output: string, value: Uint8Array): string {
  const bytes = Buffer.from(output, "latin1");
  const masker = maskerOf([value]);
  if (masker !== undefined) maskIn(masker, bytes);
  return bytes.toString("latin1");
}

describe("base64 in lines, of the value alone (redaction.md#needles)", () => {
  /** Values around each bound of a line, and long ones. */
  const LENGTHS = [6, 47, 48, 49, 56, 57, 58, 95, 96, 97, 113, 114, 115, 300, 5_000];
  const bytesOf = (length: number) => {
    const bytes = createHash("shake256", { outputLength: length }).update("a secret").digest();
    return bytes.map((byte) => (byte === 10 || byte === 13 ? 7 : byte));
  };

  describe.each([
    ["base64", ["base64"]],
    ["base64 -w 64", ["base64", "-w", "64"]],
    ["openssl base64", ["openssl", "base64"]],
  ])("as %s prints it", (_, command) => {
    test.each(LENGTHS)("%i bytes, alone and with the line end of echo", (length) => {
      const value = bytesOf(length);
      for (const input of [value, Buffer.concat([value, Buffer.from("\n")])]) {
        const printed = printedBy(command, input);
        if (printed === undefined) continue;
        const lines = masked(printed, value).trimEnd().split("\n");
        // Of a line alone the end depends on what follows, and a short last piece is no needle.
        const whole = lines.length === 1 ? [] : lines.filter((line) => line.length >= 6);
        expect(whole.join("")).toMatch(/^\**$/);
        expect(lines.at(0)?.slice(0, 8)).toBe("*".repeat(8));
      }
    });
  });

  test("the value's own line ends are encoded, too", () => {
    const value = Buffer.from(`${"key line of some length ".repeat(5)}\r\n`);
    const lines = value.toString("base64").match(/.{1,76}/g) ?? [];
    expect(lines.length).toBeGreaterThan(1);
    expect(masked(lines.join("\r\n"), value)).toMatch(/^[*\r\n]+$/);
  });

  test("any value, alone or with a line end, in lines of 64 or 76", () => {
    const value = fc.uint8Array({ minLength: 58, maxLength: 400 });
    fc.assert(
      fc.property(value, fc.constantFrom(64, 76), fc.boolean(), (bytes, width, isEchoed) => {
        const core = Buffer.from(
          Buffer.from(bytes)
            .toString("latin1")
            .replace(/[\r\n]+$/, ""),
          "latin1",
        );
        fc.pre(core.length > 57);
        const input = isEchoed ? Buffer.concat([core, Buffer.from("\n")]) : core;
        const needles = needlesOf([bytes]).map((needle) => Buffer.from(needle).toString("latin1"));
        const encoded = input.toString("base64");
        for (let at = 0; at < encoded.length; at += width) {
          const line = encoded.slice(at, at + width);
          if (line.length >= SHORTEST_NEEDLE_BYTES) expect(needles).toContain(line);
        }
      }),
    );
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
