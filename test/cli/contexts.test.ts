import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { choiceOf, type Where } from "../../cli/config/choice.ts";
import { type Bench, openBench } from "./support/command.ts";
import { ControlPlane, json, TOKEN } from "./support/control-plane.ts";
import { type Home, makeHome } from "./support/home.ts";

// Contexts: which Drover a command means, and what `drover context` shows and changes.

let bench: Bench;
let home: Home;
/** Another Drover, that of the context `other`. */
let other: ControlPlane;
/** A directory in which a `drover up` runs. */
let local: string;
beforeAll(async () => {
  bench = await openBench();
  other = await new ControlPlane().start();
  local = join(bench.dir, "local");
  mkdirSync(join(local, ".drover"), { recursive: true });
  const text = JSON.stringify({ url: bench.plane.url, token: TOKEN });
  writeFileSync(join(local, ".drover/context.json"), text, { mode: 0o600 });
  for (const plane of [bench.plane, other]) {
    plane.on("GET", /^\/v1\/pools$/, (_seen, res) => json(res, 200, { items: [], service: [] }));
  }
});
afterAll(async () => {
  await other.stop();
  await bench.close();
});
beforeEach(() => {
  home = makeHome(bench);
});

const drover = (args: string[], more: NodeJS.ProcessEnv = {}, cwd = local) =>
  bench.run(args, { env: home.env(more), cwd });
const stored = (current?: string, more: object = {}) =>
  home.write({
    version: 1,
    ...(current === undefined ? {} : { current }),
    contexts: { other: { url: other.url, token: TOKEN, ...more } },
  });

describe("one thing chooses the Drover (cli.md#which)", () => {
  const where = (more: Partial<Where> = {}): Where => ({ env: {}, cwd: "/", ...more });
  const url = { DROVER_URL: "https://a.example.com", DROVER_TOKEN: "t" };

  test.each<[string, Partial<Where>, string | undefined, object]>([
    ["nothing", {}, undefined, { kind: "nearest" }],
    ["the current context", {}, "work", { kind: "context", name: "work" }],
    ["the current context local", {}, "local", { kind: "nearest" }],
    ["a URL, over the current context", { env: url }, "work", { kind: "variables", url: url.DROVER_URL }],
    ["DROVER_STATE, over it", { env: { DROVER_STATE: "s" } }, "work", { kind: "state", directory: "s" }],
    ["DROVER_CONTEXT, over it", { env: { DROVER_CONTEXT: "a" } }, "work", { kind: "context", name: "a" }],
    ["DROVER_CONTEXT=local, over it", { env: { DROVER_CONTEXT: "local" } }, "work", { kind: "nearest" }],
    ["--context, over a URL", { context: "a", env: url }, "work", { kind: "context", name: "a" }],
    [
      "--context local, over DROVER_STATE",
      { context: "local", env: { DROVER_STATE: "s" } },
      "w",
      { kind: "nearest" },
    ],
    ["--state, over a URL", { state: "s", env: url }, "work", { kind: "state", directory: "s" }],
    [
      "empty variables choose nothing",
      { env: { DROVER_URL: "", DROVER_CONTEXT: "" } },
      "w",
      { kind: "context" },
    ],
  ])("%s", (_what, more, current, choice) => {
    expect(choiceOf(where(more), () => current)).toMatchObject(choice);
  });

  test.each<[string, Partial<Where>, RegExp]>([
    ["both flags", { state: "s", context: "a" }, /--state and --context are both given/],
    [
      "a URL and a context",
      { env: { ...url, DROVER_CONTEXT: "a" } },
      /DROVER_URL and DROVER_CONTEXT are both set/,
    ],
    [
      "a state and a context",
      { env: { DROVER_STATE: "s", DROVER_CONTEXT: "a" } },
      /DROVER_STATE and DROVER_CONTEXT/,
    ],
    ["a token alone, with a flag", { context: "a", env: { DROVER_TOKEN: "t" } }, /DROVER_URL is not/],
    ["a URL alone", { env: { DROVER_URL: url.DROVER_URL } }, /DROVER_URL is set, but DROVER_TOKEN is not/],
  ])("%s at once are refused", (_what, more, message) => {
    expect(() => choiceOf(where(more), () => "work")).toThrow(message);
  });

  test("the config is not read if a flag or the environment has chosen", () => {
    const never = () => {
      throw new Error("it was read");
    };
    expect(choiceOf(where({ state: "s" }), never).kind).toBe("state");
    expect(choiceOf(where({ env: url }), never).kind).toBe("variables");
  });
});

