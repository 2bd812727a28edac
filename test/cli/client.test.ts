import { afterEach, beforeEach, expect, test } from "vitest";
import { type Client, createClient } from "../../client/client.ts";
import { ApiError, UnreachableError } from "../../client/errors.ts";
import { backOffMs, retryDelayMs } from "../../client/retry.ts";
import { ControlPlane, json, problem, statusOf, TOKEN } from "./support/control-plane.ts";

let plane: ControlPlane;
let client: Client;
beforeEach(async () => {
  plane = await new ControlPlane().start();
  client = createClient({ url: `${plane.url}/`, token: TOKEN });
});
afterEach(() => plane.stop());

const RUNS = /^\/v1\/runs$/;
const LOGS = /\/logs\/main\/stdout$/;
const spec = { argv: ["true"] };

async function rejection(work: Promise<unknown>): Promise<unknown> {
  return await work.then(
    () => "it did not reject",
    (error: unknown) => error,
  );
}

async function collect(log: AsyncGenerator<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of log) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

test("a problem document becomes an ApiError with its members", async () => {
  const errors = [{ pointer: "/argv", detail: "must name a command" }];
  plane.on("POST", RUNS, (_seen, res) => problem(res, 400, "invalid_request", { detail: "no", errors }));
  const error = await rejection(client.runs.submit(spec));
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({
    status: 400,
    code: "invalid_request",
    temporary: false,
    detail: "no",
    errors,
  });
});

test("a refusal without a problem document is temporary only if its status says so", async () => {
  plane.on("GET", /./, (_seen, res) => res.writeHead(502).end("bad gateway"));
  const patient = createClient({ url: plane.url, token: TOKEN, patience: { busyMs: 0 } });
  expect(await rejection(patient.pools.list())).toMatchObject({
    status: 502,
    code: "unexpected_answer",
    temporary: true,
  });
});

// Only what is the same when done twice is sent twice.
test.each([
  ["neither id nor key", spec, {}, 1],
  ["an id", { ...spec, id: "r1" }, {}, 3],
  ["a key", spec, { key: "k1" }, 3],
])(
  "a submission with %s, refused twice for the moment, is sent as often as is safe",
  async (_name, run, options, tries) => {
    plane.on("POST", RUNS, (_seen, res) => problem(res, 503, "unavailable"), 2);
    await rejection(client.runs.submit(run, options));
    const sent = plane.seen.map(({ headers, body }) => [headers["idempotency-key"], body]);
    expect(sent).toEqual(
      Array.from({ length: tries }, () => ["key" in options ? options.key : undefined, run]),
    );
  },
);

test.each([
  [
    [
      { ...spec, id: "r1" },
      { ...spec, id: "r2" },
    ],
    undefined,
    2,
  ],
  [[{ ...spec, id: "r1" }, spec], undefined, 1],
  [[spec, spec], "k1", 2],
])("a batch %j with the key %j is sent %i times", async (runs, key, times) => {
  plane.on("POST", RUNS, (_seen, res) => problem(res, 503, "unavailable"), 1);
  await rejection(client.runs.submitBatch(runs, { key }));
  expect(plane.seen.map(({ body }) => body)).toEqual(Array.from({ length: times }, () => ({ runs })));
});

test("submit tells a run that was there before, but not one that its own repetition finds", async () => {
  expect((await client.runs.submit({ ...spec, id: "r1" })).replayed).toBe(false);
  expect((await client.runs.submit({ ...spec, id: "r1" })).replayed).toBe(true);
  plane.on("POST", RUNS, (_seen, res) => res.destroy(), 1);
  plane.runs.set("r2", statusOf("r2"));
  expect((await client.runs.submit({ ...spec, id: "r2" })).replayed).toBe(false);
});

test("a signal whose answer is lost is sent again with the same key: it arrives once", async () => {
  plane.on("POST", /signal$/, (_seen, res) => json(res, 200, statusOf("r1")));
  plane.on("POST", /signal$/, (_seen, res) => res.destroy(), 1);
  await client.runs.signal("r1", "SIGHUP");
  await client.runs.signal("r1", "SIGHUP");
  const keys = plane.seen.map(({ headers }) => headers["idempotency-key"]);
  expect(keys).toEqual([keys[0], keys[0], expect.not.stringMatching(String(keys[0]))]);
});

