import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { type Bench, openBench } from "./support/command.ts";
import { json, summaryOf, TOKEN } from "./support/control-plane.ts";
import { type Home, makeHome } from "./support/home.ts";
import { atTerminal, HAS_TERMINAL, NEEDS_TERMINAL } from "./support/terminal.ts";

// `drover completion`: what a shell gets for half a line, and what real shells make of that.

let bench: Bench;
let home: Home;
/** A folder with `drover` in it. */
let bin: string;
beforeAll(async () => {
  bench = await openBench();
  bin = join(bench.dir, "bin");
  mkdirSync(bin);
  const script = `#!/bin/sh\nexec "${process.execPath}" "${join(inject("built"), "cli.mjs")}" "$@"\n`;
  writeFileSync(join(bin, "drover"), script);
  chmodSync(join(bin, "drover"), 0o755);
});
afterAll(() => bench.close());
beforeEach(() => {
  home = makeHome(bench);
  home.write({ version: 1, current: "work", contexts: { work: { url: bench.plane.url, token: TOKEN } } });
  const runs = [
    summaryOf("build-17"),
    summaryOf("build-9", { state: "failed", command: "make \u001b[31m\tall" }),
  ];
  bench.plane.on("GET", /^\/v1\/runs$/, (_seen, res) =>
    json(res, 200, { items: runs, next: null, service: [] }),
  );
  bench.plane.on("GET", /^\/v1\/pools$/, (_seen, res) =>
    json(res, 200, { items: [{ name: "gpu" }, { name: "default" }], service: [] }),
  );
});

const env = () => home.env({ PATH: `${bin}:${process.env.PATH}` });

/** What the shell is told for these words: the first line, and the words. */
async function asked(shell: string, words: string[], more: NodeJS.ProcessEnv = {}) {
  const ended = await bench.run(["complete", shell, "--", ...words], { env: { ...env(), ...more } });
  expect([ended.code, ended.stderr]).toEqual([0, ""]);
  const [kind = "", ...lines] = ended.stdout.toString().trimEnd().split("\n");
  return { kind, words: lines.map((line) => line.split("\t")[0]), lines };
}

describe("what stands at the cursor follows from the verbs (cli.md#completion)", () => {
  test.each<[string[], string, string[]]>([
    [["pul"], "words", ["pull"]],
    [["pools", "del"], "words", ["delete"]],
    [["pools", "de"], "words", ["delete", "default"]],
    [["context", "re"], "words", ["remove"]],
    [["--context", "work", "pul"], "words", ["pull"]],
    [["-V", "pul"], "words", ["pull"]],
    [["help", "pools", "de"], "words", ["delete"]],
    [["run", "--spo"], "words", ["--spot"]],
    [["run", "--spot", ""], "words", ["never", "only"]],
    [["run", "--spot=ne"], "words", ["--spot=never"]],
    [["ps", "--state", "fa"], "words", ["failed"]],
    [["completion", ""], "words", ["bash", "zsh", "fish"]],
    [["logs", ""], "words", ["build-17", "build-9"]],
    [["logs", "-f", "build-1"], "words", ["build-17"]],
    [["wait", "build-17", "build-"], "words", ["build-17", "build-9"]],
    [["run", "--pool", "g"], "words", ["gpu"]],
    [["run", "--pool=g"], "words", ["--pool=gpu"]],
    [["pools", "delete", ""], "words", ["gpu", "default"]],
    [["top", "--pool", "g"], "words", ["gpu"]],
    [["ui", "w"], "words", ["workers"]],
    [["context", "use", ""], "words", ["local", "work"]],
    [["--context", "w"], "words", ["work"]],
    [["run", "-f", ""], "files", []],
    [["run", "--upload", ""], "directories", []],
    [["up", "--state", ""], "directories", []],
    [["run", "ma"], "commands", []],
    [["run", "--", "ma"], "commands", []],
    [["run", "--", "make", "--al"], "files", []],
    [["run", "make", "--al"], "files", []],
    [["run", "--timeout", ""], "nothing", []],
    [["status", "build-17", ""], "nothing", []],
    [["nonsense", ""], "nothing", []],
    [["run", "--nonsense="], "nothing", []],
  ])("%j: %s %j", async (words, kind, expected) => {
    expect(await asked("zsh", words)).toMatchObject({ kind, words: expected });
  });

  test("bash takes a flag apart at its equals sign, and completes what stands behind", async () => {
    expect((await asked("bash", ["run", "--pool", "=", "g"])).words).toEqual(["gpu"]);
    expect((await asked("bash", ["run", "--pool", "="])).words).toEqual(["gpu", "default"]);
  });

  test("each verb and each of its flags is completed, and what is hidden is not", async () => {
    const verbs = (await asked("fish", [""])).words;
    expect(verbs).toEqual(expect.arrayContaining(["run", "up", "login", "context", "help"]));
    expect(verbs).not.toContain("complete");
    const flags = (await asked("fish", ["context", "set", "-"])).words;
    expect(flags.sort()).toEqual(["--clear", "--env", "--help", "--name", "--pool", "--project", "--secret"]);
  });
});

