import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NAME_PATTERN } from "../../src/schema/common.ts";
import { WorkerStateName } from "../../src/schema/pool.ts";
import { RunState } from "../../src/schema/run/run.ts";
import { Signal } from "../../src/schema/run/task.ts";
import { RUN_STATES, WORKER_STATES } from "../../src/shared/run-state.ts";
import { SIGNALS } from "../../src/shared/signals.ts";
import { type Bench, environmentFor, openBench } from "./support/command.ts";
import { json, problem, TOKEN } from "./support/control-plane.ts";
import { submissionOf } from "./support/submission.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

const bodyOf = (args: string[], options?: { cwd?: string; env?: NodeJS.ProcessEnv }) =>
  submissionOf(bench, args, options);

const table: [args: string[], body: object][] = [
  [["--", "make", "-j4"], { argv: ["make", "-j4"] }],
  [["make", "-j4", "--", "x"], { argv: ["make", "-j4", "--", "x"] }],
  [["--", "git", "log", "--", "file"], { argv: ["git", "log", "--", "file"] }],
  [["--", "printf", "", "é\n"], { argv: ["printf", "", "é\n"] }],
  [["--pool", "gpu", "--", "x"], { pool: "gpu" }],
  [["--env", "A=1", "-e", "B=x=y", "--env", "A=2", "--", "x"], { env: { A: "2", B: "x=y" } }],
  [["--env", "EMPTY=", "--", "x"], { env: { EMPTY: "" } }],
  [["--timeout", "1h30m", "--", "x"], { timeout: "1h30m" }],
  [["--queue-timeout", "5m", "--kill-timeout", "0s", "--", "x"], { queueTimeout: "5m", killTimeout: "0s" }],
  [["--label", "team=web", "-l", "sha=a=b", "--", "x"], { labels: { team: "web", sha: "a=b" } }],
  [["--id", "build-17", "--", "x"], { id: "build-17" }],
  [["--cpus", "4", "--", "x"], { resources: { vcpus: 4 } }],
  [["--memory", "2GiB", "--", "x"], { resources: { memory: "2GiB" } }],
  [["--priority", "99", "--", "x"], { priority: 99 }],
  [["--gpus", "2", "--cpus", "8", "--", "x"], { resources: { vcpus: 8, gpus: 2 } }],
  [["--spot", "never", "--arch", "arm64", "--", "x"], { machine: { spot: "never", arch: "arm64" } }],
  [
    ["--zone", "eu-west-1", "--zone", "fsn1", "--gpu-model", "H100", "--", "x"],
    { machine: { zones: ["eu-west-1", "fsn1"], gpu: { model: "H100" } } },
  ],
  [["--dir", "sub/dir", "--", "x"], { dir: "sub/dir" }],
];

test.each(table)("run %j submits %j", async (args, body) => {
  expect(await bodyOf(args)).toMatchObject(body);
});

test("nothing is submitted but what was said: the server's defaults hold", async () => {
  const body = await bodyOf(["--", "x"]);
  expect(body).toEqual({ argv: ["x"], id: expect.stringMatching(NAME_PATTERN) });
});

test("--env NAME takes the value from here", async () => {
  const env = { ...environmentFor(bench.plane), SECRET: "s3" };
  expect(await bodyOf(["--env", "SECRET", "--", "x"], { env })).toMatchObject({ env: { SECRET: "s3" } });
});

