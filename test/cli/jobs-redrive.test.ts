import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Bench, openBench } from "./support/command.ts";
import { json, problem, type Seen, summaryOf } from "./support/control-plane.ts";

// `drover jobs redrive`, and what `drover jobs show` says of parked runs (jobs.md#redrive). Real jobs:
// test/objects/jobs-redrive.test.ts.

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(() => bench.close());

const AT = "2026-11-21T08:30:00.000Z";
const TICK = "2026-11-22T01:30:00.000Z";
const job = {
  ...{ name: "nightly", project: "default", pool: "default", version: 1, description: "", paused: null },
  spec: { argv: ["make"], retry: { on: ["oom"], max: 2, park: true } },
  ...{ createdAt: AT, createdBy: "ann", changedAt: AT, changedBy: "ann", next: [], waiting: [], skips: [] },
};

interface Asked {
  runs?: string[];
  all?: boolean;
  cursor?: string;
}

const NONE = { items: [], failed: [], next: null, service: [] };

const asked = (): Asked[] =>
  bench.plane.seen
    .filter(({ path }) => path === "/v1/jobs/nightly/redrive")
    .map(({ body }: Seen) => body as Asked); // by the command

/** Answers each request with these pages, one after the other. */
function serve(...pages: object[]): void {
  bench.plane.on("POST", /redrive$/, (_seen, res) => json(res, 200, { ...NONE, ...pages.shift() }));
}

/** The job has these parked runs, and its label is that of others in other projects, too. */
function serveParked(ids: string[], others: object[] = [], service: object[] = []): void {
  const own = ids.map((id) => summaryOf(id, {}));
  const items = [...own, ...others.map((one) => ({ ...summaryOf("x", {}), ...one }))];
  bench.plane.on("GET", /^\/v1\/jobs\/nightly$/, (_seen, res) => json(res, 200, job));
  bench.plane.on("GET", /^\/v1\/runs$/, (_seen, res) => json(res, 200, { items, next: null, service }));
}

const redriven = (run: string) => ({ run, as: `k-${run}`, created: true });

describe("drover jobs redrive", () => {
  test("of runs by name", async () => {
    serve({ items: [redriven("r1"), redriven("r2")] });
    const { code, stdout } = await bench.run(["jobs", "redrive", "nightly", "r1", "r2", "r1"]);
    expect([code, stdout.toString()]).toEqual([0, "r1 runs again as k-r1\nr2 runs again as k-r2\n"]);
    expect(asked()).toEqual([{ runs: ["r1", "r2"] }]);
  });

  test("of all, by their ids, so that a repeated request says what became of the same runs", async () => {
    serveParked(["r1", "r2"], [{ id: "ml.r3", project: "ml" }]);
    serve({ items: [redriven("r1"), redriven("r2")] });
    const { code, stdout } = await bench.run(["jobs", "redrive", "nightly", "--all"]);
    expect([code, stdout.toString()]).toEqual([0, "r1 runs again as k-r1\nr2 runs again as k-r2\n"]);
    expect(asked()).toEqual([{ runs: ["r1", "r2"] }]);
  });

  test("of all, where a pool does not answer, does not say that there is none (125)", async () => {
    serveParked([], [], [{ pool: "gpus", initialized: true, healthy: false, error: "storage is full" }]);
    const { code, stderr } = await bench.run(["jobs", "redrive", "nightly", "--all"]);
    expect([code, stderr]).toEqual([125, "drover: Pool gpus is in trouble: storage is full\n"]);
    expect(asked()).toEqual([]);
  });

  test("prints what became of the runs before it broke off, with --json", async () => {
    const ids = Array.from({ length: 101 }, (_, i) => `r${i}`);
    serveParked(ids);
    bench.plane.on("POST", /redrive$/, (_seen, res) => problem(res, 400, "invalid_request"));
    bench.plane.on(
      "POST",
      /redrive$/,
      (_seen, res) => json(res, 200, { ...NONE, items: [redriven("r1")] }),
      1,
    );
    const { code, stdout } = await bench.run(["jobs", "redrive", "nightly", "--all", "--json"]);
    expect([code, JSON.parse(stdout.toString()).items]).toEqual([125, [redriven("r1")]]);
  });

  test("of more than one request can have", async () => {
    serve();
    await bench.run(["jobs", "redrive", "nightly", ...Array.from({ length: 101 }, (_, i) => `r${i}`)]);
    expect(asked().map(({ runs }) => runs?.length)).toEqual([100, 1]);
  });

  test("says which could not be redriven, and why (125)", async () => {
    serveParked(["r1", "r2"]);
    serve({ items: [redriven("r1")], failed: [{ id: "r2", code: "not_parked", detail: "it is complete" }] });
    const { code, stdout, stderr } = await bench.run(["jobs", "redrive", "nightly", "--all", "--json"]);
    expect([code, stderr]).toEqual([125, "drover: r2: it is complete\n"]);
    expect(JSON.parse(stdout.toString())).toMatchObject({ items: [{ run: "r1" }], failed: [{ id: "r2" }] });
  });

  test("says that none is parked", async () => {
    serveParked([]);
    const { code, stderr } = await bench.run(["jobs", "redrive", "nightly", "--all"]);
    expect([code, stderr]).toEqual([0, "drover: No run of nightly is parked.\n"]);
  });

  test.each([[["nightly"]], [["nightly", "r1", "--all"]]])("refuses to guess which: %j", async (words) => {
    const { code, stderr } = await bench.run(["jobs", "redrive", ...words]);
    expect([code, stderr]).toEqual([125, expect.stringContaining("drover jobs redrive nightly --all")]);
    expect(bench.plane.seen).toEqual([]);
  });
});

