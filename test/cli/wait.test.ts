import type { ServerResponse } from "node:http";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { RunSummary } from "../../src/schema/run/run.ts";
import { type Bench, openBench } from "./support/command.ts";
import { json, problem, type Seen, statusOf, summaryOf } from "./support/control-plane.ts";

// What `drover wait` waits for, prints and exits with (api.md#query).

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(() => bench.close());

const LIST = /^\/v1\/runs$/;
const QUERY = /^\/v1\/runs\/query$/;

/** The runs that the plane has. A wait is held for a moment, then says how many have not ended. */
function serve(runs: () => RunSummary[]): void {
  const answer = (res: ServerResponse, isAll: boolean) => {
    const open = runs().filter(({ state }) => state === "running").length;
    const items = isAll && open > 0 ? [] : runs();
    const all = isAll ? { holds: open === 0, open, possible: true } : undefined;
    json(res, 200, { items, next: null, service: [], all });
  };
  bench.plane.on("POST", QUERY, ({ body }: Seen, res) =>
    answer(res, (body as { all?: boolean }).all === true),
  );
  bench.plane.on("GET", LIST, ({ query }: Seen, res) => answer(res, query.has("all")));
  for (const { id, state, exitCode } of runs()) {
    bench.plane.runs.set(
      id,
      statusOf(id, state === "complete" ? { state, exitCode } : { state: "timedout" }),
    );
  }
}

const ended = (id: string, exitCode: number) => summaryOf(id, { state: "complete", exitCode });

describe("the exit code", () => {
  test.each<[string, RunSummary[], number]>([
    ["is 0 if every command ended with 0", [ended("r1", 0), ended("r2", 0)], 0],
    ["is that of the first run that did not", [ended("r1", 0), ended("r2", 3), ended("r3", 4)], 3],
    ["is 124 for a run that took too long", [summaryOf("r1", { state: "timedout" }), ended("r2", 3)], 124],
  ])("%s", async (_what, runs, code) => {
    serve(() => runs);
    const waited = await bench.run(["wait", ...runs.map(({ id }) => id)]);
    expect(waited.code).toBe(code);
    const lines = waited.stdout.toString().trimEnd().split("\n");
    expect(lines.map((line) => line.split(/\s+/)[0])).toEqual(["RUN", ...runs.map(({ id }) => id)]);
  });

  test("is that of the first run of an array by its place, as drover run gives it", async () => {
    const member = (index: number, exitCode: number) => ({
      ...ended(`a-${index}`, exitCode),
      array: { id: "a", index, size: 12 },
    });
    const newestFirst = [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0].map((index) => member(index, index % 8));
    serve(() => newestFirst);
    const waited = await bench.run(["wait", "--array", "a"]);
    expect([waited.code, waited.stdout.toString().split("\n")[11]]).toEqual([
      1,
      expect.stringMatching(/^a-10 /),
    ]);
  });

  test("is 124 if the time-out is over first, and the runs go on", async () => {
    serve(() => [summaryOf("r1"), ended("r2", 0)]);
    const waited = await bench.run(["wait", "--label", "set=a", "--timeout", "300ms"]);
    expect(waited).toMatchObject({
      code: 124,
      stderr: "drover: 1 run has not ended within 300ms.\n",
    });
    expect(waited.stdout.toString()).toBe("");
    expect(bench.plane.seen.every(({ path }) => !path.endsWith("/abort"))).toBe(true);
  });
});

test("waits until the last has ended, and asks with all ids at once", async () => {
  let looks = 0;
  serve(() => {
    looks += 1;
    return looks < 8 ? [ended("r1", 0), summaryOf("r2")] : [ended("r1", 0), ended("r2", 0)];
  });
  expect((await bench.run(["wait", "r1", "r2", "r1", "--quiet"])).code).toBe(0);
  expect(bench.plane.seen[0]?.body).toMatchObject({ runs: ["r1", "r2"], states: ["done"], all: true });
});

test("says in words how many runs did not end well", async () => {
  serve(() => [ended("r1", 1), ended("r2", 0), ended("r3", 2)]);
  expect((await bench.run(["wait", "--pool", "p"])).stderr).toBe("drover: 2 runs of 3 did not end well.\n");
});

test("prints the runs as JSON", async () => {
  serve(() => [ended("r1", 0)]);
  const { stdout } = await bench.run(["wait", "--json", "r1"]);
  expect(JSON.parse(stdout.toString())).toEqual([ended("r1", 0)]);
});

describe("what cannot be waited for is an error (125)", () => {
  test.each<[string, string[], RegExp]>([
    ["no run at all", ["wait"], /not clear which runs to wait for.*--label, --array or --pool/s],
    ["ids and a label", ["wait", "r1", "-l", "a=b"], /not clear which runs/],
    ["a label that no run has", ["wait", "-l", "set=typo"], /No run matches\.\n.*drover ps -a/],
    ["a run that is unknown", ["wait", "nobody"], /there is no run "nobody"/],
  ])("%s", async (_what, args, words) => {
    serve(() => []);
    const detail = 'there is no run "nobody"';
    bench.plane.on("POST", QUERY, (_seen, res) => problem(res, 404, "unknown_run", { detail }));
    expect(await bench.run(args)).toMatchObject({ code: 125, stderr: expect.stringMatching(words) });
  });
});
