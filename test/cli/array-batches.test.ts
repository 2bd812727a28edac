import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { batchesOf } from "../../client/runs/batches.ts";
import { type Bench, openBench } from "./support/command.ts";
import { json, problem, type Seen, statusOf, summaryOf } from "./support/control-plane.ts";

// An array that takes several requests (api.md#arrays): none of its runs is lost without a word, none is
// doubled, and whatever breaks off can be completed.

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(() => bench.close());

type Sent = { id: string; array: { id: string; index: number; size: number } };

/** A plane that stores batches until it refuses one, and whose runs have ended. */
function serve(refusesAfter = Number.POSITIVE_INFINITY): Map<string, Sent> {
  const stored = new Map<string, Sent>();
  let batches = 0;
  bench.plane.on("POST", /^\/v1\/runs$/, ({ body }: Seen, res) => {
    batches += 1;
    if (batches > refusesAfter) return problem(res, 429, "project_full", { detail: "the queue is full" });
    const { runs } = body as { runs: Sent[] }; // by the command
    for (const run of runs) stored.set(run.id, run);
    json(res, 201, { items: runs.map(({ id }) => statusOf(id)) });
  });
  bench.plane.on("POST", /^\/v1\/runs\/query$/, (_seen, res) => {
    const items = [...stored.keys()].map((id) => summaryOf(id, { state: "complete", exitCode: 0 }));
    json(res, 200, { items, next: null, service: [], all: { holds: true, open: 0, possible: true } });
  });
  return stored;
}

const sizes = () =>
  bench.plane.seen
    .filter(({ method, path }) => method === "POST" && path === "/v1/runs")
    .map(({ body }) => (body as { runs: Sent[] }).runs.length);

test("case 21: 10,000 runs cost ten requests and one wait, and each knows the size", async () => {
  const stored = serve();
  const ended = await bench.run(["run", "--id", "parts", "--array", "10000", "--", "true"]);
  expect(ended.code).toBe(0);
  expect(sizes()).toEqual(Array(10).fill(1_000));
  expect(stored.size).toBe(10_000);
  expect(stored.get("parts-9999")?.array).toEqual({ id: "parts", index: 9_999, size: 10_000 });
  expect(stored.get("parts-0")?.array.size).toBe(10_000);
  expect(bench.plane.seen.filter(({ path }) => path.endsWith("/query"))).toHaveLength(1);
  expect(ended.stderr).toContain("the same command with --id parts submits the rest");
});

describe("a submission that breaks off between two requests", () => {
  const line = ["run", "--detach", "--id", "parts", "--array", "2500", "--", "true"];

  // One test of both, since the command is patient for a minute before it breaks off.
  test("says what is stored (125), and is completed by the same command, which doubles none", async () => {
    const some = serve(2);
    const broken = await bench.run(line);
    expect([broken.code, some.size]).toEqual([125, 2_000]);
    expect(broken.stderr).toContain("Only 2000 of 2500 runs are stored: ");
    expect(broken.stderr).toContain("The same command with --id parts submits the rest.");
    expect(broken.stderr).toContain("drover abort --array parts");
    const before = bench.plane.seen.length;
    const stored = serve();
    const { code, stdout } = await bench.run(line);
    expect([code, stored.size]).toEqual([0, 2_500]);
    expect(stdout.toString().trimEnd().split("\n")).toHaveLength(2_500);
    const bodies = (from: number, to?: number) =>
      bench.plane.seen.slice(from, to).flatMap(({ body }) => (body as { runs: Sent[] }).runs.slice(0, 1));
    // What is sent again is the same, so that each run is found that is there.
    expect(bodies(before).slice(0, 2)).toEqual(bodies(0, before).slice(0, 2));
  });

  test("by Ctrl-C submits nothing more, and aborts what is there", async () => {
    serve();
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    bench.plane.on("POST", /^\/v1\/runs$/, async ({ body }: Seen, res) => {
      await held;
      json(res, 201, { items: (body as { runs: Sent[] }).runs.map(({ id }) => statusOf(id)) });
    });
    bench.plane.on("POST", /abort$/, (_seen, res) => {
      json(res, 200, { items: [], failed: [], next: null, service: [] });
    });
    // The runs end by the abort: if they had ended before, there would be nothing to abort.
    bench.plane.on("POST", /^\/v1\/runs\/query$/, async ({ body }: Seen, res) => {
      await bench.plane.requests("POST", /abort$/);
      const items = (body as { runs: string[] }).runs.map((id) => summaryOf(id, { state: "aborted" }));
      json(res, 200, { items, next: null, service: [], all: { holds: true, open: 0, possible: true } });
    });
    const running = bench.start(["run", "--id", "parts", "--array", "2500", "--", "true"]);
    await bench.plane.requests("POST", /runs$/);
    running.child.kill("SIGINT");
    await running.says(/Aborting all runs/);
    release();
    await running.ended;
    expect(sizes()).toEqual([1_000]);
    const [aborted] = await bench.plane.requests("POST", /abort$/);
    expect(aborted?.body).toMatchObject({ ids: { length: 1_000 } });
  });
});

describe("drover wait --array", () => {
  const waits = (there: number[]) => {
    const items = there.map((index) =>
      summaryOf(`p-${index}`, { state: "complete", exitCode: 0, array: { id: "p", index, size: 3 } }),
    );
    const all = { holds: true, open: 0, possible: true };
    bench.plane.on("GET", /^\/v1\/runs$/, (_seen, res) =>
      json(res, 200, { items, next: null, service: [], all }),
    );
    return bench.run(["wait", "--array", "p"]);
  };

  test("says that runs of it are not there, and does not call that a success (125)", async () => {
    const { code, stderr } = await waits([0, 1]);
    expect([code, stderr]).toEqual([
      125,
      expect.stringContaining("is to have 3 runs, and 2 of them are there"),
    ]);
  });

  test("is content with all of them", async () => {
    expect(await waits([0, 1, 2])).toMatchObject({ code: 0, stderr: "" });
  });
});

describe("batches", () => {
  const run = (bytes: number) => ({ id: "x", argv: ["x".repeat(bytes)] });

  test("have at most 1,000 runs", () => {
    const of = (count: number) =>
      batchesOf(Array.from({ length: count }, () => run(1))).map((one) => one.length);
    expect([of(0), of(1_000), of(1_001)]).toEqual([[], [1_000], [1_000, 1]]);
  });

  test("have at most 8 MiB, but for a run that is larger by itself", () => {
    const MIB = 2 ** 20;
    const of = (...sizesOf: number[]) =>
      batchesOf(sizesOf.map((size) => run(size * MIB))).map((one) => one.length);
    expect([of(3, 3, 3), of(9), of(1, 9, 1)]).toEqual([[2, 1], [1], [1, 1, 1]]);
  });
});
