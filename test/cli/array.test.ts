import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { RunArray } from "../../src/schema/run/array.ts";
import type { RunSummary } from "../../src/schema/run/run.ts";
import { type Bench, openBench } from "./support/command.ts";
import { json, problem, type Seen, statusOf, summaryOf } from "./support/control-plane.ts";

// What `drover run` submits for many runs, what it asks, shows and exits with (api.md#arrays).

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(() => bench.close());

interface Sent extends Record<string, unknown> {
  id: string;
  array?: RunArray;
}

const REASON = '1 of the 2 runs of its array, "a", has failed, and its `failAt` is 1: a-1';

/** How a run ends with this exit code; null: it is aborted, since its array has failed. */
function endOf(exitCode: number | null) {
  if (exitCode === null) return { state: "aborted", abort: { by: "drover", reason: REASON } } as const;
  return { state: "complete", exitCode } as const;
}

/** A plane that takes batches, whose runs end at the second look with the exit code of their index. */
function serve(exitCodeOf: (index: number) => number | null, looks = 1): void {
  let runs: Sent[] = [];
  let left = looks;
  bench.plane.on("POST", /^\/v1\/runs$/, ({ body }: Seen, res) => {
    runs = (body as { runs: Sent[] }).runs; // by the command
    for (const [index, { id }] of runs.entries())
      bench.plane.runs.set(id, statusOf(id, endOf(exitCodeOf(index))));
    json(res, 201, { items: runs.map(({ id }) => statusOf(id)) });
  });
  bench.plane.on("POST", /^\/v1\/runs\/query$/, (_seen, res) => {
    left -= 1;
    const holds = left < 0;
    const items = runs.map(({ id, array }, index): RunSummary => {
      const { state, exitCode = null } = { exitCode: null, ...endOf(exitCodeOf(index)) };
      const ended = summaryOf(id, { state, exitCode });
      return array === undefined ? ended : { ...ended, array };
    });
    const all = { holds, open: holds ? 0 : runs.length, possible: true };
    json(res, 200, { items: holds ? items : [], next: null, service: [], all });
  });
}

/** The runs that the command has submitted. */
function sent(): Sent[] {
  const posts = bench.plane.seen.filter(({ method, path }) => method === "POST" && path === "/v1/runs");
  return posts.flatMap(({ body }) => (body as { runs: Sent[] }).runs); // by the command
}

const linesOf = (stdout: Buffer) => stdout.toString().trimEnd().split("\n");

test("100 runs cost the command one request and one wait", async () => {
  serve(() => 0, 0);
  const ended = await bench.run(["run", "--array", "100", "--", "true"]);
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  expect(bench.plane.seen.map(({ method, path }) => `${method} ${path}`)).toEqual([
    "POST /v1/runs",
    "POST /v1/runs/query",
  ]);
  expect(bench.plane.seen[1]?.body).toMatchObject({ runs: sent().map(({ id }) => id), all: true });
  expect(linesOf(ended.stdout)).toHaveLength(101);
});

describe("each run of an array", () => {
  test("has its index, and the id of the array with it", async () => {
    serve(() => 0);
    await bench.run(["run", "--id", "nightly", "--env", "A=1", "--array", "3", "--", "make"]);
    const array = (index: number) => ({ id: "nightly", index, size: 3 });
    expect(sent()).toMatchObject([
      { id: "nightly-0", argv: ["make"], env: { A: "1" }, array: array(0) },
      { id: "nightly-1", argv: ["make"], env: { A: "1" }, array: array(1) },
      { id: "nightly-2", argv: ["make"], env: { A: "1" }, array: array(2) },
    ]);
  });

  test("says how many of them may run at once", async () => {
    serve(() => 0);
    await bench.run(["run", "--id", "a", "--array", "2", "--max-parallel", "1", "--", "make"]);
    expect(sent().map((run) => run.array?.maxParallel)).toEqual([1, 1]);
  });

  test("of a matrix has one of the combinations, and the table shows it", async () => {
    serve((index) => index);
    const axes = ["--matrix", "os=a,b", "--matrix", "Node=20,x=y"];
    const ended = await bench.run(["run", "--id", "m", ...axes, "--", "make"]);
    const values = sent().map((run) => run.array?.matrix);
    expect(values).toEqual([
      { os: "a", Node: "20" },
      { os: "a", Node: "x=y" },
      { os: "b", Node: "20" },
      { os: "b", Node: "x=y" },
    ]);
    for (const { array } of sent()) expect(RunArray.safeParse(array).success).toBe(true);
    expect(linesOf(ended.stdout).map((line) => line.split(/\s+/).slice(0, 5))).toEqual([
      ["RUN", "os", "Node", "STATE", "EXIT"],
      ["m-0", "a", "20", "complete", "0"],
      ["m-1", "a", "x=y", "complete", "1"],
      ["m-2", "b", "20", "complete", "2"],
      ["m-3", "b", "x=y", "complete", "3"],
    ]);
    expect(ended).toMatchObject({ code: 1, stderr: "drover: 3 runs of 4 did not end well.\n" });
  });
});

