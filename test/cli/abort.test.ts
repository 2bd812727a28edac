import type { ServerResponse } from "node:http";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { RunSummary } from "../../src/schema/run/run.ts";
import { type Bench, openBench } from "./support/command.ts";
import { json, problem, type Seen, statusOf, summaryOf } from "./support/control-plane.ts";

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(() => bench.close());

const MANY = /^\/v1\/runs\/abort$/;
const QUERY = /^\/v1\/runs\/query$/;

/** What a wait for runs by their ids is answered with: with all of them, if they have ended. */
function waitedFor({ body }: Seen, res: ServerResponse, state: RunSummary["state"]): void {
  const { runs } = body as { runs: string[] }; // what the command has sent
  const hasEnded = state !== "running";
  const items = hasEnded ? runs.map((id) => summaryOf(id, { state })) : [];
  const all = { holds: hasEnded, open: hasEnded ? 0 : runs.length, possible: true };
  json(res, 200, { items, next: null, service: [], all });
}

const paths = (pattern: RegExp) => bench.plane.seen.filter(({ path }) => pattern.test(path));

/** Two pages of runs that are asked to end, and all of them have when they are waited for. */
function twoPages(): void {
  bench.plane.on("POST", MANY, ({ body }: Seen, res) => {
    const { cursor } = body as { cursor?: string }; // what the command has sent
    const ids = cursor === undefined ? ["r1", "r2"] : ["r3"];
    const items = ids.map((id) => ({ id, state: "running" }));
    json(res, 200, { items, failed: [], next: cursor ? null : "2", service: [] });
  });
  bench.plane.on("POST", QUERY, (seen, res) => waitedFor(seen, res, "aborted"));
}

test("all runs of an array are ended", async () => {
  twoPages();
  expect((await bench.run(["abort", "--array", "n"])).code).toBe(0);
  expect(paths(MANY)[0]?.body).toMatchObject({ array: "n" });
});

test("all runs with a label are ended, page after page, and waited for", async () => {
  twoPages();
  const ended = await bench.run(["abort", "--label", "set=a", "--pool", "p", "--reason", "enough"]);
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  expect(ended.stdout.toString()).toBe("r1 ended: aborted\nr2 ended: aborted\nr3 ended: aborted\n");
  const asked = paths(MANY).map(({ body }) => body);
  const which = { labels: { set: "a" }, pool: "p", reason: "enough", limit: 100 };
  expect(asked).toEqual([which, { ...which, cursor: "2" }]);
});

test("--no-wait only asks, and --all says that all are meant", async () => {
  twoPages();
  const ended = await bench.run(["abort", "--all", "--no-wait"]);
  expect(ended.code).toBe(0);
  expect(ended.stdout.toString()).toMatch(/r1 is being aborted/);
  expect(bench.plane.seen[0]?.body).toEqual({ all: true, limit: 100 });
});

test("a run that could not be asked is said, and the command fails", async () => {
  bench.plane.on("POST", MANY, (_seen, res) => {
    const failed = [{ id: "r9", code: "unavailable", detail: "it could not be reached" }];
    json(res, 200, { items: [], failed, next: null, service: [] });
  });
  const ended = await bench.run(["abort", "--pool", "p"]);
  expect(ended.code).toBe(125);
  expect(ended.stderr).toMatch(/r9: it could not be reached/);
});

test("a thousand runs are waited for together, again and again until they have ended", async () => {
  const ids = Array.from({ length: 1_000 }, (_, index) => `r${index}`);
  bench.plane.on("POST", MANY, ({ body }, res) => {
    const { cursor = "0", limit } = body as { cursor?: string; limit: number }; // what the command has sent
    const end = Number(cursor) + limit;
    const items = ids.slice(Number(cursor), end).map((id) => ({ id, state: "running" }));
    json(res, 200, { items, failed: [], next: end < ids.length ? String(end) : null, service: [] });
  });
  bench.plane.on("POST", QUERY, (seen, res) => waitedFor(seen, res, "aborted"));
  bench.plane.on("POST", QUERY, (seen, res) => waitedFor(seen, res, "running"), 1);
  const ended = await bench.run(["abort", "--all"]);
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  expect(ended.stdout.toString()).toBe(ids.map((id) => `${id} ended: aborted\n`).join(""));
  const wait = { runs: ids, states: ["done"], all: true, wait: "30000ms" };
  expect(paths(QUERY).map(({ body }) => body)).toEqual([wait, wait]);
  expect(paths(MANY)).toHaveLength(10);
});

test("a run that is deleted while it is waited for is said, and the others are told", async () => {
  twoPages();
  bench.plane.on("POST", QUERY, (_seen, res) => problem(res, 410, "expired_run"), 1);
  bench.plane.on("GET", /r[13]$/, ({ path }, res) => {
    json(res, 200, statusOf(path.slice(-2), { state: "aborted" }));
  });
  bench.plane.on("GET", /r2$/, (_seen, res) => problem(res, 410, "expired_run", { detail: "r2 has gone" }));
  const ended = await bench.run(["abort", "--label", "set=a"]);
  expect(ended).toMatchObject({ code: 125, stderr: expect.stringContaining("r2: r2 has gone") });
  expect(ended.stdout.toString().split("\n").sort()).toEqual(["", "r1 ended: aborted", "r3 ended: aborted"]);
});
