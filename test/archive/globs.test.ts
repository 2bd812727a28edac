import { describe, expect, test } from "vitest";
import { readGlobs } from "../../archive/globs.ts";

/** Whether a path fits, or lies below something that does. */
function fits(globs: string[], path: string): boolean {
  let place = readGlobs(globs);
  for (const name of path.split("/")) {
    if (place.fits) return true;
    const inner = place.into(name);
    if (inner === undefined) return false;
    place = inner;
  }
  return place.fits;
}

describe("a glob fits by its letters (decisions/files.md#outputs-directories)", () => {
  test.each<[string, string[], string[]]>([
    ["a", ["a", "a/b", "a/.b/c"], ["b", "ab", "b/a"]],
    ["a/b", ["a/b", "a/b/c"], ["a", "a/c", "b"]],
    ["./a//b/", ["a/b"], ["a"]],
    [".", ["a", ".b/c"], []],
    ["*.txt", ["a.txt", ".txt", "x.txt/y"], ["a.txt2", "a/b.txt"]],
    ["a*b*c", ["abc", "axbxc", "abbcc", "abcbc"], ["ab", "acb", "abcd"]],
    ["?", ["a", "ä", "😀"], ["ab"]],
    ["**/*.txt", ["a.txt", "a/b/c.txt"], ["a/b"]],
    ["a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["a", "b", "a/x"]],
    ["a/**", ["a/b", "a/b/c"], ["b"]],
    ["**", ["a", "a/b"], []],
    ["**/a/**/b", ["a/b", "x/a/y/b", "a/a/b/b"], ["b/a", "a"]],
    ["a**", ["ab", "a"], ["b"]],
    ["[a-c]x", ["ax", "cx"], ["dx", "x"]],
    ["[!a-c]x", ["dx"], ["ax"]],
    ["[^a]", ["b"], ["a"]],
    ["[]a]", ["]", "a"], ["b"]],
    ["[a", ["[a"], ["a"]],
    ["[a-]", ["a", "-"], ["b"]],
    ["\\*", ["*"], ["a"]],
    ["a.{js,d.ts}", ["a.js", "a.d.ts"], ["a.ts"]],
    ["{a,b/{c,d}}", ["a", "b/c", "b/d"], ["b", "c"]],
    ["{a}", ["{a}"], ["a"]],
    ["{a,b", ["{a,b"], ["a"]],
    ["\\{a,b}", ["{a,b}"], ["a"]],
    ["a{,b}", ["a", "ab"], ["b"]],
    ["../a", [], ["a"]],
  ])("%s", (glob, yes, no) => {
    expect(yes.filter((path) => !fits([glob], path))).toEqual([]);
    expect(no.filter((path) => fits([glob], path))).toEqual([]);
  });
});

test("of several globs one is enough", () => {
  expect([fits(["a", "b/*"], "b/c"), fits(["a", "b/*"], "c")]).toEqual([true, false]);
});

test("no glob takes long, whatever the name", () => {
  const name = "a".repeat(255);
  expect(fits([`${"*a".repeat(500)}b`], name)).toBe(false);
  const path = Array.from({ length: 300 }, () => "a").join("/");
  expect(fits([`${"**/a/".repeat(200)}b`], path)).toBe(false);
});

test("globs without end take no more than one of a few parts", () => {
  const globs = Array.from({ length: 64 }, () => `${"**/".repeat(300)}x`);
  let place = readGlobs(globs);
  for (let depth = 0; depth < 2_000; depth += 1) place = place.into("a") ?? place;
  expect(place.into("x")?.fits).toBe(true);
}, 5_000);

test("alternatives that multiply are refused by the work that a name would be", () => {
  const many = `${"*a".repeat(120)}{${Array.from({ length: 16 }, (_, i) => `b${i}`).join(",")}}`;
  expect(() => readGlobs(Array.from({ length: 64 }, () => many))).toThrow("too long in total");
  const name = "a".repeat(255);
  const most = Array.from({ length: 4 }, (_, i) => `${"*a".repeat(500)}b${i}`);
  for (let names = 0; names < 100; names += 1) expect(fits(most, name)).toBe(false);
}, 5_000);

test("braces do not multiply without an end", () => {
  expect(() => readGlobs(["{a,b}".repeat(30)])).toThrow("more than 1024 alternatives");
});
