import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { Defaults } from "../../cli/config/config.ts";
import { withDefaults } from "../../cli/config/defaults.ts";
import type { SpecFlags } from "../../cli/run/spec.ts";
import { type Bench, openBench } from "./support/command.ts";
import { problem, TOKEN } from "./support/control-plane.ts";
import { type Home, makeHome } from "./support/home.ts";

// What `drover run` takes from its context.

const secret = (name: string) => ({ secret: name, as: "env" as const });
const all: Defaults = { pool: "gpu", env: { A: "1", B: "2" }, secrets: { KEY: secret("key") } };

test.each<[string, SpecFlags, Defaults, Partial<SpecFlags>]>([
  ["all of them", {}, all, { pool: "gpu", env: { A: "1", B: "2" }, secret: { KEY: secret("key") } }],
  ["none, if there are none", { pool: "a" }, {}, { pool: "a", env: undefined, secret: undefined }],
  ["not the pool, if a flag names one", { pool: "cpu" }, all, { pool: "cpu" }],
  ["not a variable of a flag", { env: { A: "9" } }, all, { env: { A: "9", B: "2" } }],
  ["not a secret of a flag", { secret: { KEY: secret("x") } }, all, { secret: { KEY: secret("x") } }],
  ["not a secret whose name is a variable", { env: { KEY: "9" } }, all, { secret: undefined }],
  ["not a variable whose name is a secret", { secret: { A: secret("a") } }, all, { env: { B: "2" } }],
])("a command gets %s (cli.md#defaults)", (_what, flags, defaults, expected) => {
  expect(withDefaults({ flags, content: undefined }, defaults).flags).toMatchObject(expected);
});

test.each<[string, SpecFlags, object, object, SpecFlags]>([
  ["all of them", {}, {}, { pool: "gpu", env: all.env, secrets: all.secrets }, {}],
  ["not the pool of the file", {}, { pool: "cpu" }, { pool: "cpu" }, {}],
  ["not a variable of the file", {}, { env: { A: "9" } }, { env: { A: "9", B: "2" } }, {}],
  [
    "those beside a flag, which replaces the file's",
    { env: { C: "3" } },
    { env: { D: "4" } },
    {},
    { env: { ...all.env, C: "3" } },
  ],
  ["not a secret whose name is a variable", {}, { env: { KEY: "9" } }, { env: { KEY: "9", ...all.env } }, {}],
  ["nothing in place of what is no map", {}, { env: [1], secrets: "x" }, { env: [1], secrets: "x" }, {}],
])("a file gets %s (cli.md#defaults)", (_what, flags, content, expected, expectedFlags) => {
  const given = withDefaults({ flags, content }, all);
  expect(given.content).toMatchObject(expected);
  expect(given.flags).toEqual({ ...flags, ...expectedFlags });
});

let bench: Bench;
let home: Home;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());
beforeEach(() => {
  home = makeHome(bench);
});

const submitted = async (args: string[], options: { cwd?: string; env: NodeJS.ProcessEnv }) => {
  const ended = await bench.run(["run", "-d", ...args], options);
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  return bench.plane.seen.findLast(({ method }) => method === "POST")?.body;
};

test("a run has the pool, variables and secrets of the context in use (cli.md#defaults)", async () => {
  home.write({
    version: 1,
    current: "work",
    contexts: { work: { url: bench.plane.url, token: TOKEN, ...all } },
  });
  const expected = { pool: "gpu", env: { A: "9", B: "2" }, secrets: { KEY: secret("key") } };
  expect(await submitted(["--env", "A=9", "--", "x"], { env: home.env() })).toMatchObject(expected);
  const file = join(home.dir, "run.json");
  writeFileSync(file, JSON.stringify({ argv: ["x"], env: { A: "9" } }));
  expect(await submitted(["-f", file], { env: home.env() })).toMatchObject(expected);
});

test("a run of a local Drover has those of `local`, a PATH among them (cli.md#defaults)", async () => {
  const cwd = join(home.dir, "project");
  mkdirSync(join(cwd, ".drover"), { recursive: true });
  const context = JSON.stringify({ url: bench.plane.url, token: TOKEN });
  writeFileSync(join(cwd, ".drover/context.json"), context, { mode: 0o600 });
  home.write({ version: 1, contexts: { local: { env: { A: "1", PATH: "/opt/bin" } } } });
  expect(await submitted(["--", "x"], { cwd, env: home.env() })).toMatchObject({
    env: { A: "1", PATH: "/opt/bin" },
  });
});

test("a run that is refused names the context that adds to it (cli.md#defaults)", async () => {
  const work = { url: bench.plane.url, token: TOKEN };
  const refuse = () =>
    bench.plane.on("POST", /^\/v1\/runs$/, (_seen, res) => problem(res, 404, "unknown_pool"), 1);
  const refused = async (more: Defaults) => {
    home.write({ version: 1, current: "work", contexts: { work: { ...work, ...more } } });
    refuse();
    return (await bench.run(["run", "--", "x"], { env: home.env() })).stderr;
  };
  const line = "The context work adds to each run: drover context show";
  expect(await refused(all)).toContain(line);
  expect(await refused({})).not.toContain(line);
});

test("a run of a Drover that variables name has none (cli.md#defaults)", async () => {
  home.write({
    version: 1,
    current: "work",
    contexts: { work: { url: bench.plane.url, token: TOKEN, ...all } },
  });
  const env = home.env({ DROVER_URL: bench.plane.url, DROVER_TOKEN: TOKEN });
  const body = await submitted(["--", "x"], { env });
  expect(body).not.toHaveProperty("pool");
  expect(body).not.toHaveProperty("env");
});
