import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, onTestFinished, test } from "vitest";
import { differencesOf } from "../../cli/pool-edit/differences.ts";
import { documentOf, jsonIn, meantBy } from "../../cli/pool-edit/document.ts";
import { type Bench, environmentFor, openBench } from "./support/command.ts";
import { json, problem } from "./support/control-plane.ts";
import { type AtTerminal, atTerminal, HAS_TERMINAL, NEEDS_TERMINAL } from "./support/terminal.ts";

// `drover pools edit` opens a pool in an editor until it is right, and loses nothing (clouds.md#editing).

let bench: Bench;
let config: object;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());
beforeEach(() => {
  config = { provider: { kind: "none" }, maxInstances: 2, tags: { team: "ci" } };
  bench.plane.on("GET", /^\/v1\/pools\/ci$/, (_seen, res) => json(res, 200, { name: "ci", config }));
  bench.plane.on("PUT", /^\/v1\/pools\/ci$/, ({ body }, res) => {
    config = Object(body);
    json(res, 200, { name: "ci", config });
  });
});

interface Editing {
  terminal: AtTerminal;
  /** What the editor was shown the nth time it was opened. */
  shown(nth: number): string;
  /** Where the command puts files that it keeps. */
  kept: string;
}

/** Edits the pool. The editor saves these texts, one each time it is opened; null: what it was shown. */
function edit(saves: (string | null)[], env: NodeJS.ProcessEnv = {}): Editing {
  const dir = mkdtempSync(join(bench.dir, "edit-"));
  const kept = join(dir, "kept");
  mkdirSync(kept);
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  for (const [at, text] of saves.entries()) {
    if (text !== null) writeFileSync(join(dir, `save-${at + 1}`), text);
  }
  const editor = join(dir, "editor");
  const script = [
    "#!/bin/sh",
    `n=$(($(ls '${dir}' | grep -c '^shown-') + 1))`,
    `cp "$2" '${dir}'/shown-$n`,
    `[ ! -e '${dir}'/save-$n ] || cat '${dir}'/save-$n > "$2"`,
  ];
  writeFileSync(editor, `${script.join("\n")}\n`);
  chmodSync(editor, 0o755);
  const argv = [process.execPath, join(inject("built"), "cli.mjs"), "pools", "edit", "ci"];
  const terminal = atTerminal(argv, bench.dir, {
    ...environmentFor(bench.plane),
    ...{ TMPDIR: kept, EDITOR: `'${editor}' --wait`, ...env },
  });
  return { terminal, kept, shown: (nth) => readFileSync(join(dir, `shown-${nth}`), "utf8") };
}

const puts = () => bench.plane.seen.filter(({ method }) => method === "PUT").length;
/** The file whose name is on the screen. */
const keptIn = (screen: string) => /Your text is kept in (\S+)/.exec(screen)?.[1] ?? "";