test("a run that is deleted during the wait is named, with how to wait for the others", async () => {
  serve(() => 0);
  bench.plane.on("POST", /^\/v1\/runs\/query$/, (_seen, res) =>
    problem(res, 410, "expired_run", { runs: ["a-1"] }),
  );
  const { code, stderr } = await bench.run(["run", "--id", "a", "--array", "3", "--", "make"]);
  expect([code, stderr]).toEqual([125, expect.stringContaining("some of them have been deleted: a-1.")]);
  expect(stderr).toContain("To wait for them: drover wait --array a");
});

test("--replace is a field of the run, or of each run of an array", async () => {
  serve(() => 0);
  await bench.run(["run", "--array", "2", "--replace", "deploy", "--", "true"]);
  expect(sent().map(({ replace }) => replace)).toEqual(["deploy", "deploy"]);
});

test("--after may be repeated, and an unknown run is named as on the command line", async () => {
  const errors = [{ pointer: "/after/1", detail: 'names run "b", which does not exist: submit it first' }];
  bench.plane.on("POST", /^\/v1\/runs$/, (_seen, res) => problem(res, 404, "unknown_run", { errors }));
  const refused = await bench.run(["run", "--after", "a", "--after", "b", "--", "true"]);
  expect(bench.plane.seen[0]?.body).toMatchObject({ after: ["a", "b"] });
  expect(refused).toMatchObject({ code: 125, stderr: expect.stringContaining("--after b: names run") });
});

test("--after and --after-array say how the others must end, and are named as they are written", async () => {
  const errors = [
    { pointer: "/after/1", detail: "is wrong" },
    { pointer: "/after/3", detail: "is wrong, too" },
  ];
  bench.plane.on("POST", /^\/v1\/runs$/, (_seen, res) => problem(res, 404, "unknown_run", { errors }));
  const after = ["--after", "a:success", "--after", "b:failure", "--after", "c:any"];
  const arrays = ["--after-array", "parts:any", "--after-array", "more"];
  const refused = await bench.run(["run", ...after, ...arrays, "--", "true"]);
  expect(bench.plane.seen[0]?.body).toMatchObject({
    after: [
      "a",
      { run: "b", on: "failure" },
      { run: "c", on: "any" },
      { array: "parts", on: "any" },
      { array: "more" },
    ],
  });
  expect(refused.stderr).toContain("--after b:failure: is wrong");
  expect(refused.stderr).toContain("--after-array parts:any: is wrong, too");
});

test("--after adds to what a file says, once each", async () => {
  const file = join(bench.dir, "run.json");
  writeFileSync(file, JSON.stringify({ argv: ["true"], after: ["a", { array: "parts" }] }));
  await bench.run(["run", "--quiet", "-f", file, "--after", "b", "--after", "a"]);
  const sent = bench.plane.seen.find(({ method, path }) => method === "POST" && path === "/v1/runs");
  expect(Object(sent?.body).after).toEqual(["a", { array: "parts" }, "b"]);
});

test("--after-job says which job, how old its run may be and how it must end, and is named so", async () => {
  const errors = [{ pointer: "/after/1", detail: "is wrong" }];
  bench.plane.on("POST", /^\/v1\/runs$/, (_seen, res) => problem(res, 404, "unknown_job", { errors }));
  const flags = ["etl", "load@24h:any", "more:failure"].flatMap((job) => ["--after-job", job]);
  const refused = await bench.run(["run", "--after", "a", ...flags, "--", "true"]);
  expect(bench.plane.seen[0]?.body).toMatchObject({
    after: ["a", { job: "etl" }, { job: "load", on: "any", maxAge: "24h" }, { job: "more", on: "failure" }],
  });
  expect(refused.stderr).toContain("--after-job etl: is wrong");
});

test.each(["etl:later", "etl@:any", "@1h"])(
  "--after-job refuses %s, and says what it takes",
  async (text) => {
    const refused = await bench.run(["run", "--after-job", text, "--", "true"]);
    expect(refused).toMatchObject({ code: 125, stderr: expect.stringContaining("nightly@24h:any") });
  },
);

test.each(["a:later", "a:any:any", ":any"])("--after refuses %s, and says what it takes", async (text) => {
  const refused = await bench.run(["run", "--after", text, "--", "true"]);
  expect(refused).toMatchObject({ code: 125, stderr: expect.stringContaining(":success, :failure or :any") });
});