describe("with a local Drover", () => {
  const PATHS = `/my/bin:${process.env.PATH}`;
  let below: string;
  let local: { cwd: string; env: NodeJS.ProcessEnv };
  beforeAll(() => {
    below = join(realpathSync(bench.dir), "project", "below");
    mkdirSync(below, { recursive: true });
    mkdirSync(join(bench.dir, "project", ".drover"));
    const context = JSON.stringify({ url: bench.plane.url, token: TOKEN });
    writeFileSync(join(bench.dir, "project", ".drover", "context.json"), context, { mode: 0o600 });
    local = { cwd: below, env: { PATH: PATHS } };
  });

  test("a directory is one of this machine, by default this one", async () => {
    expect(await bodyOf(["--", "x"], local)).toMatchObject({ dir: below });
    expect(await bodyOf(["--dir", "../src", "--", "x"], local)).toMatchObject({
      dir: join(below, "..", "src"),
    });
    expect(await bodyOf(["--dir", "/opt", "--", "x"], local)).toMatchObject({ dir: "/opt" });
  });

  test("P2, P16: the command has the umask and the PATH of this place", async () => {
    const umask = process.umask(0o027);
    try {
      expect(await bodyOf(["--", "x"], local)).toMatchObject({ umask: "027", env: { PATH: PATHS } });
    } finally {
      process.umask(umask);
    }
    const odd = { ...local, env: { PATH: `\${HOME}/bin:${PATHS}` } };
    const said = await bodyOf(["--env", "A=1", "--", "x"], odd);
    expect(said).toMatchObject({ env: { A: "1", PATH: `$\${HOME}/bin:${PATHS}` } });
    const own = await bodyOf(["--env", "PATH=/bin", "--", "x"], local);
    expect(own).toMatchObject({ env: { PATH: "/bin" } });
  });

  test("P2, P16: a run of a file has them, too, where the file does not say otherwise", async () => {
    const file = join(below, "run.json");
    writeFileSync(file, JSON.stringify({ argv: ["x"], env: { A: "1" }, umask: "007" }));
    expect(await bodyOf(["-f", file], local)).toMatchObject({ umask: "007", env: { A: "1", PATH: PATHS } });
    writeFileSync(file, JSON.stringify({ argv: ["x"], env: { PATH: "/bin" } }));
    expect(await bodyOf(["-f", file], local)).toMatchObject({ env: { PATH: "/bin" } });
  });

  test.each([
    ["that does not take directories of this machine", { allowHostPaths: false }, false],
    ["that does", { allowHostPaths: true }, true],
  ])("P8: a run in a pool %s", async (_, config, here) => {
    bench.plane.on("GET", /pools\/build$/, (_seen, res) => json(res, 200, { name: "build", config }), 1);
    const before = bench.plane.seen.length;
    const ended = await bench.run(["run", "--detach", "--pool", "build", "--", "x"], local);
    expect(ended.code).toBe(0);
    const body = bench.plane.seen.slice(before).find(({ method }) => method === "POST")?.body;
    if (here) expect(body).toMatchObject({ dir: below, env: { PATH: PATHS } });
    else expect(body).toEqual({ argv: ["x"], pool: "build", id: expect.stringMatching(NAME_PATTERN) });
    const note = /Pool build does not take directories of this machine.*--upload \./;
    if (here) expect(ended.stderr).toBe("");
    else expect(ended.stderr).toMatch(note);
  });

  test("P8: of a pool that does not exist nothing is said but that", async () => {
    const unknown = { detail: 'there is no pool "nope"' };
    bench.plane.on("GET", /pools\/nope$/, (_seen, res) => problem(res, 404, "unknown_pool", unknown), 1);
    bench.plane.on("POST", /runs$/, (_seen, res) => problem(res, 404, "unknown_pool", unknown), 1);
    const ended = await bench.run(["run", "--detach", "--pool", "nope", "--", "x"], local);
    expect(ended.stderr).toBe(`drover: ${unknown.detail}\n  Choose one of: drover pools\n`);
  });
});

test("P6: a value on the command line is not filled in, but for names of Drover's own", async () => {
  const args = [
    "--env",
    "A=${USER} $${B} ${DROVER_RUN_ID}",
    "--env",
    "TEMPLATE",
    "--",
    "sh",
    "-c",
    "echo ${A}",
  ];
  const env = { ...environmentFor(bench.plane), TEMPLATE: "${HOME}" };
  expect(await bodyOf(args, { env })).toMatchObject({
    argv: ["sh", "-c", "echo ${A}"],
    env: { A: "$${USER} $$${B} ${DROVER_RUN_ID}", TEMPLATE: "$${HOME}" },
  });
});

