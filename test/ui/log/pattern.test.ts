import { describe, expect, test } from "vitest";
import { append, emptyWindow } from "../../../ui/log/bytes/window.ts";
import { faultOf, patternOf } from "../../../ui/log/search/pattern.ts";
import { MAX_PIECE_BYTES, type Piece, piecesInMemory, piecesOfLog } from "../../../ui/log/search/pieces.ts";
import { newSearch, searched, withProgress } from "../../../ui/log/search/search.ts";
import { unitStarts } from "../../../ui/log/search/unit-starts.ts";
import { changesFor, type Wanted, wantedIn } from "../../../ui/log/search/wanted.ts";

const ESC = "\u001b";
const bytesFrom = (text: string) => new TextEncoder().encode(text);
const OFFSET = 1_000;

/** What an expression matches, as the bytes of its hits. */
function matched(bytes: Uint8Array, expression: string, matchCase = false): string[] {
  const hits = [...patternOf(expression, { matchCase })(bytes, OFFSET)];
  return hits.map(({ from, to }) => new TextDecoder().decode(bytes.slice(from - OFFSET, to - OFFSET)));
}

describe("a regular expression (ui.md#d7)", () => {
  test.each([
    ["in both cases", "Warn 12, WARN 3", "warn \\d+", ["Warn 12", "WARN 3"]],
    ["line by line", "a b\nc d\n", "[^x]+", ["a b", "c d"]],
    ["from the beginning to the end of each line", "one\ntwo\r\none", "^(?:one|two)$", ["one", "two", "one"]],
    ["by characters, not bytes", "größe 😀!\n", "gr.ße .!", ["größe 😀!"]],
    ["after letters of several bytes", "ßßß ab\nab", "ab", ["ab", "ab"]],
    ["through colors", `an ${ESC}[31merr${ESC}[0mor: x`, "^an err.r", [`an ${ESC}[31merr${ESC}[0mor`]],
    ["and a match of nothing is no hit", "abab", "b*", ["b", "b"]],
  ])("is found %s", (_, text, expression, hits) => {
    expect(matched(bytesFrom(text), expression)).toEqual(hits);
  });

  test("is found in its own case, if wanted", () => {
    expect(matched(bytesFrom("Error error"), "e[r]+or", true)).toEqual(["error"]);
  });

  test("is found at the right bytes in what is not UTF-8", () => {
    const bytes = Uint8Array.from([0xff, 0xe2, 0x82, 0x61, 0x62, 0xf0, 0x9f, 0x98, 0x61, 0x62]);
    const hits = [...patternOf("ab", { matchCase: true })(bytes, 0)];
    expect(hits).toEqual([
      { from: 3, to: 5 },
      { from: 8, to: 10 },
    ]);
  });

  test.each([
    ["(", /unterminated|missing/i],
    ["[b-a]", /range/i],
    ["*", /nothing to repeat/i],
  ])("%s is none, and the reason is said without it", (expression, reason) => {
    expect(faultOf(expression)).toMatch(reason);
    expect(faultOf(expression)).not.toContain(`/${expression}/`);
  });

  test("that can be one has no fault", () => {
    expect(faultOf("(a+)+$")).toBeUndefined();
  });
});

test("each unit of a text is found in its bytes, whatever they are", () => {
  const bytes = Uint8Array.from([
    ...bytesFrom("aß€😀\ufffd"),
    ...[0xc3, 0x28, 0xf0, 0x9f, 0x98, 0xe2, 0x82, 0x41, 0x80, 0xed, 0xa0, 0x80, 0xf0, 0x9f],
  ]);
  const text = new TextDecoder().decode(bytes);
  const starts = unitStarts(text, bytes);
  expect(starts).toHaveLength(text.length + 1);
  expect(starts.at(-1)).toBe(bytes.length);
  // What begins there, and ends where the next one begins, is decoded as the same character.
  for (let unit = 0; unit < text.length; ) {
    const { length } = String.fromCodePoint(text.codePointAt(unit) ?? 0);
    const character = new TextDecoder("utf-8", { ignoreBOM: true }).decode(
      bytes.slice(starts[unit], starts[unit + length]),
    );
    expect(character).toBe(text.slice(unit, unit + length));
    unit += length;
  }
});

describe("what is looked for is in the address (ui.md#d15)", () => {
  test.each<[Wanted]>([
    [{ text: "warn \\d+&x", isPattern: true, matchCase: false }],
    [{ text: "a b", isPattern: false, matchCase: true }],
    [{ text: "", isPattern: false, matchCase: false }],
  ])("%j", (wanted) => {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(changesFor(wanted))) if (value) query.set(name, value);
    expect(wantedIn(query)).toEqual(wanted);
  });
});

describe("the pieces of a search (ui.md#searches)", () => {
  const textOf = (pieces: readonly Piece[]) =>
    pieces.reduce((text, { bytes }) => text + new TextDecoder().decode(bytes), "");

  test("in memory are all of it, and the last one says so", () => {
    const line = "0123456789abcde\n";
    const text = `${line.repeat((2.5 * MAX_PIECE_BYTES) / line.length)}end`;
    const pieces = [...piecesInMemory(append(emptyWindow(), 0, bytesFrom(text)))];
    expect(textOf(pieces)).toBe(text);
    expect(pieces.map(({ isLast }) => isLast)).toEqual([false, false, true]);
    expect(Math.max(...pieces.map(({ bytes }) => bytes.length))).toBe(MAX_PIECE_BYTES);
  });

  test("of a log are its ranges from an offset to its end, each byte once", async () => {
    const size = 20 * 1024 * 1024 + 7;
    const log = new Uint8Array(size).map((_, at) => at % 251);
    const asked: [number, number][] = [];
    const open = async (span: unknown) => {
      const { from, to } = span as { from: number; to: number };
      asked.push([from, to]);
      const headers = { "content-range": `bytes ${from}-${Math.min(to, size) - 1}/${size}` };
      return new Response(log.subarray(from, to), { headers });
    };
    let at = 5;
    let last: Piece | undefined;
    for await (const piece of piecesOfLog(5, { open, signal: new AbortController().signal })) {
      expect(piece.bytes.length).toBeLessThanOrEqual(MAX_PIECE_BYTES);
      expect(piece.bytes.every((byte, index) => byte === (at + index) % 251)).toBe(true);
      at += piece.bytes.length;
      last = piece;
    }
    expect(at).toBe(size);
    expect(last?.isLast).toBe(true);
    expect(asked).toHaveLength(3);
  });

  test("let another search go on at the last whole line, and no hit is lost or doubled", () => {
    const bytes = bytesFrom("x needle 1\nneedle 2\nnee");
    const rest = bytesFrom("dle 3\nneedle 4");
    const needle = patternOf("needle \\d", { matchCase: true });
    const first = searched(newSearch(0), needle, bytes);
    const goesOnAt = first.to - first.rest.length;
    const again = new Uint8Array([...bytes.slice(goesOnAt), ...rest]);
    const second = searched(newSearch(goesOnAt), needle, again, true);
    const { to, count, hits } = withProgress(first, { ...second, goesOnAt: second.to });
    expect([to, count]).toEqual([bytes.length + rest.length, 4]);
    expect(hits.map(({ from }) => from)).toEqual([2, 11, 20, 29]);
  });
});
