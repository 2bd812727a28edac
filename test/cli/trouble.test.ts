import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Bench, environmentFor, openBench } from "./support/command.ts";
import { json, problem, statusOf, TOKEN } from "./support/control-plane.ts";

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(() => bench.close());

const RUNS = /^\/v1\/runs$/;
const bare = () => ({ PATH: process.env.PATH });

/** Writes what `drover up` writes, and returns the directory that it is then found from. */
function writeContext(text: string): string {
  mkdirSync(join(bench.dir, ".drover"), { recursive: true });
  mkdirSync(join(bench.dir, "a", "b"), { recursive: true });
  writeFileSync(join(bench.dir, ".drover", "context.json"), text, { mode: 0o600 });
  return join(bench.dir, "a", "b");
}

test("without any Drover it says how to get one", async () => {
  const ended = await bench.run(["run", "--", "x"], { cwd: "/", env: bare() });
  expect(ended).toMatchObject({
    code: 125,
    stderr:
      "drover: No Drover found in this directory or above it.\n" +
      "  Start one here with `drover up`, or use one elsewhere: `drover login <url>`. " +
      "For this command alone,\n" +
      "  set DROVER_STATE to its state directory, or DROVER_URL and DROVER_TOKEN.\n",
  });
});

test("the context is found upwards from the current directory", async () => {
  const cwd = writeContext(JSON.stringify({ url: bench.plane.url, token: TOKEN }));
  expect((await bench.run(["run", "--", "x"], { cwd, env: bare() })).code).toBe(0);
});

test("DROVER_URL and DROVER_TOKEN override the context", async () => {
  const cwd = writeContext(JSON.stringify({ url: "http://127.0.0.1:1", token: "drv_other" }));
  expect((await bench.run(["run", "--", "x"], { cwd })).code).toBe(0);
});

test("the context's token is not sent to another Drover", async () => {
  const cwd = writeContext(JSON.stringify({ url: "http://127.0.0.1:1", token: TOKEN }));
  const ended = await bench.run(["ps"], { cwd, env: { ...bare(), DROVER_URL: bench.plane.url } });
  expect(ended.code).toBe(125);
  expect(ended.stderr).toContain("DROVER_URL is set, but DROVER_TOKEN is not.");
  expect(bench.plane.seen).toEqual([]);
});

test.each([["{"], ["[]"], ['{"url":"x","token":"y"}'], ['{"url":"http://127.0.0.1:1"}']])(
  "a damaged context is named: %s",
  async (text) => {
    const ended = await bench.run(["ps"], { cwd: writeContext(text), env: bare() });
    expect(ended.code).toBe(125);
    expect(ended.stderr).toMatch(/\.drover\/context\.json is damaged/);
  },
);

test.each(["drover.example.com", "ftp://drover.example.com", "http://"])(
  "DROVER_URL=%s is refused",
  async (url) => {
    const ended = await bench.run(["ps"], { env: { ...environmentFor(bench.plane), DROVER_URL: url } });
    expect(ended.code).toBe(125);
    expect(ended.stderr).toContain(`DROVER_URL is not an http or https URL: ${url}`);
  },
);

test("a control plane that is down is said in a sentence, with what to do", async () => {
  const cwd = writeContext(JSON.stringify({ url: bench.plane.url, token: TOKEN }));
  await bench.plane.stop();
  const local = await bench.run(["run", "--", "x"], { cwd, env: bare() });
  expect(local.code).toBe(125);
  expect(local.stderr).toMatch(/does not answer: connection refused\.\n {2}It was started by `drover up`/);
  const remote = await bench.run(["ps"]);
  expect(remote.code).toBe(125);
  expect(remote.stderr).toMatch(/does not answer: connection refused\.\n {2}Check DROVER_URL/);
});

test("a wrong token is said, with where it is from", async () => {
  bench.plane.on("POST", RUNS, (_seen, res) => problem(res, 401, "unauthorized"));
  const ended = await bench.run(["run", "--", "x"]);
  expect(ended.code).toBe(125);
  expect(ended.stderr).toContain("Check DROVER_TOKEN.");
  expect(bench.plane.runs.size).toBe(0);
});

test("X9: a token that a local Drover does not know is not sent to it", async () => {
  const env = { ...environmentFor(bench.plane), DROVER_TOKEN: "drv_wrong" };
  const ended = await bench.run(["run", "--", "x"], { env });
  expect(ended.code).toBe(125);
  expect(ended.stderr).toContain("does not know your token");
  expect(ended.stderr).toContain("Check DROVER_URL and DROVER_TOKEN.");
  expect(bench.plane.seen).toEqual([]);
  expect(bench.plane.runs.size).toBe(0);
});

test.each([
  ["a page of something else", "text/html", /answered with text\/html instead of JSON; it may not be Drover/],
])("an address with %s is not taken for Drover", async (_name, type, stderr) => {
  bench.plane.on("GET", /./, (_seen, res) => res.writeHead(200, { "content-type": type }).end("<html>"));
  const ended = await bench.run(["ps"]);
  expect(ended.code).toBe(125);
  expect(ended.stderr).toMatch(stderr);
});

