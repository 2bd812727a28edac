import { describe, expect, test } from "vitest";
import { needleOf } from "../../../ui/log/search/needle.ts";
import { MAX_VISITED_HITS, newSearch, nextHit, searched, searchText } from "../../../ui/log/search/search.ts";

const ESC = "\u001b";
const bytesFrom = (text: string) => new TextEncoder().encode(text);

/** What is found in a text, as text. */
function found(text: string, wanted: string, matchCase = false): string[] {
  const bytes = bytesFrom(text);
  const hits = [...needleOf(wanted, { matchCase })(bytes, 1_000)];
  return hits.map(({ from, to }) => new TextDecoder().decode(bytes.slice(from - 1_000, to - 1_000)));
}

describe("a text is found (ui.md#d7)", () => {
  test.each([
    ["in both cases", "Error, ERROR, error", "error", ["Error", "ERROR", "error"]],
    ["with letters beyond ASCII", "größe 😀 größe", "größe", ["größe", "größe"]],
    ["as it is, not as a pattern", "a.c abc a.c", "a.c", ["a.c", "a.c"]],
    ["with signs of patterns", "f(x)[0]{1}^$|\\-/", "(x)[0]{1}^$|\\-/", ["(x)[0]{1}^$|\\-/"]],
    ["through colors", `an ${ESC}[31merr${ESC}[0mor: x`, "error: x", [`err${ESC}[0mor: x`]],
    ["not in the middle of a color", `${ESC}[31mx`, "31", []],
    ["never, if it is empty", "abc", "", []],
  ])("%s", (_, text, wanted, hits) => {
    expect(found(text, wanted)).toEqual(hits);
  });

  test("a hit is found once wherever a very long line is cut", () => {
    for (const cut of [100_000 - 3, 100_000, 100_003, 100_010]) {
      const bytes = bytesFrom(`${"x".repeat(100_000)}needle${"y".repeat(100_000)}needle`);
      const needle = needleOf("needle", { matchCase: true });
      let search = searched(newSearch(0), needle, bytes.slice(0, cut));
      search = searched(search, needle, bytes.slice(cut), true);
      expect(search.hits).toEqual([
        { from: 100_000, to: 100_006 },
        { from: 200_006, to: 200_012 },
      ]);
    }
  });

  test("in its own case, if wanted", () => {
    expect(found("Error, error", "error", true)).toEqual(["error"]);
  });

  test("in bytes that are not UTF-8", () => {
    const bytes = Uint8Array.from([0xff, 0xfe, 0x81, 0x61, 0x62, 0x80]);
    expect([...needleOf("ab", { matchCase: true })(bytes, 0)]).toEqual([{ from: 3, to: 5 }]);
  });
});

describe("a search (ui.md#d7)", () => {
  const text = Array.from({ length: 500 }, (_, i) => `line ${i} needle here\n`).join("");
  const needle = needleOf("needle", { matchCase: false });

  test.each([[1], [7], [1_000], [100_000]])("counts each hit once, in pieces of %i bytes", (step) => {
    const bytes = bytesFrom(text).slice(0, step === 1 ? 2_000 : undefined);
    let search = newSearch(0);
    for (let at = 0; at < bytes.length; at += step) {
      search = searched(search, needle, bytes.slice(at, at + step), at + step >= bytes.length);
    }
    expect(search.count).toBe([...needle(bytes, 0)].length);
    expect(search.hits).toEqual([...needle(bytes, 0)]);
    expect([search.from, search.to]).toEqual([0, bytes.length]);
  });

  test("finds what is in a line without an end", () => {
    let search = newSearch(0);
    for (let i = 0; i < 10; i++) search = searched(search, needle, bytesFrom("x".repeat(20_000)));
    search = searched(search, needle, bytesFrom("needle"), true);
    expect(search.hits).toEqual([{ from: 200_000, to: 200_006 }]);
  });

  test.each([
    [{ from: 0, to: 100, count: 1 }, 100, "1 hit in the whole log"],
    [{ from: 0, to: 0, count: 0 }, 0, "0 hits in the whole log"],
    [
      { from: 1_048_576, to: 3_145_728, count: 1_412 },
      3_145_728,
      "1,412 hits in 2MiB of 3MiB, bytes 1048576 to 3145728",
    ],
    [{ from: 0, to: 1_024, count: 0 }, undefined, "0 hits in 1KiB, bytes 0 to 1024"],
  ])("says how much it has searched: %j", (part, size, words) => {
    const hits = Array.from({ length: part.count }, (_, from) => ({ from, to: from + 1 }));
    expect(searchText({ ...newSearch(0), ...part, hits }, size)).toBe(words);
  });

  test("counts hits beyond those that can be visited, and says so", () => {
    const bytes = bytesFrom("x".repeat(MAX_VISITED_HITS + 1));
    const search = searched(newSearch(0), needleOf("x", { matchCase: true }), bytes, true);
    expect(search.hits).toHaveLength(MAX_VISITED_HITS);
    expect(searchText(search, bytes.length)).toBe(
      "100,001 hits in the whole log; the first 100,000 can be visited",
    );
  });

  test.each([
    [0, 1, 10],
    [10, 1, 20],
    [30, 1, 10],
    [20, -1, 10],
    [5, -1, 30],
  ] as const)("from byte %i by %i goes to the hit at %i", (offset, step, at) => {
    const hits = [10, 20, 30].map((from) => ({ from, to: from + 1 }));
    expect(nextHit({ hits }, offset, step)?.from).toBe(at);
  });
});
