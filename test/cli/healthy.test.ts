import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { RunStatus } from "../../src/schema/run/run.ts";
import { type Bench, openBench } from "./support/command.ts";
import { json, statusOf, taskOf } from "./support/control-plane.ts";

// How the command waits for healthy runs and shows them (health.md#wait, health.md#status).

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(() => bench.close());

const RUN = /^\/v1\/runs\/web-\d$/;
type Patch = Parameters<typeof statusOf>[1];

/** The plane answers reads with these one after the other, and then with the last one. */
function serve(...answers: Patch[]): void {
  let asked = 0;
  bench.plane.on("GET", RUN, ({ path }, res) => {
    const patch = answers[Math.min(asked, answers.length - 1)] ?? {};
    asked += 1;
    json(res, 200, statusOf(path.split("/").at(-1) ?? "", patch));
  });
}

/** The same, for each run by itself. */
function serveEach(answers: Record<string, Patch[]>): void {
  const left = Object.fromEntries(Object.entries(answers).map(([id, list]) => [id, [...list]]));
  bench.plane.on("GET", RUN, ({ path }, res) => {
    const id = path.split("/").at(-1) ?? "";
    const list = left[id] ?? [];
    json(res, 200, statusOf(id, (list.length > 1 ? list.shift() : list[0]) ?? {}));
  });
}

const healthy: Patch = { state: "running", health: "healthy" };
const unhealthy: Patch = { state: "running", health: "unhealthy" };

describe("drover wait --healthy", () => {
  test("asks until all checks pass, and exits with 0", async () => {
    serve(unhealthy, unhealthy, healthy);
    const waited = await bench.run(["wait", "--healthy", "web-1"]);
    expect(waited).toMatchObject({ code: 0, stderr: "drover: It is healthy.\n" });
    const queries = bench.plane.seen.filter(({ path }) => RUN.test(path)).map(({ query }) => query);
    expect(queries.at(-1)?.get("health")).toBe("healthy");
    expect(queries.at(-1)?.has("wait")).toBe(true);
  });

  test("waits for all of them", async () => {
    serve(unhealthy, healthy, healthy);
    const waited = await bench.run(["wait", "--healthy", "web-1", "web-2"]);
    expect(waited).toMatchObject({ code: 0, stderr: "drover: All are healthy.\n" });
  });

  test.each<[string, Patch, number, RegExp]>([
    [
      "its exit code, if it has ended",
      { state: "complete", exitCode: 3 },
      3,
      /web-1 has ended, and is not healthy/,
    ],
    [
      "125, if it has ended with 0",
      { state: "complete", exitCode: 0 },
      125,
      /web-1 has ended, and is not healthy/,
    ],
    [
      "125, if a check has failed too often",
      {
        state: "failed",
        failure: { class: "task", code: "check_failed", text: 'its check "http" has failed' },
      },
      125,
      /not healthy: its check "http" has failed/,
    ],
    [
      "125, if it has no checks",
      { state: "running" },
      125,
      /web-1 has no checks, so it can never be healthy/,
    ],
  ])("exits with %s", async (_, patch, code, text) => {
    serve(patch);
    const waited = await bench.run(["wait", "--healthy", "web-1"]);
    expect(waited.code).toBe(code);
    expect(waited.stderr).toMatch(text);
  });

  test("ends with the first that has ended, whatever the others do", async () => {
    serveEach({ "web-1": [unhealthy], "web-2": [unhealthy, { state: "complete", exitCode: 3 }] });
    const waited = await bench.run(["wait", "--healthy", "web-1", "web-2"]);
    expect(waited.code).toBe(3);
    expect(waited.stderr).toContain("Run web-2 has ended, and is not healthy");
  });

  test("is not over when one that was healthy fails while others are waited for", async () => {
    serveEach({ "web-1": [healthy, unhealthy, unhealthy, healthy], "web-2": [unhealthy, healthy] });
    const waited = await bench.run(["wait", "--healthy", "web-1", "web-2"]);
    expect(waited).toMatchObject({ code: 0, stderr: "drover: All are healthy.\n" });
    expect(bench.plane.seen.filter(({ path }) => path.endsWith("/web-1")).length).toBeGreaterThanOrEqual(4);
  });

  test("after the time-out, says which check does not pass", async () => {
    serve(unhealthy);
    const text = "task main: check `http` fails since 12:03: connection refused";
    bench.plane.on("GET", /why$/, (_, res) =>
      json(res, 200, {
        state: "running",
        reason: { code: "unhealthy", text },
        next: { action: "wait for it to end", at: null },
        chain: [],
      }),
    );
    const waited = await bench.run(["wait", "--healthy", "--timeout", "300ms", "web-1"]);
    expect(waited).toMatchObject({ code: 124 });
    expect(waited.stderr).toBe(`drover: Run web-1 is not healthy within 300ms: ${text}\n`);
  });
});

describe("drover run --detach --healthy", () => {
  test("prints the id, and exits once all checks pass", async () => {
    serve(unhealthy, healthy);
    bench.plane.ends = undefined;
    const ran = await bench.run(["run", "--detach", "--healthy", "--id", "web-1", "--", "serve"]);
    expect(ran).toMatchObject({ code: 0, stderr: "drover: It is healthy.\n" });
    expect(ran.stdout.toString()).toBe("web-1\n");
  });

  test.each([
    ["without --detach", ["--", "serve"], "--healthy needs --detach"],
    ["for many runs", ["--detach", "--array", "2", "--", "serve"], "--healthy is for one run"],
  ])("is refused %s", async (_, args, text) => {
    const ran = await bench.run(["run", "--healthy", ...args]);
    expect(ran.code).toBe(125);
    expect(ran.stderr).toContain(text);
  });
});

test("drover status shows the health, and each check of a task", async () => {
  const since = "2026-11-21T08:30:00.000Z";
  const checks: RunStatus["tasks"][number]["checks"] = [
    { name: "http", status: "critical", since, output: "connection refused\non 127.0.0.1" },
    { name: "port", status: "pending", since: null },
  ];
  serve({ ...unhealthy, tasks: [taskOf({ checks })] });
  const shown = (await bench.run(["status", "web-1"])).stdout.toString();
  expect(shown).toMatch(/^Health +unhealthy$/m);
  expect(shown).toContain(`  check http: critical since ${since}: connection refused on 127.0.0.1\n`);
  expect(shown).toContain("  check port: pending\n");
});
