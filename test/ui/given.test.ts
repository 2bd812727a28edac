import { describe, expect, test } from "vitest";
import { asLines, flagsOf, numberOf, pairsOf, textOf, wordsOf } from "../../ui/parts/acts/given.ts";

function given(text: string): FormData {
  const form = new FormData();
  form.set("field", text);
  return form;
}

describe("what a reader has filled in (ui.md#forms)", () => {
  test.each(["", "  ", "\n\n"])("%j is left out", (text) => {
    for (const read of [textOf, numberOf, wordsOf, pairsOf])
      expect(read(given(text), "field")).toBeUndefined();
    expect(textOf(new FormData(), "field")).toBeUndefined();
  });

  test.each(["2.5", " 7 ", "0"])("%j is a number", (text) => {
    expect(numberOf(given(text), "field")).toBe(Number(text));
  });

  test.each(["abc", "1,5", "7 8", "0x10", "Infinity", "-1"])("%j is sent as it is, to be refused", (text) => {
    // As null it could mean that there is no limit.
    expect(JSON.stringify({ limit: numberOf(given(text), "field") })).toBe(JSON.stringify({ limit: text }));
  });

  test("words are between spaces, commas and ends of lines", () => {
    expect(wordsOf(given(" a, b\nc  d "), "field")).toEqual(["a", "b", "c", "d"]);
    expect(wordsOf(given("a,"), "field")).toEqual(["a"]);
  });

  test("a line is a name and a value, which may have spaces and =", () => {
    const text = "ref = refs/heads/main\n\nquery=a=b c\nbare";
    expect(pairsOf(given(text), "field")).toEqual({ ref: "refs/heads/main", query: "a=b c", bare: "" });
  });

  test("lines are read as they were written", () => {
    const pairs = { ref: "refs/heads/main", query: "a=b c" };
    expect(pairsOf(given(asLines(pairs)), "field")).toEqual(pairs);
  });

  test("a flag is repeated for each value, and left out for none", () => {
    expect(flagsOf("--pool", ["a", "b"])).toEqual(["--pool", "a", "--pool", "b"]);
    expect(flagsOf("--max-priority", [undefined])).toEqual([]);
    expect(flagsOf("--max-priority", [7])).toEqual(["--max-priority", "7"]);
  });
});