const durations = /a duration with its unit, such as 250ms, 10s or 1h30m/;
const wrong: [args: string[], ...stderr: RegExp[]][] = [
  [["run"], /No command given/, /drover run -- make test/],
  [["run", "--"], /No command given/],
  [["run", "--timeout", "30", "--", "x"], /--timeout cannot be `30`\. It needs a unit: 30s are seconds/],
  [["run", "--timeout", "0s", "--", "x"], /--timeout/, /longer than zero/],
  [["run", "--timeout", "-5s", "--", "x"], /--timeout/],
  [["run", "--timeout", "999999999d", "--", "x"], /--timeout/, durations],
  [["run", "--queue-timeout", "soon", "--", "x"], /--queue-timeout/, durations],
  [["run", "--kill-timeout", "5", "--", "x"], /--kill-timeout/, /needs a unit: 5s/],
  [["run", "--memory", "lots", "--", "x"], /--memory/, /512MiB/],
  [["run", "--memory", "512", "--", "x"], /--memory/, /needs a unit: 512MiB or 512GiB, or 512B for bytes/],
  [["run", "--cpus", "1025", "--", "x"], /--cpus/, /from 0 to 1024/],
  [["run", "--cpus", "half", "--", "x"], /--cpus/, /such as 2 or 0.5/],
  [["run", "--cpus", "1.0001", "--", "x"], /--cpus/, /at most three digits after the point/],
  [["run", "--priority", "0", "--", "x"], /--priority/, /from 1 to 100/],
  [["run", "--spot", "maybe", "--", "x"], /--spot/, /never, only/],
  [["run", "--arch", "riscv64", "--", "x"], /--arch/, /x64, arm64/],
  [["run", "--gpus", "some", "--", "x"], /--gpus/, /whole number/],
  [["run", "--priority", "101", "--", "x"], /--priority/, /from 1 to 100/],
  [["run", "--label", "team", "--", "x"], /--label/, /name=value/],
  [["run", "--label", "=web", "--", "x"], /--label/, /name=value/],
  [["run", "--env", "NOT_SET_HERE", "--", "x"], /--env/, /NOT_SET_HERE is not set here/],
  [["run", "--env", "", "--", "x"], /--env/],
  [["run", "--dir", "", "--", "x"], /--dir/],
  [["run", "--timeout"], /--timeout/],
  [["run", "--timout", "3s", "--", "x"], /unknown option '--timout'/, /Did you mean --timeout/],
  [["rnu", "--", "x"], /unknown command 'rnu'/, /Did you mean run/],
  [["ps", "--state", "done-ish"], /--state/, /pending, running, complete/],
  [["ps", "--limit", "0"], /--limit/, /from 1/],
  [["ps", "extra"], /too many arguments/],
  [["status"], /missing required argument 'run'/],
  [["logs", "--tail", "much", "r1"], /--tail/, /a number of lines, such as 100, or a size, such as 64KiB/],
  [["logs", "--tail", "1.5", "r1"], /--tail/, /a number of lines/],
  [["abort"], /not clear which runs/, /--label/],
  [["abort", "--all", "r1"], /not clear which runs/],
  [["abort", "--label", "a=b", "r1"], /not clear which runs/],
  [["abort", "--all", "--label", "a=b"], /not clear which runs/],
  [["abort", "--label", "team"], /--label/, /name=value/],
  [["signal", "r1"], /missing required argument 'signal'/],
  [["signal", "r1", "SIGSTOPP"], /cannot send signal SIGSTOPP/, /SIGHUP, SIGINT/],
  [["why"], /missing required argument 'run|worker'/],
  [["workers", "--state", "tired"], /--state/, /booting, idle/],
  [["up", "--port", "65536"], /--port/, /from 1 to 65535/],
  [["up", "--port", "http"], /--port/],
];