test("nobody there is an UnreachableError, and nothing was sent", async () => {
  const { url } = plane;
  await plane.stop();
  const hasty = createClient({ url, token: TOKEN, patience: { unreachableMs: 300 } });
  const error = await rejection(hasty.runs.get("r1"));
  expect(error).toBeInstanceOf(UnreachableError);
  expect(error).toMatchObject({ url, reason: "connection refused", neverSent: true });
});

test("once anything was sent, what was asked for may have been done", async () => {
  plane.on("POST", RUNS, (_seen, res) => {
    res.destroy();
    void plane.stop();
  });
  const error = await rejection(client.runs.submit({ ...spec, id: "r1" }));
  expect(error).toMatchObject({ name: "UnreachableError", neverSent: false });
});

test("a call ends with the reason of its signal", async () => {
  plane.runs.set("r1", statusOf("r1"));
  const controller = new AbortController();
  const waiting = rejection(client.runs.wait("r1", { signal: controller.signal }));
  await plane.requests("GET", /r1$/);
  controller.abort("enough");
  expect(await waiting).toBe("enough");
});

test("wait asks again after each answer that is not the end", async () => {
  plane.runs.set("r1", statusOf("r1"));
  plane.on("GET", /r1$/, (_seen, res) => json(res, 200, plane.runs.get("r1")), 2);
  const waiting = client.runs.wait("r1");
  await plane.requests("GET", /r1$/, 3);
  plane.end({ state: "timedout" });
  expect((await waiting).state).toBe("timedout");
  expect(plane.seen[0]?.query.toString()).toBe("wait=30000ms&state=done");
});

test("every route is asked as the API has it", async () => {
  plane.on("GET", /./, (_seen, res) => json(res, 200, {}));
  plane.on("POST", /./, (_seen, res) => json(res, 200, {}));
  plane.on("PUT", /./, (_seen, res) => json(res, 200, {}));
  const { enrollments, runs, pools, workers } = client;
  const config = { provider: { kind: "http", url: "http://x", secret: "s" }, instanceTypes: {} } as const;
  const table: [Promise<unknown>, string, unknown?][] = [
    [runs.get("r1"), "GET /v1/runs/r1?"],
    [runs.get("r1", { waitMs: 5_000, until: "running" }), "GET /v1/runs/r1?wait=5000ms&state=running"],
    [
      runs.abort("r1", { waitMs: 10_000, reason: "x" }),
      "POST /v1/runs/r1/abort?wait=10000ms",
      { reason: "x" },
    ],
    [runs.abort("r1"), "POST /v1/runs/r1/abort?", {}],
    [runs.restart("r1", { task: "m" }), "POST /v1/runs/r1/restart?", { task: "m" }],
    [runs.signal("r1", "SIGHUP", { task: "m" }), "POST /v1/runs/r1/signal?", { task: "m", signal: "SIGHUP" }],
    [runs.events("r1", { after: 7, waitMs: 1 }), "GET /v1/runs/r1/events?wait=1ms&after=7"],
    [runs.stats("r1", { task: "m" }), "GET /v1/runs/r1/stats?task=m"],
    [runs.why("r1"), "GET /v1/runs/r1/why?"],
    [
      runs.list({
        states: ["done", 2],
        labels: { a: "b:c" },
        pool: "p",
        limit: 5,
        cursor: "z",
        ids: ["r1", "r2"],
      }),
      "GET /v1/runs?id=r1&id=r2&state=done&state=2&label=a%3Ab%3Ac&pool=p&limit=5&cursor=z",
    ],
    [
      runs.query({ runs: ["r1"], states: ["all"] }, { waitMs: 9 }),
      "POST /v1/runs/query?",
      { runs: ["r1"], states: ["all"], wait: "9ms" },
    ],
    [pools.put("p", config), "PUT /v1/pools/p?", config],
    [pools.get("p"), "GET /v1/pools/p?"],
    [pools.list(), "GET /v1/pools?"],
    [workers.list({ pool: "p", states: ["idle", "gone"] }), "GET /v1/workers?pool=p&state=idle&state=gone"],
    [workers.get("w"), "GET /v1/workers/w?"],
    [workers.why("w"), "GET /v1/workers/w/why?"],
    [workers.hold("w"), "POST /v1/workers/w/hold?", {}],
    [workers.resume("w"), "POST /v1/workers/w/resume?", {}],
    [workers.drain("w"), "POST /v1/workers/w/drain?", {}],
    [workers.kill("w", { reason: "x" }), "POST /v1/workers/w/kill?", { reason: "x" }],
    [enrollments.create({ pool: "p" }), "POST /v1/enrollments?", { pool: "p" }],
    [runs.get("a/../b?c"), "GET /v1/runs/a%2F..%2Fb%3Fc?"],
  ];
  await Promise.all(table.map(([answer]) => answer));
  const asked = plane.seen.map(({ method, path, query, body }) => [`${method} ${path}?${query}`, body]);
  expect(asked.sort()).toEqual(table.map(([, line, body]) => [line, body]).sort());
});

