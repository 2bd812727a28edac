import { afterEach, beforeEach, expect, test } from "vitest";
import type { RunStatus } from "../../src/schema/run/run.ts";
import { type Bench, openBench } from "./support/command.ts";
import { json, taskOf } from "./support/control-plane.ts";

// What the command says of the size of a run: tasks.md#peaks, tasks.md#size-advice.

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(() => bench.close());

const MIB = 2 ** 20;
const GIB = 2 ** 30;
type Advice = NonNullable<RunStatus["advice"]>[number];
const memory: Advice = {
  task: "main",
  resource: "memory",
  asked: 8 * GIB,
  peak: 300 * MIB,
  ask: 384 * MIB,
  text: "used at most 300MiB of its 8GiB of memory",
};
const cpus: Advice = {
  ...memory,
  resource: "vcpus",
  asked: 4,
  peak: 0.3,
  ask: 0.5,
  text: "used 0.3 of its 4 CPUs",
};
const disk: Advice = { ...memory, resource: "disk", ask: GIB, text: "used 0.8GiB of disk" };

const run = async (...flags: string[]) => {
  bench.plane.runs.delete("r1");
  return (await bench.run(["run", ...flags, "--id", "r1", "--", "x"])).stderr;
};

test.each<[string, Advice[], string[], string]>([
  ["nothing to say", [], ["main"], ""],
  [
    "one request",
    [memory],
    ["main"],
    "drover: Run r1 used at most 300MiB of its 8GiB of memory. Next time: --memory 384MiB\n",
  ],
  [
    "several requests",
    [memory, cpus, disk],
    ["main"],
    "drover: Run r1 used at most 300MiB of its 8GiB of memory, and used 0.3 of its 4 CPUs, and used " +
      "0.8GiB of disk. Next time: --memory 384MiB, --cpus 0.5, `disk` 1GiB\n",
  ],
  [
    "a group",
    [{ ...memory, task: "web" }],
    ["web", "db"],
    "drover: In run r1, task web used at most 300MiB of its 8GiB of memory. " +
      "Next time: `memory` 384MiB of task web\n",
  ],
])(
  "drover run says in one line what was far off: %s (tasks.md#size-advice)",
  async (_what, advice, names, line) => {
    const tasks = names.map((name) => taskOf({ name, phase: "dead" }));
    const more = advice.length === 0 ? {} : { advice };
    bench.plane.ends = { state: "complete", exitCode: 0, tasks, ...more };
    expect(await run()).toBe(line);
    expect(await run("--quiet")).toBe("");
  },
);

test("drover status shows the peaks of each attempt, and no word of what was not measured", async () => {
  const attempt = { state: "exited", startedAt: null, finishedAt: null } as const;
  const exit = { code: 0, signal: null, oomKilled: false, message: "" };
  const peaks = {
    memoryBytes: 300 * MIB + 5,
    cpuMs: 12_000,
    cpus: 0.4,
    diskBytes: 8 * MIB,
    diskIsLeast: true,
  };
  const attempts = [
    { ...attempt, id: "r1/main/1.1", exit },
    { ...attempt, id: "r1/main/1.2", exit, peaks },
    { ...attempt, id: "r1/main/1.3", exit, peaks: { memoryBytes: MIB } },
  ];
  const advice = [memory];
  bench.plane.ends = { state: "complete", exitCode: 0, tasks: [taskOf({ phase: "dead", attempts })], advice };
  await run("--quiet");
  const { stdout } = await bench.run(["status", "r1"]);
  const lines = stdout
    .toString()
    .split("\n")
    .map((line) => line.trim());
  expect(lines.filter((line) => /^attempt|^used|^Size/.test(line))).toEqual([
    "Size       Run r1 used at most 300MiB of its 8GiB of memory. Next time: --memory 384MiB",
    "attempt r1/main/1.1: exited with exit code 0",
    "attempt r1/main/1.2: exited with exit code 0",
    "used at most 0.40 CPUs, 12s of processor time, 300MiB of memory, >8MiB of disk",
    "attempt r1/main/1.3: exited with exit code 0",
    "used at most 1MiB of memory",
  ]);
});

test("P35: drover stats of an ended run shows its peaks, and a dash for what was not measured", async () => {
  const ended = { state: "dead", attempt: null, usage: null };
  const tasks = [
    { name: "web", ...ended, peaks: { memoryBytes: 300 * MIB, cpuMs: 12_000, cpus: 0.4, diskBytes: 0 } },
    { name: "db", ...ended },
  ];
  const stats = { run: "r1", at: null, tasks, total: null };
  bench.plane.on("GET", /stats$/, (_seen, res) => json(res, 200, stats), 1);
  const { stdout } = await bench.run(["stats", "r1"]);
  expect(stdout.toString()).toBe(
    "TASK  STATE  MOST CPU  TIME  MOST MEMORY  MOST DISK\n" +
      "web   ended  0.40      12s   300MiB       0B\n" +
      "db    ended  -         -     -            -\n",
  );
});

test("drover stats and drover status name the GPUs of attempts (devices.md#report)", async () => {
  const exit = { code: 0, signal: null, oomKilled: false, message: "" };
  const attempt = { id: "r1/main/1.1", state: "exited", startedAt: null, finishedAt: null, exit } as const;
  const attempts = [{ ...attempt, devices: ["g0", "g1"] }];
  bench.plane.ends = { state: "complete", exitCode: 0, tasks: [taskOf({ phase: "dead", attempts })] };
  await run("--quiet");
  expect((await bench.run(["status", "r1"])).stdout.toString()).toContain(
    "attempt r1/main/1.1: exited with exit code 0\n    GPUs: g0 g1\n",
  );
  const usage = { cpuMs: 1_000, memoryBytes: MIB, pids: 1 };
  const main = { name: "main", state: "running", attempt: attempt.id, devices: ["g0", "g1"], usage };
  const stats = { run: "r1", at: null, tasks: [main], total: usage };
  bench.plane.on("GET", /stats$/, (_seen, res) => json(res, 200, stats), 1);
  expect((await bench.run(["stats", "r1"])).stdout.toString()).toMatch(/\n\nGPUs of main: g0 g1\n$/);
});
