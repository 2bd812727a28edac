import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

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
  ["README.md", `On a machine with Node ${LEAST} or newer`],
  ["docs/client.md", `for Node ${LEAST} or newer`],
  ["docs/machines.md", `The \`drover\` command itself only needs Node ${LEAST}.`],
  ["client/client.ts", `A typed client for Node ${LEAST} and later.`],
])("%s says so", (path, words) => {
  expect(read(path)).toContain(words);
});