test.each<[string, string[], NodeJS.ProcessEnv, string | undefined, "other" | "local"]>([
  ["the one in use", [], {}, "other", "other"],
  ["the one of --context", ["--context", "other"], {}, undefined, "other"],
  ["the one of DROVER_CONTEXT", [], { DROVER_CONTEXT: "other" }, undefined, "other"],
  ["local, of --context", ["--context", "local"], {}, "other", "local"],
  ["local, if none is in use", [], {}, undefined, "local"],
])(
  "a command talks to the Drover of a context: %s (cli.md#which)",
  async (_what, flags, env, current, asked) => {
    stored(current);
    const before = { other: other.seen.length, local: bench.plane.seen.length };
    expect(await drover([...flags, "pools"], env)).toMatchObject({ code: 0, stderr: "" });
    const grown = { other: other.seen.length - before.other, local: bench.plane.seen.length - before.local };
    expect(grown).toEqual(asked === "other" ? { other: 1, local: 0 } : { other: 0, local: 1 });
  },
);

test("a context that does not exist is named, with those that do (cli.md#contexts)", async () => {
  stored("other");
  for (const args of [
    ["--context", "wrok", "ps"],
    ["context", "use", "wrok"],
    ["context", "remove", "wrok"],
  ]) {
    const ended = await drover(args);
    expect(ended.code).toBe(125);
    expect(ended.stderr).toContain("There is no context `wrok`.\n  The contexts are: local, other.\n");
  }
  expect(home.read()).toMatchObject({ current: "other" });
});

test("`use`, `list` and `remove` do what they say, and no list shows a token (cli.md#contexts)", async () => {
  stored();
  const list = async () => (await drover(["context", "list"])).stdout.toString();
  expect(await list()).toMatch(
    /^CONTEXT +DROVER +POOL\nlocal \* +the nearest `drover up`\nother +http:\S+\n$/,
  );
  expect((await drover(["context", "use", "other"])).stderr).toBe("drover: Commands use other.\n");
  expect(await list()).toMatch(/\nlocal {2}.*\nother \* /);
  const items = JSON.parse((await drover(["context", "list", "--json"])).stdout.toString());
  expect(items).toEqual([
    { name: "local", inUse: false, url: null, pool: null },
    { name: "other", inUse: true, url: other.url, pool: null },
  ]);
  const removed = await drover(["context", "remove", "other"]);
  expect(removed.stderr).toContain("It was in use: commands now use the Drover of `drover up`.");
  expect(home.read()).toEqual({ version: 1, contexts: {} });
});

