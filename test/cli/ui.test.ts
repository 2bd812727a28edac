import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, onTestFinished, test } from "vitest";
import { openerFor } from "../../cli/browser/open.ts";
import { type Bench, openBench } from "./support/command.ts";
import { json, problem, TOKEN } from "./support/control-plane.ts";
import { type Home, makeHome } from "./support/home.ts";
import { atTerminal, HAS_TERMINAL, NEEDS_TERMINAL } from "./support/terminal.ts";

// `drover ui`: the address of the page with a code for one session, and the browser that opens it.

const CODE = `drvc_${"a".repeat(48)}`;

let bench: Bench;
let home: Home;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());
beforeEach(() => {
  home = makeHome(bench);
  bench.plane.seen.length = 0;
  bench.plane.on("POST", /^\/v1\/sessions$/, (_seen, res) =>
    json(res, 201, { code: CODE, expiresAt: "2026-11-21T08:01:00.000Z" }),
  );
});

const known = () => ({ DROVER_URL: bench.plane.url, DROVER_TOKEN: TOKEN });
const ui = (args: string[], env: NodeJS.ProcessEnv = known()) =>
  bench.run(["ui", ...args], { env: home.env(env) });

test.each<[page: string[], path: string]>([
  [[], "/ui"],
  [["/"], "/ui"],
  [["ui"], "/ui"],
  [["runs"], "/ui/runs"],
  [["/ui/runs/build-17"], "/ui/runs/build-17"],
  [["runs?state=failed&label=team:x"], "/ui/runs?state=failed&label=team:x"],
])(
  "ui %j prints the address of %s, alone on stdout, and says what it does (cli.md#ui)",
  async (page, path) => {
    const { code, stdout, stderr } = await ui(["--no-open", ...page]);
    expect([code, stdout.toString()]).toEqual([0, `${bench.plane.url}${path}#code=${CODE}\n`]);
    expect(stderr).toBe("drover: The address works once, within a minute, and signs in whoever opens it.\n");
    expect(bench.plane.seen.map(({ method, path: asked }) => `${method} ${asked}`)).toEqual([
      "POST /v1/sessions",
    ]);
  },
);

test.each(["../v1/runs", "runs#x", "..", "runs/../../docs"])(
  "%s is no page, and no code is made for it (cli.md#ui)",
  async (page) => {
    const { code, stdout, stderr } = await ui(["--no-open", page]);
    expect([code, stdout.toString(), bench.plane.seen]).toEqual([125, "", []]);
    expect(stderr).toContain("must be a page of Drover");
  },
);

test("it is the Drover of the context (cli.md#which)", async () => {
  const work = { url: bench.plane.url, token: TOKEN };
  home.write({ version: 1, current: "work", contexts: { work } });
  expect((await ui(["--no-open"], {})).stdout.toString()).toContain(`${bench.plane.url}/ui#code=`);
});

test("a context with a project says that the browser is not confined to it (cli.md#ui)", async () => {
  const { stderr } = await ui(["--no-open"], { ...known(), DROVER_PROJECT: "ml" });
  expect(stderr).toContain("not in the project of DROVER_PROJECT alone");
});

test.each([
  ["unauthorized", 401, "it is not valid", ["it is not valid", "Check DROVER_TOKEN."]],
  ["beyond_limits", 403, "not from this network", ["not from this network"]],
] as const)("a refusal is said: %s (cli.md#ui)", async (code, status, detail, lines) => {
  bench.plane.on("POST", /^\/v1\/sessions$/, (_seen, res) => problem(res, status, code, { detail }), 1);
  const ended = await ui(["--no-open"]);
  expect([ended.code, ended.stdout.toString()]).toEqual([125, ""]);
  for (const line of lines) expect(ended.stderr).toContain(line);
});

test("without a terminal no browser is opened (cli.md#ui)", async () => {
  const { code, stderr } = await ui([], { ...known(), DISPLAY: ":0" });
  expect([code, stderr]).toEqual([
    0,
    expect.stringContaining("Open it yourself, since nobody is at a terminal."),
  ]);
});

