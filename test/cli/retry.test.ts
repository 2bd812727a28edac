import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Bench, openBench } from "./support/command.ts";
import { json, problem, statusOf, summaryOf } from "./support/control-plane.ts";

// The flags of `drover run` about retries, and what people are told of tries and of parked runs (retry.md).

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(() => bench.close());

/** What was submitted last. */
function sent(): Record<string, unknown> {
  const last = bench.plane.seen.findLast(({ method, path }) => method === "POST" && path === "/v1/runs");
  return last?.body as Record<string, unknown>; // by the command
}

describe("the flags of drover run (retry.md#fields)", () => {
  test.each<[string[], unknown]>([
    [["--retry", "oom,machine_lost"], { on: ["oom", "machine_lost"] }],
    [["--retry", "oom", "--retry", "exit"], { on: ["oom", "exit"] }],
    [["--retry", "exit", "--retry-max", "5"], { on: ["exit"], max: 5 }],
    [["--retry", "exit", "--retry-backoff", "30s"], { on: ["exit"], backoff: { first: "30s" } }],
    [["--retry", "oom", "--retry-memory", "2x"], { on: ["oom"], escalate: { oom: { memory: 2 } } }],
    [["--retry", "oom", "--retry-memory", "1.5"], { on: ["oom"], escalate: { oom: { memory: 1.5 } } }],
    [
      ["--retry", "interrupted", "--retry-on-demand"],
      { on: ["interrupted"], escalate: { interrupted: "on-demand" } },
    ],
    [["--retry", "boot", "--park"], { on: ["boot"], park: true }],
    [["--park"], { park: true }],
    [[], undefined],
  ])("%j", async (flags, retry) => {
    await bench.run(["run", "--quiet", ...flags, "--", "make"]);
    expect(sent().retry).toEqual(retry);
  });

  const inFile = {
    on: ["exit"],
    max: 1,
    backoff: { first: "5s", factor: 3 },
    escalate: { oom: { memory: 2 } },
  };
  test.each<[string[], object]>([
    [[], inFile],
    [["--park"], { ...inFile, park: true }],
    [["--retry-max", "4"], { ...inFile, max: 4 }],
    [["--retry-backoff", "9s"], { ...inFile, backoff: { first: "9s", factor: 3 } }],
    [
      ["--retry", "oom", "--retry-on-demand"],
      { ...inFile, on: ["oom"], escalate: { ...inFile.escalate, interrupted: "on-demand" } },
    ],
  ])("%j say what differs from the file", async (flags, retry) => {
    const file = join(bench.dir, "run.json");
    writeFileSync(file, JSON.stringify({ argv: ["make"], retry: inFile }));
    await bench.run(["run", "--quiet", ...flags, "-f", file]);
    expect(sent().retry).toEqual(retry);
  });

  test.each<[string[], string]>([
    [["--retry", "luck"], "It must be one of: exit, timeout, oom,"],
    [["--retry", "oom,"], "It must be one of: exit, timeout, oom,"],
    [["--retry", "oom", "--retry-memory", "1x"], "It must be a factor from 1.1x to 16x, such as 2x."],
    [["--retry", "oom", "--retry-max", "21"], "It must be a whole number from 1 to 20."],
    [["--retry-max", "2"], "--retry-max needs --retry."],
    [["--retry-on-demand"], "--retry-on-demand needs --retry."],
    [["--park", "--retry-max", "2"], "--retry-max needs --retry."],
  ])("%j is refused before anything is sent", async (flags, text) => {
    const { code, stderr } = await bench.run(["run", ...flags, "--", "make"]);
    expect([code, stderr]).toEqual([125, expect.stringContaining(text)]);
    expect(bench.plane.seen.some(({ method }) => method === "POST")).toBe(false);
  });

  test("what the server refuses is named as on the command line", async () => {
    const errors = [{ pointer: "/retry/escalate/oom", detail: "needs `resources.memory` of each task" }];
    bench.plane.on("POST", /^\/v1\/runs$/, (_seen, res) => problem(res, 400, "invalid_request", { errors }));
    const { stderr } = await bench.run(["run", "--retry", "oom", "--retry-memory", "2x", "--", "make"]);
    expect(stderr).toContain("--retry-memory: needs `resources.memory` of each task");
  });
});

