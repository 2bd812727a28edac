import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { withRun } from "../../cli/run/which-run.ts";
import { createClient } from "../../client/client.ts";
import type { RunSummary } from "../../src/schema/run/run.ts";
import { type Bench, openBench } from "./support/command.ts";
import { json, problem, type Seen, statusOf, summaryOf, TOKEN } from "./support/control-plane.ts";

// Which run a verb works on, for a whole id, the beginning of one, and `-` (api.md#prefixes).

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(() => bench.close());

const done = { state: "complete", exitCode: 0 } as const;
const LIST = /^\/v1\/runs$/;

/** Serves these runs, the newest first. Lists know prefixes; the last of them is the caller's. */
function serve(...ids: string[]): void {
  const { plane } = bench;
  for (const id of ids) plane.runs.set(id, statusOf(id, done));
  plane.on("GET", LIST, ({ query }: Seen, res) => {
    const items: RunSummary[] = ids
      .filter((id) => id.startsWith(query.get("prefix") ?? ""))
      .filter((_, at) => !query.has("mine") || at === ids.length - 1)
      .map((id) => summaryOf(id, { ...done, command: `make ${id}` }));
    json(res, 200, { items: items.slice(0, Number(query.get("limit"))), next: null, service: [] });
  });
  const named = (id: string) => plane.runs.has(id);
  plane.on("POST", /^\/v1\/runs\/query$/, ({ body }: Seen, res) => {
    const { runs = [], all } = body as { runs?: string[]; all?: boolean };
    const unknown = runs.filter((id) => !named(id));
    if (unknown.length > 0) return problem(res, 404, "unknown_run", { runs: unknown });
    const holds = all ? { holds: true, open: 0, possible: true } : undefined;
    json(res, 200, { items: runs.map((id) => summaryOf(id, done)), next: null, service: [], all: holds });
  });
  for (const what of ["signal", "restart"]) {
    plane.on("POST", new RegExp(`/${what}$`), ({ path }: Seen, res) => {
      const run = plane.runs.get(path.split("/")[3] ?? "");
      return run === undefined ? problem(res, 404, "unknown_run") : json(res, 200, run);
    });
  }
  plane.on("DELETE", /^\/v1\/runs\//, ({ path }: Seen, res) =>
    named(path.split("/")[3] ?? "") ? res.writeHead(204).end() : problem(res, 404, "unknown_run"),
  );
}

const looks = () => bench.plane.seen.filter(({ method, path }) => method === "GET" && LIST.test(path));

const READS = [["status"], ["logs"], ["why"], ["wait"], ["rerun", "--detach"]];
const CHANGES = [["abort"], ["rm"], ["restart"], ["signal", "--task", "main"]];
const lineOf = ([verb = "", ...flags]: string[], id: string) =>
  verb === "signal" ? [verb, ...flags, id, "HUP"] : [verb, ...flags, id];

describe("a whole id (api.md#prefixes)", () => {
  test.each([...READS, ...CHANGES])("costs no request more: %s", async (...verb) => {
    serve("build-1", "build-17");
    expect((await bench.run(lineOf(verb, "build-1"))).code).toBe(0);
    expect(looks()).toEqual([]);
  });
});

