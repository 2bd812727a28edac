import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isNodeNewEnough } from "../../local/runtime-needs.ts";

// The client sends archives by `ReadableStream.from`, which Node has since 20.6. Who installs it on an older
// one is warned by npm, and whoever reads is told the same.

const ROOT = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const LEAST = "20.6";

test.each(["package.json", "package-lock.json"])(
  "%s asks for a Node that has what the client uses",
  (path) => {
    const manifest = JSON.parse(read(path));
    const { engines } = manifest.packages?.[""] ?? manifest;
    expect(engines.node).toBe(`>=${LEAST}`);
  },
);

test.each([
  ["README.md", "You need Linux, Node 20.18 or newer with npm"],
  ["docs/machines.md", "`drover up` needs Linux, Node 20.18 or newer"],
  ["docs/client.md", `for Node ${LEAST} or newer`],
  ["docs/machines.md", `The \`drover\` command itself only needs Node ${LEAST}.`],
  ["client/client.ts", `A typed client for Node ${LEAST} and later.`],
])("%s says so", (path, words) => {
  expect(read(path)).toContain(words);
});

test.each([
  ["20.6.0", false],
  ["20.17.9", false],
  ["20.18.0", true],
  ["21.0.0", true],
  ["24.21.0", true],
  ["18.20.0", false],
])("`drover up` on Node %s: %s (decisions/command.md#package)", (version, runs) => {
  expect(isNodeNewEnough(version)).toBe(runs);
});

test("P41: npm has nothing to ask about: each script of a package is allowed, or is not to run", () => {
  const { packages } = JSON.parse(read("package-lock.json"));
  const withScript = Object.entries<{ hasInstallScript?: boolean; optional?: boolean }>(packages)
    .filter(([, { hasInstallScript }]) => hasInstallScript === true)
    .map(([path]) => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length));
  const { allowScripts } = JSON.parse(read("package.json"));
  const foreign = withScript.filter((name) => name !== "");
  expect(foreign.filter((name) => !(name in allowScripts) && name !== "fsevents")).toEqual([]);
});

test("P41: who runs `npm ci` on an old Node is told what npm warns of", () => {
  expect(read("README.md")).toMatch(/On\s+Node 20 npm prints\s+`EBADENGINE` warnings/);
});
