import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { RUN_ORDERS, sortRuns } from "../../client/runs/sort-runs.ts";
import type { RunSummary } from "../../src/schema/run/run.ts";
import { type Bench, openBench } from "./support/command.ts";
import { json, summaryOf } from "./support/control-plane.ts";

// What `drover ps` asks for, and in which order it lists runs (api.md#finding).

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(() => bench.close());

const at = (minute: number) => `2026-11-21T08:0${minute}:00.000Z`;
const run = (id: string, submitted: number, patch: Partial<RunSummary> = {}) =>
  summaryOf(id, { submittedAt: at(submitted), startedAt: null, finishedAt: null, ...patch });

/** Newest first, as the API lists them. */
const RUNS = [
  run("waits", 5, { state: "pending", pool: "b" }),
  run("works", 4, { startedAt: at(4) }),
  run("fails", 3, { state: "complete", exitCode: 1, startedAt: at(3), finishedAt: at(7) }),
  run("lost", 2, { state: "unknown", startedAt: at(2), finishedAt: at(8), pool: "b" }),
  run("ends", 1, { state: "complete", exitCode: 0, startedAt: at(1), finishedAt: at(6) }),
];

describe("the order of a list (api.md#finding)", () => {
  test.each([
    ["created", ["waits", "works", "fails", "lost", "ends"]],
    ["ended", ["lost", "fails", "ends", "waits", "works"]],
    ["duration", ["lost", "works", "ends", "fails", "waits"]],
    ["state", ["lost", "fails", "works", "waits", "ends"]],
    ["pool", ["waits", "lost", "works", "fails", "ends"]],
  ] as const)("by %s", (order, expected) => {
    const sorted = sortRuns(RUNS, order, Date.parse(at(9)) + 30_000);
    expect(sorted.map(({ id }) => id)).toEqual(expected);
  });

  test("leaves the list that it was given as it is", () => {
    const given = Object.freeze([...RUNS]);
    for (const order of RUN_ORDERS) expect(sortRuns(given, order, 0)).toHaveLength(RUNS.length);
  });
});

describe("drover ps", () => {
  const listed = (stdout: Buffer) =>
    stdout
      .toString()
      .trimEnd()
      .split("\n")
      .slice(1)
      .map((line) => line.split(" ")[0]);
  const serve = (items: RunSummary[]) =>
    bench.plane.on("GET", /^\/v1\/runs$/, (_, res) => json(res, 200, { items, next: null, service: [] }));

  test("asks the server for what the flags name, in all states", async () => {
    serve([]);
    const before = Date.now();
    const ended = await bench.run(["ps", "--failed", "--since", "2h", "--search", "a&b c"]);
    expect(ended.stdout.toString()).toBe("No runs match.\n");
    const [asked, ...others] = bench.plane.seen;
    expect(others).toEqual([]);
    const { since, ...query } = Object.fromEntries(asked?.query ?? []);
    expect(query).toEqual({ failed: "true", search: "a&b c", state: "all", limit: "101" });
    const from = Date.parse(since ?? "") + 2 * 3_600_000;
    expect(from >= before - 1 && from <= Date.now()).toBe(true);
  });

  test("leaves out no state that --state names beside them", async () => {
    serve([]);
    await bench.run(["ps", "--failed", "--state", "complete"]);
    expect(bench.plane.seen.map(({ query }) => query.getAll("state"))).toEqual([["complete"]]);
  });

  test("sorts before it cuts", async () => {
    serve(RUNS);
    const { stdout, stderr } = await bench.run(["ps", "--all", "--sort", "ended", "--limit", "2"]);
    expect(listed(stdout)).toEqual(["lost", "fails"]);
    expect(stderr).toMatch(/more runs/);
  });

  test("says so if there are more runs than it sorts", async () => {
    const runs = Array.from({ length: 1_000 }, (_, index) => run(`r-${index}`, 1));
    bench.plane.on("GET", /^\/v1\/runs$/, (_, res) =>
      json(res, 200, { items: runs, next: "more", service: [] }),
    );
    const { stdout, stderr } = await bench.run(["ps", "--all", "--sort", "state", "--limit", "1"]);
    expect(listed(stdout)).toEqual(["r-0"]);
    expect(stderr).toMatch(/only the latest 10000 were sorted/);
  });

  test("refuses an order that there is not", async () => {
    const { code, stderr } = await bench.run(["ps", "--sort", "age"]);
    expect(code).toBe(125);
    expect(stderr).toMatch(/--sort[\s\S]*created, ended, duration, state, pool/);
  });
});
