import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Bench, environmentFor, openBench } from "./support/command.ts";
import { TOKEN } from "./support/control-plane.ts";

// Which Drover a command means: P5, and what goes with it.

let bench: Bench;
/** A state directory that is not called `.drover`, and a directory in which another Drover was started. */
let state: string;
let other: string;
beforeAll(async () => {
  bench = await openBench();
  state = stateDir("state", bench.plane.url);
  other = join(stateDir("other/.drover", "http://127.0.0.1:1"), "..");
});
afterAll(() => bench.close());

function stateDir(name: string, url: string): string {
  const directory = join(bench.dir, name);
  mkdirSync(join(directory, "objects"), { recursive: true });
  writeFileSync(join(directory, "context.json"), JSON.stringify({ url, token: TOKEN }), { mode: 0o600 });
  writeFileSync(join(directory, "up.json"), "{}");
  return directory;
}

const bare = (more: NodeJS.ProcessEnv = {}) => ({ PATH: process.env.PATH, ...more });

test.each<[string, (run: string[]) => [args: string[], options: { cwd: string; env: NodeJS.ProcessEnv }]]>([
  ["in the state directory", (run) => [run, { cwd: state, env: bare() }]],
  ["below it", (run) => [run, { cwd: join(state, "objects"), env: bare() }]],
  ["by DROVER_STATE", (run) => [run, { cwd: "/", env: bare({ DROVER_STATE: state }) }]],
  ["by a relative DROVER_STATE", (run) => [run, { cwd: bench.dir, env: bare({ DROVER_STATE: "state" }) }]],
  [
    "by DROVER_STATE, where another one is",
    (run) => [run, { cwd: other, env: bare({ DROVER_STATE: state }) }],
  ],
  ["by --state", (run) => [["--state", state, ...run], { cwd: "/", env: bare() }]],
  [
    "by --state, whatever the environment says",
    (run) => [
      ["--state", state, ...run],
      { cwd: other, env: bare({ DROVER_STATE: other, DROVER_URL: "http://127.0.0.1:1", DROVER_TOKEN: "x" }) },
    ],
  ],
])("P5: a Drover with a state directory of another name is found %s", async (_how, call) => {
  const [args, options] = call(["run", "--", "x"]);
  expect(await bench.run(args, options)).toMatchObject({ code: 0, stderr: "" });
});

test("P5: a Drover that is found by its state directory runs commands in this directory", async () => {
  const env = bare({ DROVER_STATE: state });
  await bench.run(["run", "-d", "--", "x"], { cwd: "/", env });
  expect(bench.plane.seen.at(-1)?.body).toMatchObject({ dir: "/" });
});

test.each<[string, string[], NodeJS.ProcessEnv]>([
  ["DROVER_STATE", [], { DROVER_STATE: "/nowhere" }],
  ["--state", ["--state", "/nowhere"], {}],
])("P5: %s without a Drover says how to start it there", async (_how, flags, env) => {
  expect(await bench.run([...flags, "ps"], { cwd: other, env: bare(env) })).toMatchObject({
    code: 125,
    stderr:
      "drover: No Drover is running with its state in /nowhere.\n  Start it: drover up --state /nowhere\n",
  });
});

test("P5: two that are named at once are refused, and neither is asked", async () => {
  const before = bench.plane.seen.length;
  const env = { ...environmentFor(bench.plane), DROVER_STATE: state };
  const ended = await bench.run(["ps"], { env });
  expect(ended.code).toBe(125);
  expect(ended.stderr).toMatch(/DROVER_URL and DROVER_STATE are both set/);
  expect(bench.plane.seen.length).toBe(before);
});

test("P5: a context.json of something else is not taken for a Drover", async () => {
  const project = join(bench.dir, "project");
  mkdirSync(project);
  const text = JSON.stringify({ url: bench.plane.url, token: TOKEN });
  writeFileSync(join(project, "context.json"), text, { mode: 0o600 });
  const ended = await bench.run(["ps"], { cwd: project, env: bare() });
  expect(ended.stderr).toMatch(/No Drover found in this directory or above it/);
});

test("P5: one that does not answer any more is started again where its state is", async () => {
  const dead = stateDir("dead", "http://127.0.0.1:1");
  const ended = await bench.run(["ps"], { env: bare({ DROVER_STATE: dead }) });
  expect(ended.stderr).toContain(`drover up --state ${dead}`);
});