test("`show` says where each value comes from, and of the token only its id (cli.md#which)", async () => {
  const secret = { secret: "deploy", as: "env" };
  stored("other", { project: "ml", pool: "gpu", env: { CI: "1" }, secrets: { KEY: secret } });
  const shown = async (args: string[], env: NodeJS.ProcessEnv = {}) =>
    JSON.parse((await drover([...args, "context", "show", "--json"], env)).stdout.toString());
  const from = `context other, in ${home.path}`;
  expect(await shown([])).toEqual({
    context: "other",
    by: "its context is in use",
    url: other.url,
    values: [
      { what: "context", value: "other", from: "its context is in use" },
      { what: "Drover", value: other.url, from },
      { what: "token", value: "(set)", from },
      { what: "project", value: "ml", from: "context other" },
      { what: "pool", value: "gpu", from },
      { what: "variable", value: "CI=1", from },
      { what: "secret", value: "KEY=deploy:env", from },
    ],
  });
  const overridden = await shown(["--project", "web"], { DROVER_CONTEXT: "other" });
  expect(overridden.by).toBe("DROVER_CONTEXT is set");
  expect(overridden.values).toContainEqual({ what: "project", value: "web", from: "--project" });
  const variables = { DROVER_URL: other.url, DROVER_TOKEN: TOKEN, DROVER_PROJECT: "etl" };
  expect((await shown([], variables)).values).toEqual([
    { what: "context", value: "(none)", from: "DROVER_URL is set" },
    { what: "Drover", value: other.url, from: "DROVER_URL" },
    { what: "token", value: "(set)", from: "DROVER_TOKEN" },
    { what: "project", value: "etl", from: "DROVER_PROJECT" },
  ]);
  const file = join(local, ".drover/context.json");
  expect((await shown(["--context", "local"])).values).toContainEqual({
    what: "token",
    value: "(set)",
    from: file,
  });
});

test("an error about address or token names the context, and how to store another token", async () => {
  home.write({
    version: 1,
    current: "gone",
    contexts: { gone: { url: "http://127.0.0.1:1", token: TOKEN } },
  });
  expect((await drover(["status", "r1"])).stderr).toContain("Check the context `gone` and the network.");
  stored("other", { token: "another" });
  const refused = (await drover(["pools"])).stderr;
  expect(refused).toContain("does not know your token");
  expect(refused).toContain("Check the context `other`.");
});

test("a project of the context is sent, and a flag or a variable wins over it (cli.md#which)", async () => {
  stored("other", { project: "ml" });
  const sent = async (args: string[], env: NodeJS.ProcessEnv = {}) => {
    await drover([...args, "pools"], env);
    return other.seen.at(-1)?.headers["drover-project"];
  };
  expect(await sent([])).toBe("ml");
  expect(await sent([], { DROVER_PROJECT: "etl" })).toBe("etl");
  expect(await sent(["--project", "web"], { DROVER_PROJECT: "etl" })).toBe("web");
});

test.each<[string, string[], object]>([
  ["a pool", ["--pool", "gpu"], { pool: "gpu", env: { A: "1", B: "2" } }],
  ["a variable, beside the others", ["--env", "A=9"], { env: { A: "9", B: "2" } }],
  ["only this variable", ["--clear", "env", "--env", "C=3"], { env: { C: "3" } }],
  ["no variables", ["--clear", "env"], {}],
  [
    "a secret",
    ["--secret", "KEY=k:env"],
    { env: { A: "1", B: "2" }, secrets: { KEY: { secret: "k", as: "env" } } },
  ],
])("`set` sets %s (cli.md#contexts)", async (_what, flags, defaults) => {
  stored("other", { env: { A: "1", B: "2" } });
  expect((await drover(["context", "set", ...flags])).code).toBe(0);
  expect(home.read().contexts).toEqual({ other: { url: other.url, token: TOKEN, ...defaults } });
});

test("`set` without anything to set, and a project for local, are refused (cli.md#contexts)", async () => {
  expect((await drover(["context", "set"])).stderr).toContain("Nothing to set.");
  expect((await drover(["context", "set", "--project", "ml"])).stderr).toContain("local has no project");
});

test("`drover up` says if commands use a context, and not what it starts (cli.md#which)", async () => {
  // A state directory that cannot be made ends `drover up` before anything starts.
  const up = ["up", "--state", join(home.dir, "file/state")];
  writeFileSync(join(home.dir, "file"), "");
  const line = "drover: Commands use the context other. To use this Drover: drover context use local\n";
  stored("other");
  expect((await drover(up)).stderr).toContain(line);
  stored();
  expect((await drover(up)).stderr).not.toContain("Commands use");
  expect((await drover(up, { DROVER_CONTEXT: "other" })).stderr).toContain(line);
});
