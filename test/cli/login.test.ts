import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, expect, inject, test } from "vitest";
import { tokenText } from "../../src/shared/access/token-text.ts";
import { type Bench, openBench } from "./support/command.ts";
import { json, problem, TOKEN } from "./support/control-plane.ts";
import { type Home, makeHome } from "./support/home.ts";
import { atTerminal, HAS_TERMINAL, NEEDS_TERMINAL } from "./support/terminal.ts";

// `drover login`: a token is checked before it is stored, and is never shown.

let bench: Bench;
let home: Home;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());
beforeEach(() => {
  home = makeHome(bench);
  bench.plane.on("GET", /^\/v1\/caller$/, (_seen, res) =>
    json(res, 200, { by: "ada", project: "default", scopes: ["runs:read"], limits: {}, expiresAt: null }),
  );
});

/** Runs `drover login` with this standard input. */
async function login(input: string, args: string[], more: NodeJS.ProcessEnv = {}) {
  const command = join(inject("built"), "cli.mjs");
  const child = spawn(process.execPath, [command, "login", ...args], { cwd: bench.dir, env: home.env(more) });
  child.stdin.end(input);
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await ended, stdout, stderr };
}

/** The name that is made of a URL of 127.0.0.1. */
const named = () => new URL(bench.plane.url).host.replace(":", "-");

test("a token of standard input is checked, stored for its owner, and used (cli.md#login)", async () => {
  const { code, stdout, stderr } = await login(`${TOKEN}\n`, [bench.plane.url]);
  expect([code, stdout]).toEqual([0, ""]);
  expect(stderr).toContain(
    `Logged in to ${bench.plane.url} as ada. The context ${named()} is stored in ${home.path}.`,
  );
  expect(stderr).toContain("Commands use it from now on.");
  expect(stderr).not.toContain(TOKEN);
  const contexts = { [named()]: { url: bench.plane.url, token: TOKEN } };
  expect(home.read()).toEqual({ version: 1, current: named(), contexts });
  expect(home.modes()).toEqual(["600", "700"]);
  expect((await bench.run(["run", "--", "x"], { env: home.env() })).code).toBe(0);
});

test.skipIf(!HAS_TERMINAL)("at a terminal the token is asked for, and not shown (cli.md#login)", async () => {
  const argv = [
    process.execPath,
    join(inject("built"), "cli.mjs"),
    "login",
    bench.plane.url,
    "--name",
    "work",
  ];
  const terminal = atTerminal(argv, bench.dir, home.env());
  await terminal.says(/The token for http:\S+ \(it is not shown\): /);
  terminal.type(`${TOKEN}\r`);
  const { code, screen } = await terminal.ended;
  expect(code).toBe(0);
  expect(screen).toContain("Logged in to");
  expect(screen).not.toContain(TOKEN);
  expect(home.read()).toMatchObject({ current: "work", contexts: { work: { token: TOKEN } } });
});

test.skipIf(!HAS_TERMINAL)("Ctrl-C at the question stores nothing (cli.md#login)", async () => {
  const argv = [process.execPath, join(inject("built"), "cli.mjs"), "login", bench.plane.url];
  const terminal = atTerminal(argv, bench.dir, home.env());
  await terminal.says(/it is not shown/);
  terminal.type("\u0003");
  const { code, screen } = await terminal.ended;
  expect(code).toBe(130);
  expect(screen).toContain("Not logged in: nothing has been stored.");
  expect(existsSync(home.path)).toBe(false);
});
if (!HAS_TERMINAL) console.warn(NEEDS_TERMINAL);

test("another token for the same Drover replaces the token alone (cli.md#login)", async () => {
  const before = { url: bench.plane.url, token: "old", pool: "gpu", project: "ml" };
  home.write({ version: 1, current: "work", contexts: { work: before } });
  for (const args of [[], [bench.plane.url, "--name", "work"], ["--name", "work"]]) {
    home.write({ version: 1, current: "work", contexts: { work: before } });
    expect(await login(TOKEN, args)).toMatchObject({ code: 0 });
    expect(home.read()).toEqual({
      version: 1,
      current: "work",
      contexts: { work: { ...before, token: TOKEN } },
    });
  }
});

test("with --no-use the context in use stays, and a variable that wins is named (cli.md#login)", async () => {
  const { stderr } = await login(TOKEN, [bench.plane.url, "--no-use", "--name", "spare"]);
  expect(stderr).toContain("To use it: drover context use spare");
  expect(home.read().current).toBeUndefined();
  const variables = { DROVER_URL: "https://drover.example.com", DROVER_TOKEN: "t" };
  const other = await login(TOKEN, [bench.plane.url, "--name", "work"], variables);
  expect(other.stderr).toContain("Commands use it once DROVER_URL is no longer set, which wins over it.");
});

const typo = tokenText(new Uint8Array(64).fill(7)).text.replace(/.$/, (last) => (last === "0" ? "1" : "0"));

test.each<[string, string, string[], RegExp]>([
  ["an empty input", " \n", [], /There is no token on standard input/],
  ["two lines", "a\nb\n", [], /This is no token: it is not one word/],
  ["a typing error", typo, [], /The token has a typing error/],
  ["plain http", "t", ["http://drover.example.com"], /over plain http, others could read your token/],
  ["another protocol", "t", ["ftp://drover.example.com"], /The address is not an http or https URL/],
  [
    "a password in the address",
    "t",
    ["https://a:b@drover.example.com"],
    /must not hold a user or a password/,
  ],
  [
    "the name local",
    "t",
    ["https://a.example.com", "--name", "local"],
    /`local` is the Drover of `drover up`/,
  ],
  ["a bad name", "t", ["https://a.example.com", "--name", "a b"], /--name cannot be `a b`. It has 1 to 63/],
  ["no address and no context", "t", ["--"], /It is not clear which Drover to log in to/],
  ["an unknown context", "t", ["--name", "wrok"], /There is no context `wrok`/],
  ["nobody at the address", "t", ["http://127.0.0.1:1"], /does not answer: .*\n.*Nothing has been stored/],
])("%s stores nothing, and the error says what to do (cli.md#login)", async (_what, input, args, message) => {
  const { code, stderr } = await login(input, args.length > 0 ? args : [bench.plane.url]);
  expect(code).toBe(125);
  expect(stderr).toMatch(message);
  expect(existsSync(home.path)).toBe(false);
});

test("a token that the Drover does not know, or refuses, is not stored (cli.md#login)", async () => {
  const stranger = await login("drv_another", [bench.plane.url]);
  expect(stranger.stderr).toMatch(/does not know this token\.\n.*Nothing has been stored/);
  bench.plane.on("GET", /^\/v1\/caller$/, (_seen, res) => problem(res, 401, "unauthorized"), 1);
  const refused = await login(TOKEN, [bench.plane.url]);
  expect(refused.stderr).toMatch(/does not accept this token: it is unauthorized\n.*Nothing has been stored/);
  expect([stranger.code, refused.code, existsSync(home.path)]).toEqual([125, 125, false]);
});

test("a context of another Drover is never replaced (cli.md#login)", async () => {
  const before = { version: 1, contexts: { work: { url: "https://drover.example.com", token: "t" } } };
  home.write(before);
  const { code, stderr } = await login(TOKEN, [bench.plane.url, "--name", "work"]);
  expect(code).toBe(125);
  expect(stderr).toContain("The context work is for https://drover.example.com.");
  expect(home.read()).toEqual(before);
});
