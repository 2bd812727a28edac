import { existsSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasPodman } from "../agent/support/podman.ts";
import { endDrover, makeHome, type RunningDrover, startDrover } from "../edge/support/drover.ts";
import { type DocumentsEngine, startDocumentsEngine } from "./support/engine.ts";
import { blocksOf, examplesOf, isAsShown, readDocument } from "./support/examples.ts";
import { makeReader, NOT_HERE, type Reader, runExamples, WITHIN_MS } from "./support/shell.ts";

// What the documents tell a reader to type is typed here, against one real `drover up`: each `sh` block must
// succeed, and show what the `text` block after it says. What cannot be run here stands in `shell` blocks.

const ROOT = join(import.meta.dirname, "../..");
const DOCUMENTS = ["README.md", ...guidesIn("docs"), ...guidesIn("docs/recipes")];

function guidesIn(folder: string): string[] {
  const names = readdirSync(join(ROOT, folder)).filter((name) => name.endsWith(".md"));
  return names.map((name) => `${folder}/${name}`);
}

/** Those whose examples need a container engine. */
const WITH_AN_ENGINE = ["docs/containers.md", "docs/recipes/database.md", "docs/recipes/image.md"];

/** Those that need a cloud are followed in `test/clouds/pages.long.test.ts`. */
const WITH_A_CLOUD = guidesIn("docs/clouds");

describe.each([...DOCUMENTS, ...WITH_A_CLOUD])("%s", (path) => {
  const blocks = blocksOf(readDocument(path));

  test("only shows, and leaves untested, what cannot be run here", () => {
    const shown = blocks.filter(({ language }) => language === "shell");
    expect(shown.filter(({ text }) => !NOT_HERE.test(text)).map(({ line }) => line)).toEqual([]);
  });

  test("says of each block what it is", () => {
    const strange = blocks.filter(
      ({ language }) => !/^(?:sh|shell|text|json|ini|toml|dockerfile)$/.test(language),
    );
    // A drawing has no language: it stands above everything else.
    expect(strange.filter(({ language, line }) => language !== "" || line > 20)).toEqual([]);
  });

  test("has JSON that can be read", () => {
    for (const { language, text } of blocks) if (language === "json") JSON.parse(text);
  });

  test("leads to files that are there", async () => {
    const links = [...readDocument(path).matchAll(/\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/g)];
    for (const [, target = ""] of links) {
      expect(() => readDocument(join(dirname(path), target)), target).not.toThrow();
    }
  });
});

describe("against a Drover of one's own", () => {
  let home = "";
  let reader: Reader;
  let running: RunningDrover | undefined;
  let engine: DocumentsEngine | undefined;
  beforeAll(async () => {
    home = makeHome("docs");
    reader = makeReader(home);
    engine = hasPodman ? await startDocumentsEngine() : undefined;
    running = await startDrover(home, engine === undefined ? {} : { DROVER_ENGINE: engine.socketPath });
  });
  afterAll(async () => {
    await endDrover(home, running);
    await engine?.stop();
    rmSync(home, { recursive: true, force: true });
  });

  const documents = DOCUMENTS.filter((path) => hasPodman || !WITH_AN_ENGINE.includes(path));
  test.each(documents)("the examples of %s do what it says", { timeout: 2 * WITHIN_MS }, async (path) => {
    const examples = examplesOf(readDocument(path));
    const outcomes = await runExamples(examples, reader);
    for (const [index, { line, shown }] of examples.entries()) {
      const { output = "", code } = outcomes[index] ?? {};
      const place = `${path}:${line} (exit code ${code}) wrote:\n${output}`;
      expect(code, place).toBe(0);
      if (shown !== undefined) expect(isAsShown(output, shown), `${place}\ninstead of:\n${shown}`).toBe(true);
    }
  });
});

describe("the reader of documents", () => {
  const fence = "```";

  test("takes `sh` blocks, each with the `text` block right after it", () => {
    const document = [
      `${fence}sh`,
      "echo a",
      fence,
      "",
      `${fence}text`,
      "a",
      fence,
      `${fence}shell`,
      "no",
      fence,
      `- ${fence}`,
      `${fence}sh`,
      "echo b",
      fence,
      "which says",
      `${fence}text`,
      "c",
      fence,
    ].join("\n");
    expect(examplesOf(document)).toEqual([
      { line: 1, script: "echo a\n", shown: "a\n" },
      { line: 12, script: "echo b\n", shown: undefined },
    ]);
  });

  test.each<[string, string, boolean]>([
    ["a\nb\n", "a\nb\n", true],
    ["a\nb\n", "a\n", false],
    ["a\n", "a\nb\n", false],
    ["x 17 y\n", "x … y\n", true],
    ["x 17 z\n", "x … y\n", false],
    ["one    two\n", "one  two\n", true],
    ["a\n1\n2\nb\n", "a\n…\nb\n", true],
    ["a\nb\n", "a\n…\nb\n", true],
    ["a\n1\n", "a\n…\nb\n", false],
    ["a.b(c)\n", "a.b(c)\n", true],
    ["aXb(c)\n", "a.b(c)\n", false],
  ])("%j is as %j shows: %j", (output, shown, as) => {
    expect(isAsShown(output, shown)).toBe(as);
  });

  test.each(["npm ci && npm test", "cd ..; npx drover up", "wrangler deploy", "git clean -fdx"])(
    "refuses %j, which would change this checkout, before anything runs",
    async (script) => {
      const home = makeHome("docs");
      const examples = ["touch ran", script].map((text) => ({ line: 1, script: text, shown: undefined }));
      const refused = runExamples(examples, makeReader(home));
      await expect(refused).rejects.toThrow("must not be run");
      expect(existsSync(join(home, "ran"))).toBe(false);
      rmSync(home, { recursive: true, force: true });
    },
  );

  test("has no tool at hand that would, even under another name in a document", async () => {
    const home = makeHome("docs");
    const reader = makeReader(home);
    const script = 'tool=np; "$tool""m" --version || echo "exit code $?"';
    const [outcome] = await runExamples([{ line: 1, script, shown: undefined }], reader);
    expect(outcome).toEqual({ output: "npm is not for examples\nexit code 97\n", code: 0 });
    rmSync(home, { recursive: true, force: true });
  });

  test("notices an example that fails, and what it wrote until then", async () => {
    const home = makeHome("docs");
    const scripts = ["x=1", "echo $x; false; echo 2", "echo 3"];
    const examples = scripts.map((script) => ({ line: 1, script, shown: undefined }));
    const outcomes = await runExamples(examples, makeReader(home)).finally(() =>
      rmSync(home, { recursive: true, force: true }),
    );
    expect(outcomes).toEqual([
      { output: "", code: 0 },
      { output: "1\n", code: 1 },
      { output: "", code: undefined },
    ]);
  });
});