test("the tail of a log is continued where it broke", async () => {
  plane.runs.set("r1", statusOf("r1"));
  plane.logs.stdout = Buffer.from("0123456789");
  plane.on(
    "GET",
    LOGS,
    (_seen, res) => {
      res.writeHead(206, { "content-range": "bytes 4-9/*" }).write("45", () => res.destroy());
    },
    1,
  );
  const wish = { task: "main", stream: "stdout", tail: "6", follow: true } as const;
  expect(await collect(client.runs.logs("r1", wish))).toBe("456789");
  expect(plane.seen.map(({ query, headers }) => [query.toString(), headers.range])).toEqual([
    ["follow=1&tail=6", undefined],
    ["follow=1", "bytes=6-"],
  ]);
});

test("the tail of a log that does not say where it begins is given up rather than guessed", async () => {
  plane.on("GET", LOGS, (_seen, res) => res.writeHead(206).write("45", () => res.destroy()));
  const wish = { task: "main", stream: "stdout", tail: "6" } as const;
  expect(await rejection(collect(client.runs.logs("r1", wish)))).toBeInstanceOf(UnreachableError);
  expect(plane.seen.length).toBe(1);
});

test("a log that comes from behind the wanted byte is an error, not a gap", async () => {
  const part = { "content-range": "bytes 3-9/*" };
  plane.on("GET", LOGS, (_seen, res) => res.writeHead(206, part).end("3456789"));
  const wish = { task: "main", stream: "stdout" } as const;
  expect(await rejection(collect(client.runs.logs("r1", wish)))).toMatchObject({ code: "unexpected_answer" });
});

test("following a log ends when nothing good has come for as long as the caller has patience", async () => {
  plane.on("GET", LOGS, (_seen, res) => res.destroy());
  const wish = { task: "main", stream: "stdout", follow: true, unreachableMs: 500 } as const;
  expect(await rejection(collect(client.runs.logs("r1", wish)))).toBeInstanceOf(UnreachableError);
  expect(plane.seen.length).toBeGreaterThan(1);
});

test("a log that is refused for good is not asked for again", async () => {
  const wish = { task: "main", stream: "stdout", follow: true } as const;
  expect(await rejection(collect(client.runs.logs("nobody", wish)))).toMatchObject({ code: "unknown_run" });
  expect(plane.seen.length).toBe(1);
});

const patience = { unreachableMs: 3_000, busyMs: 60_000 };
const refusal = (temporary: boolean, retryAfterMs?: number) =>
  new ApiError({ status: 503, code: "unavailable", detail: "", temporary, retryAfterMs });
const silence = new UnreachableError("http://x", new Error("x"));

test.each<
  [name: string, error: unknown, tries: number, elapsedMs: number, least: number | undefined, most?: number]
>([
  ["silence, first", silence, 1, 0, 100, 200],
  ["silence, fourth", silence, 4, 0, 800, 1_600],
  ["silence, at the end of the patience", silence, 1, 2_950, undefined],
  ["busy, much later", refusal(true), 9, 30_000, 2_500, 5_000],
  ["busy, with Retry-After", refusal(true, 7_000), 1, 0, 7_000, 7_000],
  ["busy, with Retry-After beyond the patience", refusal(true, 61_000), 1, 0, undefined],
  ["refused for good", refusal(false), 1, 0, undefined],
  ["something else", new Error("x"), 1, 0, undefined],
])("the next try after %s", (_name, error, tries, elapsedMs, least, most) => {
  const delayMs = retryDelayMs(error, tries, elapsedMs, patience);
  if (least === undefined) return expect(delayMs).toBe(undefined);
  expect(delayMs).toBeGreaterThanOrEqual(least);
  expect(delayMs).toBeLessThanOrEqual(most ?? 0);
});

test.each([
  [1, 0, 100],
  [1, 1, 200],
  [3, 1, 800],
  [40, 1, 5_000],
  [100_000, 0, 2_500],
])("back-off after %i tries with the random number %d is %i ms", (tries, random, delayMs) => {
  expect(backOffMs(tries, random)).toBe(delayMs);
});