describe("--fail-at", () => {
  test.each([
    ["2", 2],
    ["10%", "10%"],
  ])("%s is a field of each run of the array", async (text, failAt) => {
    serve(() => 0);
    await bench.run(["run", "--array", "2", "--fail-at", text, "--", "true"]);
    expect(sent().map((run) => run.array?.failAt)).toEqual([failAt, failAt]);
  });

  test.each(["0", "101%", "1.5", "many"])("refuses %s", async (text) => {
    const refused = await bench.run(["run", "--array", "2", "--fail-at", text, "--", "true"]);
    expect(refused).toMatchObject({ code: 125, stderr: expect.stringContaining("a share from 1% to 100%") });
  });

  test("ends with the code of the run that failed, and says which did", async () => {
    serve((index) => (index === 1 ? 4 : null));
    const ended = bench.run(["run", "--id", "a", "--array", "2", "--fail-at", "1", "--", "make"]);
    expect(await ended).toMatchObject({
      code: 4,
      stderr: `drover: 2 runs of 2 did not end well.\ndrover: The others were ended: ${REASON}.\n`,
    });
  });

  test("needs an array", async () => {
    const refused = await bench.run(["run", "--fail-at", "1", "--", "true"]);
    expect(refused.stderr).toContain("--fail-at is about the runs of an array, and there is none.");
  });
});

test("--detach prints the ids, and how to wait for them", async () => {
  serve(() => 0);
  const left = await bench.run(["run", "-d", "--id", "a", "--array", "2", "--", "true"]);
  expect(left).toMatchObject({
    code: 0,
    stdout: Buffer.from("a-0\na-1\n"),
    stderr: "drover: 2 runs submitted. To wait for them: drover wait --array a\n",
  });
  expect(bench.plane.seen).toHaveLength(1);
});

test("Ctrl-C aborts all runs, and the command waits for their end (130)", async () => {
  serve(() => 0, Number.POSITIVE_INFINITY);
  const running = bench.start(["run", "--id", "a", "--array", "2", "--", "true"]);
  await bench.plane.requests("POST", /query$/);
  bench.plane.on("POST", /^\/v1\/runs\/abort$/, (_seen, res) => {
    serve(() => 0, 0);
    const items = ["a-0", "a-1"].map((id) => summaryOf(id, { state: "aborted" }));
    const all = { holds: true, open: 0, possible: true };
    bench.plane.on("POST", /query$/, (_look, look) =>
      json(look, 200, { items, next: null, service: [], all }),
    );
    json(res, 200, { items: [], failed: [], next: null, service: [] });
  });
  running.child.kill("SIGINT");
  const ended = await running.ended;
  expect(ended.code).toBe(130);
  const [aborted] = await bench.plane.requests("POST", /abort$/);
  expect(aborted?.body).toMatchObject({ ids: ["a-0", "a-1"], reason: "SIGINT to drover run" });
  expect(linesOf(ended.stdout)).toHaveLength(3);
});

describe("a file with many runs", () => {
  const list = [
    { id: "one", argv: ["true"], labels: { a: "b" } },
    { id: "two", argv: ["false"], pool: "other" },
  ];
  test.each<[string, unknown]>([
    ["a list", list],
    ["as the API takes them", { runs: list }],
  ])("%s is one submission, and flags count for all of them", async (_what, content) => {
    writeFileSync(join(bench.dir, "many.json"), JSON.stringify(content));
    serve((index) => 4 * index);
    const ended = await bench.run(["run", "-f", "many.json", "--timeout", "1m"]);
    expect(sent()).toMatchObject(list.map((run) => ({ ...run, timeout: "1m" })));
    expect(linesOf(ended.stdout).map((line) => line.split(/\s+/)[0])).toEqual(["RUN", "one", "two"]);
    expect(ended.code).toBe(4);
  });

  test("names the run and the field that is not accepted", async () => {
    writeFileSync(join(bench.dir, "many.json"), JSON.stringify(list));
    const errors = [{ pointer: "/runs/1/priority", detail: "must be at most 100" }];
    bench.plane.on("POST", /^\/v1\/runs$/, (_seen, res) => problem(res, 400, "invalid_request", { errors }));
    const refused = await bench.run(["run", "-f", "many.json"]);
    expect(refused).toMatchObject({
      code: 125,
      stderr: expect.stringContaining("/runs/1/priority: must be"),
    });
  });
});

