import { crc32 } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseToken, TOKEN_RANDOM_BYTES, tokenText } from "../../../src/shared/access/token-text.ts";

const random = fc.uint8Array({ minLength: TOKEN_RANDOM_BYTES, maxLength: TOKEN_RANDOM_BYTES, max: 247 });
const fixed = tokenText(new Uint8Array(TOKEN_RANDOM_BYTES).map((_, at) => (at * 37) % 248));

describe("a token's text (access.md#token-format)", () => {
  test("is drv_ and 48 letters and digits, of which the first ten are the id", () => {
    expect(fixed.text).toMatch(/^drv_[0-9A-Za-z]{48}$/);
    expect(fixed.text.slice(4, 14)).toBe(fixed.id);
  });

  test("is read again, whatever the random bytes are", () => {
    fc.assert(
      fc.property(random, (bytes) => {
        const { id, text } = tokenText(bytes);
        expect(parseToken(text)).toEqual({ kind: "token", id });
      }),
    );
  });

  test("ends with the CRC-32 of all before it, as other implementations compute it", () => {
    const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    fc.assert(
      fc.property(random, (bytes) => {
        const { text } = tokenText(bytes);
        const value = [...text.slice(-6)].reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0);
        expect(value).toBe(crc32(text.slice(0, -6)));
      }),
    );
  });

  test("keeps the id when the token gets another secret", () => {
    const again = tokenText(new Uint8Array(TOKEN_RANDOM_BYTES).fill(9), fixed.id);
    expect(again.id).toBe(fixed.id);
    expect(again.text).not.toBe(fixed.text);
    expect(parseToken(again.text)).toEqual({ kind: "token", id: fixed.id });
  });

  test("is not made from too few usable bytes", () => {
    expect(() => tokenText(new Uint8Array(TOKEN_RANDOM_BYTES).fill(250))).toThrow("too little randomness");
  });

  test("with one wrong character is a typo, wherever that is", () => {
    for (let at = 4; at < fixed.text.length; at += 1) {
      const other = fixed.text[at] === "a" ? "b" : "a";
      const wrong = `${fixed.text.slice(0, at)}${other}${fixed.text.slice(at + 1)}`;
      expect(parseToken(wrong), `at ${at}`).toEqual({ kind: "typo" });
    }
  });

  test.each([
    ["cut short", fixed.text.slice(0, -1), "cut"],
    ["doubled", `${fixed.text}${fixed.text}`, "cut"],
    ["with a blank", `${fixed.text} `, "cut"],
    ["only its beginning", "drv_", "cut"],
    ["of another service", "ghp_0123456789012345678901234567890123456", "other"],
    ["empty", "", "other"],
    ["in other letters", fixed.text.toUpperCase(), "other"],
  ])("%s is told apart without a look-up", (_name, text, kind) => {
    expect(parseToken(text)).toEqual({ kind });
  });
});