test.each(wrong)(
  "%j is refused with 125, by name, and asks nothing of the server",
  async (args, ...stderr) => {
    const before = bench.plane.seen.length;
    const ended = await bench.run(args);
    expect(ended.code).toBe(125);
    expect(ended.stdout.toString()).toBe("");
    for (const pattern of stderr) expect(ended.stderr).toMatch(pattern);
    expect(bench.plane.seen.length).toBe(before);
  },
);

test.each(["SIGUSR1", "usr1"])("a signal may be called %s", async (name) => {
  bench.plane.on("POST", /signal$/, (_seen, res) => json(res, 200, {}), 1);
  const ended = await bench.run(["signal", "--task", "m", "r1", name]);
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  expect(ended.stdout.toString()).toBe("r1 is being sent SIGUSR1\n");
  expect(bench.plane.seen.at(-1)?.body).toEqual({ task: "m", signal: "SIGUSR1" });
});

test("stats are a table, with a total of more than one task", async () => {
  const usage = { cpuMs: 61_000, cpus: 0.5, memoryBytes: 64 * 1024 * 1024, pids: 3 };
  const tasks = [
    { name: "web", state: "running", attempt: "r1/web/1.1", usage: { ...usage, peakMemoryBytes: 2 ** 30 } },
    { name: "prepare", state: "dead", attempt: null, usage: null },
  ];
  const stats = { run: "r1", at: "2026-11-21T08:30:00.000Z", tasks, total: usage };
  bench.plane.on("GET", /stats$/, (_seen, res) => json(res, 200, stats), 1);
  const ended = await bench.run(["stats", "r1"]);
  expect(ended.stdout.toString()).toBe(
    [
      "TASK     STATE    CPU   TIME  MEMORY  PEAK  PIDS",
      "web      running  0.50  1m1s  64MiB   1GiB  3",
      "prepare  ended    -     -     -       -     -",
      "total             0.50  1m1s  64MiB   -     3",
      "",
    ].join("\n"),
  );
});

test("what only the server can judge is said by the name of the flag", async () => {
  const errors = [
    { pointer: "/id", detail: "must be 1 to 63 lower-case letters" },
    { pointer: "/env/A B", detail: "must be letters" },
    { pointer: "/resources/memory", detail: "is too much" },
    { pointer: "/argv/0", detail: "must name a command" },
    { pointer: "", detail: "must have at most 256KiB" },
  ];
  const refuse = (_seen: unknown, res: Parameters<typeof problem>[0]) =>
    problem(res, 400, "invalid_request", { detail: "the run is not valid", errors });
  bench.plane.on("POST", /^\/v1\/runs$/, refuse, 1);
  const ended = await bench.run(["run", "--id", "NO", "--", "x"]);
  expect(ended.code).toBe(125);
  expect(ended.stderr).toBe(
    [
      "drover: This run is not accepted.",
      "  --id: must be 1 to 63 lower-case letters",
      "  --env A B: must be letters",
      "  --memory: is too much",
      "  the command: must name a command",
      "  the run: must have at most 256KiB",
      "",
    ].join("\n"),
  );
});

test.each([["--help"], ["help"], ["run", "--help"], ["help", "run"], ["ps", "-h"], ["--version"], []])(
  "%j %j is answered on stdout with 0",
  async (...args) => {
    const ended = await bench.run(args);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(ended.stdout.toString()).toMatch(
      args[0] === "--version" ? /^drover 0\.0\.0-test\n$/ : /^Usage: drover/,
    );
  },
);

test.each(["up", "run", "ps", "status", "logs", "abort", "signal", "stats", "why", "workers"])(
  "the help of %s has examples",
  async (verb) => {
    const ended = await bench.run([verb, "--help"]);
    expect(ended.stdout.toString()).toMatch(new RegExp(`Examples:\\n  drover ${verb}`));
  },
);

test("the command's names of states and signals are those of the wire", () => {
  expect(RunState.options).toEqual(RUN_STATES);
  expect(WorkerStateName.options).toEqual(WORKER_STATES);
  expect(Signal.options).toEqual(SIGNALS);
});