test("a field that is not accepted is named once for all runs of an array, as its flag", async () => {
  const errors = [0, 1].map((index) => ({ pointer: `/runs/${index}/labels/a`, detail: "is too long" }));
  bench.plane.on("POST", /^\/v1\/runs$/, (_seen, res) => problem(res, 400, "invalid_request", { errors }));
  const refused = await bench.run(["run", "--array", "2", "--label", "a=x", "--", "true"]);
  expect(refused).toMatchObject({
    code: 125,
    stderr: "drover: This run is not accepted.\n  --label a: is too long\n",
  });
});

test("ids that other runs have are named, and nothing is waited for", async () => {
  const detail = 'there is another run "a-0", which differs';
  const errors = [{ pointer: "/runs/0", detail }];
  const taken = { detail, errors };
  bench.plane.on("POST", /^\/v1\/runs$/, (_seen, res) => problem(res, 409, "run_exists", taken));
  const refused = await bench.run(["run", "--id", "a", "--array", "2", "--", "true"]);
  expect(refused).toMatchObject({
    code: 125,
    stderr: expect.stringMatching(/another run "a-0".*Choose other ids.*drover ps --all/s),
  });
});

test("Ctrl-\\ leaves the runs alone, and says how to come back to them (131)", async () => {
  serve(() => 0, Number.POSITIVE_INFINITY);
  const running = bench.start(["run", "--id", "a", "--array", "2", "--", "true"]);
  await bench.plane.requests("POST", /query$/);
  running.child.kill("SIGQUIT");
  const left = await running.ended;
  expect(left).toMatchObject({ code: 131, stderr: expect.stringContaining("drover wait --array a\n") });
  expect(bench.plane.seen.some(({ path }) => path.endsWith("/abort"))).toBe(false);
});

describe("what makes no array is an error that says what to do, before anything is sent (125)", () => {
  const ten = Array.from({ length: 101 }, (_, index) => index).join(",");
  test.each<[string, string[], RegExp]>([
    ["an array of 0", ["--array", "0"], /whole number from 1 to 10000, the most runs of an array/],
    ["an array of 10,001", ["--array", "10001"], /from 1 to 10000.*let each run do a part of it/s],
    ["an array of a word", ["--array", "many"], /whole number from 1 to 10000/],
    ["an axis without values", ["--matrix", "os="], /axis os has an empty value.*os=a,b/s],
    ["an axis with an empty value", ["--matrix", "os=a,,b"], /axis os has an empty value/],
    ["an axis without a name", ["--matrix", "a,b"], /written name=value,value/],
    ["a value that comes twice", ["--matrix", "os=a,a"], /axis os has a value twice/],
    [
      "two equal axes",
      ["--matrix", "os=a", "--matrix", "OS=b"],
      /two axes OS.*all values of an axis at once/s,
    ],
    [
      "too many combinations",
      ["--matrix", `a=${ten}`, "--matrix", `b=${ten}`],
      /10201 runs.*at most 10000.*in parts/s,
    ],
    ["a limit for no array", ["--max-parallel", "2"], /there is none.*Combine it with --array or --matrix/s],
    ["a limit of 0", ["--array", "2", "--max-parallel", "0"], /whole number from 1 to 1000/],
    ["both flags", ["--array", "2", "--matrix", "os=a"], /cannot be combined.*--matrix n=1,2,3/s],
  ])("%s", async (_what, flags, words) => {
    const refused = await bench.run(["run", ...flags, "--", "true"]);
    expect(refused).toMatchObject({ code: 125, stderr: expect.stringMatching(words) });
    expect(bench.plane.seen).toEqual([]);
  });

  test.each<[string, unknown, string[], RegExp]>([
    ["an empty list", [], [], /empty list of runs.*Add at least one/s],
    ["a list of words", ["true"], [], /must hold one run as a JSON object, or a list/],
    ["a number", 7, [], /must hold one run/],
    [
      "more runs than a submission can have",
      Array.from({ length: 1_001 }, () => ({})),
      [],
      /1001 runs.*Split/s,
    ],
    [
      "a list and an array",
      [{ argv: ["true"] }],
      ["--array", "2"],
      /--array and --matrix cannot be combined/,
    ],
    [
      "a list and a key",
      [{ argv: ["true"] }],
      ["--replace", "x"],
      /--replace cannot be combined with a list/,
    ],
    ["a list and an id", [{ argv: ["true"] }], ["--id", "x"], /--id cannot be combined with a list/],
  ])("in a file: %s", async (_what, content, flags, words) => {
    writeFileSync(join(bench.dir, "many.json"), JSON.stringify(content));
    const refused = await bench.run(["run", "-f", "many.json", ...flags]);
    expect(refused).toMatchObject({ code: 125, stderr: expect.stringMatching(words) });
    expect(sent()).toEqual([]);
  });
});
