import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const FOLDER = join(ROOT, "docs/pictures");
const MAX_BYTES = 1_000_000;

const pages = readdirSync(join(ROOT, "docs")).filter((name) => name.endsWith(".md"));
const text = pages.map((name) => readFileSync(join(ROOT, "docs", name), "utf8")).join("");
const named = [
  ...new Set([...text.matchAll(/pictures\/([\w-]+\.png)/g)].map(([, name = ""]) => name)),
].sort();
const script = readFileSync(join(ROOT, "scripts/demo/pictures.mjs"), "utf8");

describe("the pictures of the dashboard in the docs", () => {
  test("each picture that a page shows is there, and each that is there is shown", () => {
    expect(named.length).toBeGreaterThan(0);
    expect(readdirSync(FOLDER).sort()).toEqual(named);
  });

  test("the script takes each of them, in both themes", () => {
    const taken = [...script.matchAll(/\{ name: "([\w-]+)", path:/g)].map(([, name]) => name);
    expect(taken.flatMap((name) => [`${name}-dark.png`, `${name}-light.png`]).sort()).toEqual(named);
  });

  test("each has a text for people who do not see it", () => {
    for (const [image] of text.matchAll(/<img [^>]*pictures\/[^>]*>/g))
      expect(image).toMatch(/alt="[^"]{20,}"/);
  });

  test("together they are small enough for everybody who clones the repository", () => {
    const bytes = named.reduce((sum, name) => sum + statSync(join(FOLDER, name)).size, 0);
    expect(bytes).toBeLessThanOrEqual(MAX_BYTES);
  });
});
