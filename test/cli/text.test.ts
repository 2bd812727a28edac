import fc from "fast-check";
import { expect, test } from "vitest";
import { briefDuration, elapsed, fields, printable, table, wrap } from "../../cli/terminal/text.ts";
import { quoteArgv } from "../../src/shared/shell-words.ts";

test.each([
  [0, "0ms"],
  [-5, "0ms"],
  [999, "999ms"],
  [1_000, "1s"],
  [1_949, "1.9s"],
  [9_999, "9.9s"],
  [10_000, "10s"],
  [59_999, "59s"],
  [60_000, "1m"],
  [3_599_999, "59m59s"],
  [3_600_000, "1h"],
  [86_400_000 + 3_600_000 + 61_000, "1d1h"],
])("%i ms are %s at a glance", (ms, text) => {
  expect(briefDuration(ms)).toBe(text);
});

test("time that has not begun is not shown", () => {
  expect(elapsed(null, 0)).toBe("");
  expect(elapsed("2026-11-21T08:00:00.000Z", "2026-11-21T08:01:01.000Z")).toBe("1m1s");
});

test("no text from elsewhere can act on a terminal", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(printable(text)).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
    }),
  );
  expect(printable("naïve 文字\tin\ntwo \u001b[31mlines\u0085")).toBe(
    "naïve 文字 in two \\x1b[31mlines\\x85",
  );
});

test.each([
  [["make", "-j4"], "make -j4"],
  [["sh", "-c", "echo it's"], "sh -c 'echo it'\\''s'"],
  [["printf", "", "$HOME *"], "printf '' '$HOME *'"],
])("%j is shown as a shell would take it", (argv, text) => {
  expect(quoteArgv(argv)).toBe(text);
});

test("a table is as wide as its cells, and cut only for a terminal", () => {
  const rows = [
    ["a", "long cell", "the last column is as long as it likes"],
    ["bcd", "", "x\ny"],
  ];
  expect(table(["ID", "NAME", "REST"], rows, Number.POSITIVE_INFINITY)).toBe(
    "ID   NAME       REST\na    long cell  the last column is as long as it likes\nbcd             x y\n",
  );
  expect(table(["ID", "NAME", "REST"], rows, 24)).toBe(
    "ID   NAME       REST\na    long cell  the las…\nbcd             x y\n",
  );
});

test("fields without a value are left out", () => {
  const upper = (text: string) => text.toUpperCase();
  expect(
    fields(
      [
        ["State", "ok"],
        ["Worker", ""],
        ["Id", "r1"],
      ],
      upper,
    ),
  ).toBe("STATE  ok\nID     r1\n");
});

test.each<[string, number, string[]]>([
  ["short", 10, ["short"]],
  ["one two three", 7, ["one two", "three"]],
  ["one two three", 8, ["one two", "three"]],
  ["abcdefghij", 4, ["abcd", "efgh", "ij"]],
  ["a bcdefghij", 4, ["a", "bcde", "fghi", "j"]],
  ["", 4, [""]],
])("P3: %j in lines of %d columns", (text, columns, lines) => {
  expect(wrap(text, columns)).toEqual(lines);
});

test("what failed is shown in emphasis, and columns stay where they are (cli.md#color)", () => {
  const rows = [
    ["a", { failed: "failed" }, { failed: "" }, "x"],
    ["bb", "complete", "0", { failed: "y" }],
  ];
  const shown = (columns: number) =>
    table(["RUN", "STATE", "EXIT", "COMMAND"], rows, columns, (text) => `<${text}>`);
  expect(shown(Number.POSITIVE_INFINITY)).toBe(
    "RUN  STATE     EXIT  COMMAND\na    <failed>          x\nbb   complete  0     <y>\n",
  );
  // A cut line never ends within the emphasis.
  expect(shown(8)).toBe("RUN  ST…\na    <fa…>\nbb   co…\n");
});
