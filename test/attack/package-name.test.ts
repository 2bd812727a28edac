import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repositoryFiles } from "../tidy/source.ts";

// The name `drover` is nobody's in the npm registry, and somebody may take it: whoever types what we print
// must not get that program.

/** A command that asks the registry for a package of our name, unless it is told not to. */
const ASKS_THE_REGISTRY = new RegExp(
  [
    String.raw`\bnpx (?!--no\b)(?:-\S+ +)*drover\b`,
    String.raw`\b(?:npm|pnpm|yarn|bun) (?:exec|x|i|install|add|dlx)\b(?: +-\S*)* +drover\b`,
  ].join("|"),
);

/** What a user reads or is shown: documents, and texts in what runs. The register tells of the past. */
const isShown = (path: string) =>
  /^(?:README|SECURITY|CONTRIBUTING|docs\/|demo\/|agent\/|bin\/|cli\/|client\/|local\/|scripts\/|src\/)/.test(
    path,
  ) && path !== "docs/design/findings.md";

test.each([
  ["npx drover up", true],
  ["npx -y drover@latest up", true],
  ["npm exec -- drover up", true],
  ["npm install -g drover", true],
  ["npm install ~/drover", false],
  ["npx --no drover up", false],
  ["npx wrangler deploy", false],
])("X25: whether `%s` asks the registry for our name: %s", (command, asks) => {
  expect(ASKS_THE_REGISTRY.test(command)).toBe(asks);
});

test("X25: nothing that we print or document fetches a package of our name", () => {
  const files = repositoryFiles(join(import.meta.dirname, "../..")).filter(({ path }) => isShown(path));
  expect(files.length).toBeGreaterThan(100);
  const found = files.filter(({ text }) => ASKS_THE_REGISTRY.test(text)).map(({ path }) => path);
  expect(found).toEqual([]);
});

test("X25: nobody publishes the package by accident", () => {
  const { private: isPrivate } = JSON.parse(
    readFileSync(join(import.meta.dirname, "../../package.json"), "utf8"),
  );
  expect(isPrivate).toBe(true);
});