describe("drover jobs show", () => {
  const show = async (items: object[]) => {
    bench.plane.on("GET", /^\/v1\/jobs\/nightly$/, (_seen, res) => json(res, 200, job));
    bench.plane.on("GET", /^\/v1\/runs$/, (_seen, res) => json(res, 200, { items, next: null, service: [] }));
    return (await bench.run(["jobs", "show", "nightly"])).stdout.toString();
  };

  test("has the parked runs, each with its tick, its reason and its tries, and how to go on", async () => {
    const labels = { "drover.job": "nightly", "drover.tick": TICK };
    const parked = { since: AT, reason: "after 3 tries: ran out of memory (4GiB)", tries: 3 };
    const others = Array.from({ length: 30 }, (_, n) =>
      summaryOf(`o${n}`, { labels, parked, project: "team" }),
    );
    const own = Array.from({ length: 21 }, (_, n) => summaryOf(`n${n + 1}`, { labels, parked }));
    const shown = await show([...others, ...own]);
    const row = "n1 +2026-11-22T01:30:00.000Z +2026-11-21T08:30:00.000Z +3 +after 3 tries: ran out of memory";
    expect(shown).toMatch(new RegExp(`The latest 20 parked runs\\nRUN +TICK +SINCE +TRIES +REASON\\n${row}`));
    expect(shown).toContain("drover jobs redrive nightly --all");
    expect(shown).toContain("drover ps --parked --label drover.job=nightly");
    const list = bench.plane.seen.find(({ path }) => path === "/v1/runs");
    expect([list?.query.get("label"), list?.query.get("parked")]).toEqual(["drover.job:nightly", "true"]);
  });

  test("says what its runs are tried again for, and nothing of parked runs without any", async () => {
    const shown = await show([]);
    expect(shown).toContain("after oom, at most 2; what fails for good is parked");
    expect(shown).not.toContain("parked run");
  });
});

test("drover jobs history says which try a run is in, and that it is parked", async () => {
  bench.plane.on("GET", /^\/v1\/jobs\/nightly$/, (_seen, res) => json(res, 200, job));
  const items = [
    summaryOf("n1", { failure: "task_failed", tries: 3, parked: { since: AT, reason: "x" } }),
    summaryOf("n2", { tries: 2 }),
  ];
  bench.plane.on("GET", /^\/v1\/runs$/, (_seen, res) => json(res, 200, { items, next: null, service: [] }));
  const shown = (await bench.run(["jobs", "history", "nightly"])).stdout.toString();
  expect(shown).toMatch(/n1 +task_failed, try 3, parked\n/);
  expect(shown).toMatch(/n2 +try 2\n/);
});