describe.skipIf(!HAS_TERMINAL)(`at a terminal${HAS_TERMINAL ? "" : `: ${NEEDS_TERMINAL}`}`, () => {
  test("invalid JSON and broken rules come back to the editor, and the right text is put", async () => {
    const { terminal, shown } = edit([
      '{\n  "provider": {"kind": "none"},\n  "maxInstances": 3,,\n}\n',
      '{"provider": {"kind": "none"}, "maxInstances": -1}\n',
      '# mine\n{"provider": {"kind": "none"}, "maxInstances": 3}\n',
    ]);
    await terminal.says(/FIELD +BEFORE +AFTER\r\n\/maxInstances +2 +3\r\n\/tags +\{"team":"ci"\}\r\n/);
    await terminal.says(/Change the pool ci\? n: no, y: yes, e: edit again/);
    terminal.type("y\r");
    const { code, screen } = await terminal.ended;
    expect([code, config]).toEqual([0, { provider: { kind: "none" }, maxInstances: 3 }]);
    expect(screen).toContain("Pool ci is changed");
    expect(keptIn(screen)).toBe("");
    expect(shown(1)).toMatch(/^# The configuration of the pool ci.*\n#.*\n\{\n {2}"provider"/);
    // The comma is in the third line of the JSON, behind three lines of comments.
    expect(shown(2)).toMatch(/^# The pool ci is not changed yet.*\n# {3}line 6: .*\n# .*\n\{\n/);
    expect(shown(2).split("\n")[5]).toContain("3,,");
    expect(shown(3)).toMatch(/^# .*\n# {3}\/maxInstances: .*\n/);
  });

  test("what the server refuses comes back to the editor, too", async () => {
    const errors = [{ pointer: "/tags/team", detail: "must be something else" }];
    bench.plane.on("PUT", /pools\/ci$/, (_seen, res) => problem(res, 400, "invalid_request", { errors }), 1);
    const { terminal, shown } = edit([
      '{"provider": {"kind": "none"}, "maxInstances": 4}\n',
      '{"provider": {"kind": "none"}, "maxInstances": 5}\n',
    ]);
    for (let asked = 0; asked < 2; asked += 1) {
      await terminal.says(/Change the pool ci\?/);
      terminal.type("y\r");
    }
    expect((await terminal.ended).code).toBe(0);
    expect(config).toMatchObject({ maxInstances: 5 });
    expect(shown(2)).toContain("#   /tags/team: must be something else\n");
  });

  test.each<[string, (string | null)[], string]>([
    ["a text that stays wrong", ['{"maxInstances": 9', null], '{"maxInstances": 9'],
    [
      "a text that is not wanted after all",
      ['{"provider": {"kind": "none"}, "maxInstances": 9}'],
      '"maxInstances": 9',
    ],
  ])("%s is kept in a file whose name is printed, and nothing is put", async (_what, saves, text) => {
    const before = puts();
    const { terminal, kept } = edit(saves);
    if (saves.length === 1) {
      await terminal.says(/Change the pool ci\?/);
      terminal.type("n\r");
    }
    const { code, screen } = await terminal.ended;
    expect([code, puts()]).toEqual([1, before]);
    expect(keptIn(screen).startsWith(kept)).toBe(true);
    expect(readFileSync(keptIn(screen), "utf8")).toContain(text);
  });

  test.each<[string, string | null]>([
    ["left as it is", null],
    ["emptied", ""],
  ])("a text that was %s changes nothing, and leaves no file", async (_what, text) => {
    const before = puts();
    const { terminal, kept } = edit([text]);
    const { code, screen } = await terminal.ended;
    expect([code, puts()]).toEqual([0, before]);
    expect(screen).toContain("Pool ci is as it was");
    expect(existsSync(join(kept, "ci.json"))).toBe(false);
    expect(keptIn(screen)).toBe("");
  });

  test("what somebody else has changed meanwhile is not overwritten", async () => {
    const { terminal } = edit(['{"provider": {"kind": "none"}, "maxInstances": 9}']);
    await terminal.says(/Change the pool ci\?/);
    config = { ...config, maxInstances: 7 };
    terminal.type("y\r");
    const { code, screen } = await terminal.ended;
    expect([code, config]).toMatchObject([125, { maxInstances: 7 }]);
    expect(screen).toContain("Somebody has changed the pool ci meanwhile.");
    expect(readFileSync(keptIn(screen), "utf8")).toContain('"maxInstances": 9');
  });

  test("an editor that fails, and one that is not set, are told", async () => {
    const failed = await edit([], { EDITOR: "false" }).terminal.ended;
    expect([failed.code, failed.screen]).toEqual([
      125,
      expect.stringContaining("The editor has ended with 1: false"),
    ]);
    const none = await edit([], { EDITOR: "" }).terminal.ended;
    expect([none.code, none.screen]).toEqual([125, expect.stringContaining("export EDITOR=nano")]);
    const visual = edit([null], { VISUAL: "true", EDITOR: "false" });
    expect((await visual.terminal.ended).code).toBe(0);
  });
});

test("without a terminal the verb that takes a file is named", async () => {
  const { code, stderr } = await bench.run(["pools", "edit", "ci"]);
  expect(code).toBe(125);
  expect(stderr).toContain("drover pools ci --json | jq .config > pool.json");
  expect(stderr).toContain("drover apply --name ci -f pool.json");
});

test("a text comes back as the JSON that it was, whatever comments stand above it", () => {
  const body = '{\n  "a": "# no comment"\n}';
  for (const faults of [[], [{ text: "x" }], [{ text: "y", line: 2 }, { text: "two\nlines" }]]) {
    expect(jsonIn(documentOf("ci", body, faults))).toBe(`${body}\n`);
  }
});

test.each<[string, string, string]>([
  ["a list", "[]", "it must be one JSON object"],
  ["an unknown field", '{"provider": {"kind": "none"}, "odd": 1}', "odd"],
  ["a kind that does not exist", '{"provider": {"kind": "x"}}', "/provider/kind: must be one of http"],
  ["a field that is not there", '{"provider": {"kind": "fly"}}', "/provider/app"],
])("%s is a fault in words", (_what, text, words) => {
  const meant = meantBy("ci", text, {});
  expect(meant.kind).toBe("faulty");
  expect(JSON.stringify(meant)).toContain(words);
});

test("differences are told field by field, and lists as a whole", () => {
  const before = { a: 1, b: { c: [1], d: null }, e: "x" };
  const after = { a: 1, b: { c: [1, 2], d: null }, f: { g: 1 } };
  expect(differencesOf(before, after)).toEqual([
    { path: "/b/c", before: [1], after: [1, 2] },
    { path: "/e", before: "x", after: undefined },
    { path: "/f", before: undefined, after: { g: 1 } },
  ]);
  expect(differencesOf(after, after)).toEqual([]);
});