test.each<[NodeJS.Platform, NodeJS.ProcessEnv, object]>([
  ["linux", { DISPLAY: ":0" }, { program: "xdg-open" }],
  ["linux", { WAYLAND_DISPLAY: "wayland-0" }, { program: "xdg-open" }],
  ["linux", { DISPLAY: "" }, { why: expect.stringContaining("no display") }],
  ["darwin", {}, { program: "open" }],
  ["win32", {}, { program: "rundll32" }],
])("on %s with %j the browser is opened by %j (cli.md#ui)", (platform, env, opener) => {
  expect(openerFor({ env, interactive: true }, platform)).toMatchObject(opener);
  expect(openerFor({ env, interactive: false }, platform)).toEqual({ why: "nobody is at a terminal" });
});

/** A folder with an `xdg-open` that keeps its arguments, and then does this. */
function opener(then: string): { bin: string; opened: () => string } {
  const bin = mkdtempSync(join(bench.dir, "bin-"));
  const program = join(bin, "xdg-open");
  writeFileSync(program, `#!/bin/sh\necho "$*" >'${bin}/opened'\n${then}\n`);
  chmodSync(program, 0o755);
  return { bin, opened: () => readFileSync(join(bin, "opened"), "utf8").trimEnd() };
}

/** A folder that is enough of a PATH for a terminal, and has no `xdg-open`. */
function withoutOpener(): string {
  const bin = mkdtempSync(join(bench.dir, "bin-"));
  const found = spawnSync("sh", ["-c", "command -v script"], { encoding: "utf8" });
  symlinkSync(found.stdout.trim(), join(bin, "script"));
  return bin;
}

/** `drover ui` at a terminal with a display. */
function atDisplay(bin: string, more: NodeJS.ProcessEnv = {}) {
  const argv = [process.execPath, join(inject("built"), "cli.mjs"), "ui", "runs"];
  const path = `${bin}:${process.env.PATH}`;
  return atTerminal(argv, bench.dir, home.env({ ...known(), DISPLAY: ":0", PATH: path, ...more })).ended;
}

describe.skipIf(!HAS_TERMINAL)(`at a terminal${HAS_TERMINAL ? "" : `: ${NEEDS_TERMINAL}`}`, () => {
  test("the browser gets a file that leads there, and no argument has the code (cli.md#ui)", async () => {
    const { bin, opened } = opener("exit 0");
    const { code, screen } = await atDisplay(bin);
    expect(code).toBe(0);
    expect(screen).toContain(`${bench.plane.url}/ui/runs#code=${CODE}`);
    expect(screen).toContain("It is opened in your browser.");
    expect(opened()).not.toContain(CODE);
    const file = fileURLToPath(opened());
    expect(readFileSync(file, "utf8")).toContain(`content="0; url=${bench.plane.url}/ui/runs#code=${CODE}"`);
    expect((statSync(file).mode & 0o777).toString(8)).toBe("600");
    expect((statSync(join(file, "..")).mode & 0o777).toString(8)).toBe("700");
  });

  test("an opener that stays for as long as the browser is not waited for (cli.md#ui)", async () => {
    const { bin } = opener('while [ -e "$0" ]; do sleep 0.1; done');
    onTestFinished(() => rmSync(join(bin, "xdg-open")));
    const { code, screen } = await atDisplay(bin);
    expect([code, screen]).toEqual([0, expect.stringContaining("It is opened in your browser.")]);
  });

  test("the file of the next time replaces it (cli.md#ui)", async () => {
    const { bin, opened } = opener("exit 0");
    await atDisplay(bin);
    const first = opened();
    await atDisplay(bin);
    expect(opened()).toBe(first);
  });

  test.each<[string, () => { bin: string; more?: NodeJS.ProcessEnv }, RegExp]>([
    ["fails", () => opener("exit 3"), /since xdg-open has failed with exit code 3\./],
    ["is missing", () => ({ bin: "", more: { PATH: withoutOpener() } }), /since xdg-open cannot be started/],
    [
      "has no display",
      () => ({ bin: opener("exit 0").bin, more: { DISPLAY: "" } }),
      /since there is no display here/,
    ],
    [
      "is for CI",
      () => ({ bin: opener("exit 0").bin, more: { CI: "true" } }),
      /since nobody is at a terminal/,
    ],
  ])(
    "if the opener %s, the reason is said, and the address is printed (cli.md#ui)",
    async (_what, made, why) => {
      const { bin, more } = made();
      const { code, screen } = await atDisplay(bin, more);
      expect(code).toBe(0);
      expect(screen).toContain(`/ui/runs#code=${CODE}`);
      expect(screen.replace(/\s+/g, " ")).toMatch(why);
    },
  );
});