const GIB = 2 ** 30;
const aTry = { epoch: null, worker: null, finishedAt: null, onDemand: false, perHour: null, text: "" };

describe("drover status", () => {
  test("shows each try with its cause, its memory and its price, and when the next one begins", async () => {
    const nextAt = "2026-11-21T08:30:15.000Z";
    const items = [
      { ...aTry, try: 1, cause: "oom" as const, text: "ran out of memory (2GiB)", worker: "w-1" },
      { ...aTry, try: 2, cause: null, perHour: 0.04 },
    ].map((one) => ({ ...one, memoryBytes: 2 * GIB * one.try }));
    bench.plane.runs.set("r1", {
      ...statusOf("r1", { state: "running" }),
      retries: { try: 2, of: 4, nextAt, items },
    });
    const { stdout } = await bench.run(["status", "r1"]);
    expect(stdout.toString()).toContain(`2 of 4, from ${nextAt} on`);
    expect(stdout.toString()).toContain(
      "  try 1 on w-1, 2GiB: it ran out of memory, ran out of memory (2GiB)\n",
    );
    expect(stdout.toString()).toContain("  try 2, 4GiB, 0.040 per hour\n");
  });

  test("says that a run is parked, and how to have it run again", async () => {
    const since = "2026-11-21T08:30:15.000Z";
    const reason = "after one try: ended with exit code 2";
    const ended = statusOf("r1", { state: "complete", exitCode: 2 });
    bench.plane.runs.set("r1", { ...ended, parked: { since, reason } });
    expect((await bench.run(["status", "r1"])).stdout.toString()).toContain(
      `since ${since}, ${reason} (drover redrive)`,
    );
  });
});

describe("drover redrive (retry.md#redrive)", () => {
  const redrives = () => bench.plane.seen.filter(({ path }) => path.endsWith("/redrive"));
  beforeEach(() => {
    bench.plane.on("POST", /\/redrive$/, (seen, res) => {
      json(res, 201, statusOf(`k-${seen.path.split("/")[3]}`, { state: "pending" }));
    });
    for (const id of ["r1", "r2"]) bench.plane.runs.set(id, statusOf(id, { state: "complete", exitCode: 2 }));
  });

  test("of runs by name", async () => {
    const { code, stdout } = await bench.run(["redrive", "r1", "r2"]);
    expect([code, stdout.toString()]).toEqual([0, "r1 runs again as k-r1\nr2 runs again as k-r2\n"]);
  });

  test.each<[string[], string[]]>([
    [["--all"], []],
    [["--label", "set=nightly"], ["set:nightly"]],
  ])("of parked runs: %j", async (flags, labels) => {
    bench.plane.on("GET", /^\/v1\/runs$/, (_seen, res) => {
      json(res, 200, {
        items: [summaryOf("r2", { state: "complete", exitCode: 2 })],
        next: null,
        service: [],
      });
    });
    const { stdout } = await bench.run(["redrive", ...flags]);
    expect(stdout.toString()).toBe("r2 runs again as k-r2\n");
    const list = bench.plane.seen.find(({ method, path }) => method === "GET" && path === "/v1/runs");
    expect([list?.query.getAll("label"), list?.query.get("parked")]).toEqual([labels, "true"]);
  });

  test("refuses to guess which", async () => {
    for (const words of [[], ["r1", "--all"]]) {
      const { code, stderr } = await bench.run(["redrive", ...words]);
      expect([code, stderr]).toEqual([
        125,
        expect.stringContaining("It is not clear which runs to redrive."),
      ]);
    }
    expect(redrives()).toEqual([]);
  });
});

test("drover ps --parked asks for parked runs only", async () => {
  await bench.run(["ps", "--parked"]);
  const list = bench.plane.seen.findLast(({ path }) => path === "/v1/runs");
  expect(list?.query.get("parked")).toBe("true");
});
