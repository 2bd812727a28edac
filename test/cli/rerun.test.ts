import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { RunSummary } from "../../src/schema/run/run.ts";
import { type Bench, openBench } from "./support/command.ts";
import { json, statusOf, summaryOf } from "./support/control-plane.ts";

// What `drover rerun` submits again, and what it says about it (api.md#reruns).

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(() => bench.close());

/** The runs that were submitted by the command, as it sent them. */
function submitted(): Record<string, unknown>[] {
  const posts = bench.plane.seen.filter(({ method, path }) => method === "POST" && path === "/v1/runs");
  return posts.flatMap(({ body }) => {
    const sent = body as { runs?: Record<string, unknown>[] } & Record<string, unknown>; // by the command
    return sent.runs ?? [sent];
  });
}

/** A run that has ended, with all that a spec can have. */
function known(id: string, more: object = {}): void {
  const run = statusOf(id, { state: "complete", exitCode: 3 });
  const spec = {
    ...run.spec,
    labels: { set: "a" },
    snapshot: `sha256:${"a".repeat(64)}`,
    env: { CI: "1" },
    ...more,
  };
  bench.plane.runs.set(id, { ...run, spec });
}

describe("one run", () => {
  test("is submitted as it was, as another run that names it, and followed", async () => {
    known("r1");
    bench.plane.ends = { state: "complete", exitCode: 7 };
    bench.plane.write("stdout", "again\n");
    const ended = await bench.run(["rerun", "r1"]);
    expect(ended.code).toBe(7);
    expect(ended.stdout.toString()).toBe("again\n");
    expect(ended.stderr).toMatch(/^drover: Submits run r1 again as r\S+, unchanged\.\n/);
    const { id: _, ...spec } = bench.plane.runs.get("r1")?.spec ?? {};
    const id = expect.stringMatching(/^r[0-9a-z]{19}$/);
    expect(submitted()).toEqual([{ ...spec, id, rerunOf: "r1" }]);
  });

  test("changes what flags say, and stderr says what was there before, but no values", async () => {
    known("r1", { timeout: "10m" });
    const flags = ["--timeout", "1h", "--memory", "4GiB", "--env", "CI=no", "--env", "NEW=secret"];
    const ended = await bench.run(["rerun", "--detach", "--id", "r2", ...flags, "r1"]);
    expect(ended).toMatchObject({ code: 0, stdout: Buffer.from("r2\n") });
    expect(ended.stderr).toBe(
      "drover: Submits run r1 again as r2, with --timeout 1h instead of 10m, " +
        "--memory 4GiB instead of none, another value of CI, another value of NEW.\n",
    );
    expect(submitted()).toMatchObject([
      { id: "r2", timeout: "1h", resources: { memory: "4GiB" }, env: { CI: "no", NEW: "secret" } },
    ]);
  });

  test("keeps its place in an array and its key, but follows no other run: it starts at once", async () => {
    const array = { id: "n", index: 1, size: 2 };
    known("n-1", { array: { ...array, failAt: 1 }, replace: "deploy", after: ["gone"] });
    await bench.run(["rerun", "--detach", "n-1"]);
    expect(submitted()).toMatchObject([{ rerunOf: "n-1", array, replace: "deploy" }]);
    // What failed before ends the rest of the array, but not what runs again (pool.md#fail-at).
    expect(submitted()[0]?.array).toEqual(array);
    expect(submitted()[0]).not.toHaveProperty("after");
  });

  test("that is a group keeps the resources of its tasks", async () => {
    known("r1", { argv: undefined, tasks: [{ name: "web", argv: ["serve"] }] });
    const refused = await bench.run(["rerun", "--cpus", "2", "r1"]);
    expect(refused).toMatchObject({ code: 125, stderr: expect.stringContaining("Run r1 is a group") });
    expect(submitted()).toEqual([]);
  });
});

describe("the runs that have failed", () => {
  const lists: [string, RunSummary[], string[]][] = [
    [
      "an exit code other than 0, a run that took too long or was lost",
      [
        summaryOf("r1", { state: "complete", exitCode: 1 }),
        summaryOf("r2", { state: "complete", exitCode: 0 }),
        summaryOf("r3", { state: "timedout" }),
        summaryOf("r4", { state: "unknown" }),
        summaryOf("r5", { state: "aborted" }),
        summaryOf("r6"),
      ],
      ["r1", "r3", "r4"],
    ],
    [
      "a rerun that has failed, and not the run that it repeats",
      [
        summaryOf("r2", { state: "failed", rerunOf: "r1" }),
        summaryOf("r1", { state: "complete", exitCode: 1 }),
      ],
      ["r2"],
    ],
    [
      "none that a later run repeats, whatever became of it",
      [summaryOf("r2", { rerunOf: "r1" }), summaryOf("r1", { state: "failed" })],
      [],
    ],
  ];

  test.each(lists)("%s", async (_what, runs, repeated) => {
    for (const { id } of runs) known(id);
    bench.plane.on("GET", /^\/v1\/runs$/, (_seen, res) =>
      json(res, 200, { items: runs, next: null, service: [] }),
    );
    bench.plane.on("POST", /^\/v1\/runs$/, ({ body }, res) => {
      const { runs: sent } = body as { runs: { id: string }[] }; // by the command
      json(res, 201, { items: sent.map(({ id }) => statusOf(id)) });
    });
    const ended = await bench.run(["rerun", "--failed", "--label", "set=a"]);
    expect(ended.code).toBe(0);
    expect(submitted().map(({ rerunOf }) => rerunOf)).toEqual(repeated);
    expect(ended.stdout.toString()).toBe(
      submitted()
        .map(({ id }) => `${id}\n`)
        .join(""),
    );
    const count = repeated.length === 1 ? "1 run" : `${repeated.length} runs`;
    expect(ended.stderr).toBe(
      repeated.length === 0
        ? "drover: No run has failed that no other run repeats.\n"
        : `drover: ${count} submitted again.\n`,
    );
  });
});

test.each([
  ["no run", ["rerun"]],
  ["a label alone", ["rerun", "--label", "set=a"]],
  ["a label and ids", ["rerun", "--failed", "--label", "set=a", "r1"]],
])("%s says how to choose runs", async (_what, args) => {
  const refused = await bench.run(args);
  expect(refused).toMatchObject({
    code: 125,
    stderr: expect.stringContaining("drover rerun --failed --label"),
  });
});