test("a redirection is told and not followed", async () => {
  bench.plane.on("POST", RUNS, (_seen, res) =>
    res.writeHead(301, { location: "https://other.example/" }).end(),
  );
  const ended = await bench.run(["run", "--", "x"]);
  expect(ended.code).toBe(125);
  expect(ended.stderr).toContain("redirects to https://other.example/");
});

test.each([
  ["not now", 503, "unavailable"],
  ["the queue is full", 429, "busy"],
  ["the token makes too many requests", 429, "too_many_requests"],
])(
  "a submission that is refused for the moment (%s) is made again, as the same run",
  async (_name, status, code) => {
    const { plane } = bench;
    plane.on("POST", RUNS, (_seen, res) => problem(res, status, code, { retryAfter: "0" }), 2);
    const ended = await bench.run(["run", "--", "x"]);
    const tries = await plane.requests("POST", RUNS);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(tries.length).toBe(3);
    expect(new Set(tries.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(plane.runs.size).toBe(1);
  },
);

test("a submission whose answer is lost finds its run again", async () => {
  const { plane } = bench;
  const stored = (id: unknown) => statusOf(String(id), { state: "complete", exitCode: 9 });
  plane.on(
    "POST",
    RUNS,
    ({ body }, res) => {
      // Stored, but the answer never arrives.
      if (typeof body === "object" && body !== null && "id" in body)
        plane.runs.set(String(body.id), stored(body.id));
      res.destroy();
    },
    1,
  );
  const ended = await bench.run(["run", "--", "x"]);
  expect(ended.code).toBe(9);
  expect(plane.runs.size).toBe(1);
});

test("a run that Drover may have got is submitted again for as long as one may be out of sight", async () => {
  // More tries than fit into the time for which a client waits where nothing listens.
  bench.plane.on("POST", RUNS, (_seen, res) => res.destroy(), 6);
  expect((await bench.run(["run", "--id", "r1", "--", "true"])).code).toBe(0);
});

test("after a submission whose fate is not known, the run's id is told", async () => {
  const { plane } = bench;
  plane.on("POST", RUNS, (_seen, res) => res.destroy());
  const ended = await bench.run(["run", "--detach", "--id", "r1", "--", "x"]);
  expect(ended.code).toBe(125);
  expect(ended.stderr).toMatch(/It may have received the run, as r1\. .*drover status r1/);
});

test("a wait that breaks goes on, and the output is not lost", async () => {
  const { plane } = bench;
  plane.ends = undefined;
  plane.on("GET", /^\/v1\/runs\/r1$/, (_seen, res) => res.destroy(), 2);
  plane.logs.stdout = Buffer.from("all of it");
  const running = bench.start(["run", "--id", "r1", "--", "x"]);
  await plane.requests("GET", /^\/v1\/runs\/r1$/, 3);
  plane.end({ state: "complete", exitCode: 0 });
  const ended = await running.ended;
  expect([ended.code, ended.stdout.toString(), ended.stderr]).toEqual([0, "all of it", ""]);
});

test.each([
  [404, "unknown_run", ""],
  [500, "internal", "  Look for instance / in the log of that Drover.\n"],
  [422, "unsatisfiable", ""],
])("a refusal with %i is given in the server's words, and not tried again", async (status, code, more) => {
  const detail = `the words for ${code}`;
  bench.plane.on("POST", RUNS, (_seen, res) => problem(res, status, code, { detail }));
  const ended = await bench.run(["run", "--", "x"]);
  expect(ended).toMatchObject({ code: 125, stderr: `drover: ${detail}\n${more}` });
  expect(bench.plane.seen.length).toBe(1);
});

test("an id that is taken by another run is told with what to do", async () => {
  const detail = "A run with the id r1 exists, with another submission.";
  bench.plane.on("POST", RUNS, (_seen, res) => problem(res, 409, "run_exists", { detail }));
  const ended = await bench.run(["run", "--id", "r1", "--", "x"]);
  expect(ended.stderr).toBe(
    `drover: ${detail}\n  Choose another --id, or look at that run: drover status r1\n`,
  );
});

test("something that speaks no HTTP is told, too", async () => {
  const server = createServer((socket) => socket.end("220 smtp ready\r\n")).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const env = { ...environmentFor(bench.plane), DROVER_URL: `http://127.0.0.1:${port}` };
  const ended = await bench.run(["ps"], { env });
  server.close();
  expect(ended.code).toBe(125);
  expect(ended.stderr).toMatch(/^drover: Drover at http:\/\/127\.0\.0\.1:\d+ does not answer: .+/);
});

test("where nobody watches, one line is said when a run waits for long", async () => {
  const { plane } = bench;
  plane.ends = undefined;
  plane.why.reason.text = "no machine is ready; one is booting";
  const running = bench.start(["run", "--id", "r1", "--", "x"]);
  await running.says(/^drover: Run r1 waits: no machine is ready; one is booting\n$/);
  plane.end({ state: "complete", exitCode: 0 });
  expect((await running.ended).code).toBe(0);
});

test("a list that may be incomplete says so", async () => {
  const service = [{ pool: "gpu", initialized: true, healthy: false, error: "it cannot be reached" }];
  bench.plane.on("GET", RUNS, (_seen, res) => json(res, 200, { items: [], next: null, service }));
  const ended = await bench.run(["ps"]);
  expect(ended).toMatchObject({ code: 0, stderr: "drover: Pool gpu is in trouble: it cannot be reached\n" });
});