describe("the beginning of an id (api.md#prefixes)", () => {
  test.each(READS)("is enough where nothing is changed: %s", async (...verb) => {
    serve("other", "build-17");
    expect(await bench.run(lineOf(verb, "bu"))).toMatchObject({ code: 0 });
    expect(looks().map(({ query }) => query.get("prefix"))).toEqual(["bu"]);
  });

  test.each(CHANGES)("is not enough without a terminal where something is: %s", async (...verb) => {
    serve("other", "build-17");
    const ended = await bench.run(lineOf(verb, "bu"));
    expect(ended.code).toBe(125);
    expect(ended.stderr).toMatch(
      /There is no run bu\. One has an id that begins so:\s+build-17 +complete .*make/,
    );
    const changing = bench.plane.seen.filter(
      ({ method, path }) => method !== "GET" && path.includes("build-17"),
    );
    expect(changing).toEqual([]);
  });

  test("is enough for all on a terminal", async () => {
    serve("other", "build-17");
    const client = createClient({ url: bench.plane.url, token: TOKEN });
    const asking = { io: { interactive: true }, client, changes: true };
    const { id } = await withRun(asking, "bu", (run) => client.runs.get(run));
    expect(id).toBe("build-17");
  });

  test("that fits several runs is an error that lists them with what they run", async () => {
    serve("build-18", "build-17");
    const ended = await bench.run(["logs", "build"]);
    expect(ended.code).toBe(125);
    expect(ended.stderr.split("\n").map((line) => line.replace("drover: ", ""))).toEqual([
      "Several runs have an id that begins with build:",
      expect.stringMatching(/^ {2}build-18 +complete .* make build-18$/),
      expect.stringMatching(/^ {2}build-17 +complete .* make build-17$/),
      "  Write more of the id.",
      "",
    ]);
  });

  test.each([10, 11])("shows ten of %i runs", async (count) => {
    serve(...Array.from({ length: count }, (_, at) => `b-${at}`));
    const { stderr } = await bench.run(["status", "b"]);
    expect(stderr.match(/make b-\d+/g)).toHaveLength(10);
    expect(stderr.includes("…and others.")).toBe(count > 10);
  });

  test("that fits none is the error of an unknown run", async () => {
    serve("build-17");
    const ended = await bench.run(["status", "web"]);
    expect(ended).toMatchObject({ code: 125, stderr: "drover: it is unknown_run\n" });
  });

  test.each([
    [403, "missing_scope"],
    [400, "invalid_request"],
  ])("is an unknown run for who cannot look for runs: %i %s", async (status, code) => {
    serve("build-17");
    bench.plane.on("GET", LIST, (_, res) => problem(res, status, code));
    const ended = await bench.run(["status", "build"]);
    expect(ended).toMatchObject({ code: 125, stderr: "drover: it is unknown_run\n" });
  });

  test("names no run while a pool does not answer", async () => {
    serve("build-17");
    const service = [{ pool: "far", initialized: true, healthy: false, error: "no answer" }];
    bench.plane.on("GET", LIST, (_, res) =>
      json(res, 200, { items: [summaryOf("build-17")], next: null, service }),
    );
    const { code, stderr } = await bench.run(["status", "build"]);
    expect(code).toBe(125);
    expect(stderr).toMatch(
      /not certain which run is meant[\s\S]*Pool far is in trouble: no answer[\s\S]*whole id/,
    );
  });

  test("of several runs at once is looked for only where a run is unknown", async () => {
    serve("web-1", "build-17");
    const waited = await bench.run(["wait", "web-1", "bu"]);
    expect(waited.code).toBe(0);
    expect(looks().map(({ query }) => query.get("prefix"))).toEqual(["bu"]);
    expect(waited.stdout.toString()).toMatch(/web-1 [\s\S]*build-17 /);
  });
});

describe("- (api.md#prefixes)", () => {
  test.each([...READS, ...CHANGES])("is the last run of the caller: %s", async (...verb) => {
    serve("others", "own");
    expect(await bench.run(lineOf(verb, "-"))).toMatchObject({ code: 0 });
    expect(looks().map(({ query }) => [query.get("mine"), query.get("limit")])).toEqual([["true", "1"]]);
    const ids = bench.plane.seen.map(({ path }) => path.split("/")[3]).filter((id) => id !== undefined);
    expect(ids.filter((id) => id !== "own" && id !== "query")).toEqual([]);
  });

  test("is that in drover audit --run, too", async () => {
    serve("others", "own");
    bench.plane.on("GET", /^\/v1\/audit$/, (_, res) =>
      json(res, 200, { items: [], next: null, follow: "", service: [] }),
    );
    expect((await bench.run(["audit", "--run", "-"])).code).toBe(0);
    expect(bench.plane.seen.at(-1)?.query.get("within")).toBe("run:own");
  });

  test("is an error before the first run", async () => {
    serve();
    const ended = await bench.run(["status", "-"]);
    expect(ended.code).toBe(125);
    expect(ended.stderr).toMatch(/last run that you have submitted, and there is none/);
  });
});
