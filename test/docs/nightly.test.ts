import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { endDrover, killIfThere, makeHome, type RunningDrover, startDrover } from "../edge/support/drover.ts";
import { until } from "../local/support/scratch.ts";
import { openProxy, type Trouble } from "./support/proxy.ts";

// docs/recipes/nightly.sh makes one run a day, whatever becomes of the script or of the control plane
// (api.md#idempotency).

const SCRIPT = join(import.meta.dirname, "../../docs/recipes/nightly.sh");

let home = "";
let up: RunningDrover;
const scripts: ChildProcess[] = [];
beforeAll(async () => {
  home = makeHome("recipe-nightly");
  up = await startDrover(home);
});
afterAll(async () => {
  for (const { pid, exitCode } of scripts) if (exitCode === null && pid !== undefined) killIfThere(-pid);
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

/** Writes down what is to run each night. The label tells its runs from others. */
function write(name: string, script: string, more: object = {}): void {
  const argv = ["sh", "-c", script];
  writeFileSync(join(home, `${name}.json`), JSON.stringify({ argv, dir: home, labels: { name }, ...more }));
}

/** Starts the script as cron does, on a day. */
function night(name: string, day = "2026-11-21", token = up.token, more: object = {}) {
  const child = spawn("sh", [SCRIPT, `${name}.json`, day], {
    cwd: home,
    env: { PATH: process.env.PATH, DROVER_URL: up.url, DROVER_TOKEN: token, ...more },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  scripts.push(child);
  const said = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text) => {
    said.stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    said.stderr += text;
  });
  const ended = new Promise<typeof said & { code: number | null }>((resolve) =>
    child.once("close", (code) => resolve({ ...said, code })),
  );
  return { child, ended };
}

const runsOf = async (name: string) =>
  (await up.json(200, "GET", `/v1/runs?state=all&label=name:${name}`)).items;
const isRunning = (name: string) =>
  until(`${name} runs`, async () => (await runsOf(name))[0]?.state === "running" || undefined);

test("a cron that fires twice makes one run, and both end as it does; another day, another run", async () => {
  write("twice", "echo out; echo err >&2; exit 3");
  const ends = await Promise.all([night("twice").ended, night("twice").ended]);
  for (const { code, stdout, stderr } of ends) {
    expect([code, stdout]).toEqual([3, "out\n"]);
    expect(stderr).toContain("\nerr\n");
  }
  expect(await runsOf("twice")).toHaveLength(1);
  expect((await night("twice", "2026-11-22").ended).code).toBe(3);
  expect(await runsOf("twice")).toHaveLength(2);
});

test("killed and started again it finds its run", async () => {
  write("killed", "until [ -e enough ]; do sleep 0.1; done; exit 4");
  const { child, ended } = night("killed");
  await isRunning("killed");
  killIfThere(-(child.pid ?? 0));
  expect((await ended).code).toBe(null);
  const again = night("killed");
  mkdirSync(join(home, "enough"));
  expect((await again.ended).code).toBe(4);
  expect(await runsOf("killed")).toHaveLength(1);
});

test("a control plane that is killed while it waits, or away when it begins, is waited for", async () => {
  write("waits", "until [ -e again ]; do sleep 0.1; done; echo all of it; exit 5");
  write("begins", "exit 6");
  const waits = night("waits");
  await isRunning("waits");
  killIfThere(-up.pid);
  await up.ended;
  const begins = night("begins");
  up = await startDrover(home);
  mkdirSync(join(home, "again"));
  expect(await waits.ended).toMatchObject({ code: 5, stdout: "all of it\n" });
  expect(await begins.ended).toMatchObject({ code: 6 });
  expect([await runsOf("waits"), await runsOf("begins")].map(({ length }) => length)).toEqual([1, 1]);
});

test.each<[string, string, object, number]>([
  ["by-signal", "kill -KILL $$", {}, 137],
  ["too-long", "sleep 600", { timeout: "1s" }, 124],
  ["nowhere", "true", { dir: "not-there" }, 125],
])("its exit code says how the run ended: %s", async (name, script, more, code) => {
  write(name, script, more);
  expect((await night(name).ended).code).toBe(code);
});

test.each<[string, object, string | undefined, string]>([
  ["refused", { timeout: "soon" }, undefined, "/timeout"],
  ["stranger", {}, "drv_wrong", "401"],
])("what no other try can mend ends it at once, and it says why: %s", async (name, more, token, why) => {
  write(name, "true", more);
  const { code, stderr } = await night(name, undefined, token).ended;
  expect(code).toBe(125);
  expect(stderr).toContain(why);
});

/** Where a `curl` comes first that gives up sooner: for it ninety seconds are two, and 200 tries one. */
function impatientPath(): string {
  const bin = join(home, "impatient");
  mkdirSync(bin, { recursive: true });
  const change = 'case $a in 90) a=2 ;; 200) a=1 ;; esac; set -- "$@" "$a"; shift';
  const script = `#!/bin/sh\nfor a; do ${change}; done\nPATH=\${PATH#*:} exec curl "$@"\n`;
  writeFileSync(join(bin, "curl"), script);
  chmodSync(join(bin, "curl"), 0o755);
  return `${bin}:${process.env.PATH}`;
}

test.each<[string, Trouble, RegExp, object]>([
  ["an-answer-that-is-cut", "cut", /\?wait=/, { code: 125, stdout: "" }],
  ["a-log-that-is-cut", "cut", /stdout$/, { code: 125, stdout: "" }],
  ["a-log-that-takes-long", "dripping", /stdout$/, { code: 3, stdout: "0123456789abcdef\n" }],
])(
  "it prints all of a log, or says that there is no whole answer: %s",
  async (name, trouble, where, said) => {
    write(name, "echo 0123456789abcdef; exit 3");
    expect((await night(name).ended).code).toBe(3);
    const proxy = await openProxy(() => up.url);
    proxy.trouble = (request) => (where.test(request) ? trouble : undefined);
    const env = { DROVER_URL: proxy.url, PATH: impatientPath() };
    expect(await night(name, undefined, undefined, env).ended).toMatchObject(said);
    await proxy.close();
  },
);

test.each(["host.sh", "nightly.sh"])("a shell can read the script of a recipe: %s", (name) => {
  expect(spawnSync("sh", ["-n", join(SCRIPT, "..", name)]).status).toBe(0);
});