test("a word has its meaning behind a tab, which acts on no terminal (cli.md#completion)", async () => {
  const { lines } = await asked("fish", ["logs", "build-9"]);
  expect(lines).toEqual(["build-9\tfailed: make \\x1b[31m all"]);
});

test("ids are asked of the Drover that the line means (cli.md#completion)", async () => {
  const dead = { url: "http://127.0.0.1:1", token: TOKEN };
  const work = { url: bench.plane.url, token: TOKEN };
  home.write({ version: 1, current: "dead", contexts: { dead, work } });
  expect((await asked("zsh", ["logs", ""])).words).toEqual([]);
  expect((await asked("zsh", ["--context", "work", "logs", ""])).words).toEqual(["build-17", "build-9"]);
  expect((await asked("zsh", ["--context=work", "logs", ""])).words).toEqual(["build-17", "build-9"]);
});

test("what fails is silent: no Drover, no answer, a broken config (cli.md#completion)", async () => {
  expect((await asked("bash", ["logs", ""], { HOME: "/nowhere" })).words).toEqual([]);
  expect((await asked("bash", ["logs", ""], { DROVER_TOKEN: "alone" })).words).toEqual([]);
  bench.plane.on("GET", /^\/v1\/runs$/, () => {}, 1);
  expect((await asked("bash", ["logs", ""])).words).toEqual([]);
  home.write("{");
  expect((await asked("bash", ["context", "use", ""])).words).toEqual([]);
  expect((await asked("bash", ["pul"])).words).toEqual(["pull"]);
});

test("another shell is refused, with those that there are (cli.md#completion)", async () => {
  const ended = await bench.run(["completion", "tcsh"], { env: env() });
  expect(ended.code).toBe(125);
  expect(ended.stderr).toMatch(/Allowed choices are bash, zsh, fish/);
});

/** What bash makes of the script for these words, of which the last one is at the cursor. */
function inBash(words: string[], cwd = bench.dir): SpawnSyncReturns<string> {
  const script = [
    "set -u",
    "source <(drover completion bash)",
    'COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))',
    "_drover",
    'printf "%s\\n" "${COMPREPLY[@]-}"',
  ];
  return spawnSync("bash", ["--norc", "-c", script.join("\n"), "bash", "drover", ...words], {
    ...{ cwd, env: env(), encoding: "utf8" },
  });
}

describe("bash (cli.md#completion)", () => {
  // The control plane answers in this process, which `spawnSync` would stop: so no ids here.
  test.each<[string[], string[]]>([
    [["pul"], ["pull"]],
    [
      ["run", "--spot", "="],
      ["never", "only"],
    ],
    [["run", "--spot", "=", "ne"], ["never"]],
    [
      ["context", "use", ""],
      ["local", "work"],
    ],
    [["run", "--upload", "b"], ["bin"]],
    [["run", "-f", "bin/d"], ["bin/drover"]],
    [["run", "--", "drov"], ["drover"]],
    [["run", "--timeout", ""], [""]],
    [["run", "-e", "$(touch ran)", "--spot", "o"], ["only"]],
  ])("%j: %j", (words, expected) => {
    expect(inBash(words)).toMatchObject({ status: 0, stdout: `${expected.join("\n")}\n`, stderr: "" });
  });

  test("nothing that is typed is evaluated", () => {
    inBash(["run", "-e", "$(touch ran)", "`touch ran`", "x"], home.dir);
    expect(spawnSync("ls", [home.dir], { encoding: "utf8" }).stdout).toBe("");
  });
});

/** A shell that a person uses, and how it is made to complete. */
const SHELLS: { shell: string; argv: string[]; setUp: string }[] = [
  { shell: "bash", argv: ["bash", "--norc", "--noprofile"], setUp: "source <(drover completion bash)" },
  {
    shell: "zsh",
    argv: ["zsh", "-f"],
    setUp: "autoload -U compinit; compinit -u; source <(drover completion zsh)",
  },
  { shell: "fish", argv: ["fish", "--no-config"], setUp: "drover completion fish | source" },
];

describe.each(SHELLS)("$shell at a terminal (cli.md#completion)", ({ shell, argv, setUp }) => {
  const isMissing = spawnSync(shell, ["--version"]).error !== undefined;
  const skipped = isMissing
    ? `${shell} is not installed (Debian: ${shell}), so its completion was not tried`
    : "";
  if (!HAS_TERMINAL || skipped !== "") console.warn(HAS_TERMINAL ? skipped : NEEDS_TERMINAL);

  test.skipIf(!HAS_TERMINAL || isMissing).each<[string, string, RegExp]>([
    ["a verb", "drover pul\t", /drover pull/],
    ["the id of a run", "drover logs build-1\t", /build-17/],
    ["a value behind an equals sign", "drover run --pool=g\t", /--pool=gpu/],
    ["a context", "drover context use wo\t", /use work/],
    ["a file", "drover run -f bin/dro\t", /bin\/drover/],
  ])("completes %s", async (_what, typed, completed) => {
    const terminal = atTerminal(argv, bench.dir, { ...env(), TERM: "dumb", PS1: "$ " });
    terminal.type(`${setUp}\recho re""ady\r`);
    await terminal.says(/\nready/);
    terminal.type(typed);
    await terminal.says(completed);
    terminal.type("\u0003\u0004");
  });
});
