import { createHash } from "node:crypto";
import type { ServerResponse } from "node:http";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Client, createClient } from "../../client/client.ts";
import { ApiError, UnreachableError } from "../../client/errors.ts";
import { DEFAULT_PATIENCE, retryDelayMs, retryPauseMs } from "../../client/transport/retry.ts";
import type { RunSpec } from "../../client/types.ts";
import { NAME_PATTERN } from "../../src/schema/common.ts";
import { changed } from "../edge/support/samples.ts";
import { ControlPlane, json, problem, type Seen, statusOf, TOKEN } from "./support/control-plane.ts";

let plane: ControlPlane;
let client: Client;
beforeEach(async () => {
  plane = await new ControlPlane().start();
  client = createClient({ url: `${plane.url}/`, token: TOKEN });
});
afterEach(() => {
  vi.restoreAllMocks();
  return plane.stop();
});

const RUNS = /^\/v1\/runs$/;
const LOGS = /\/logs\/main\/stdout$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
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

// What tells a repetition from another submission: the ids in the body, or a key. There is always one.
test.each<[name: string, run: RunSpec, options: { key?: string }, keys: unknown]>([
  ["neither id nor key", spec, {}, expect.stringMatching(UUID)],
  ["an id", { ...spec, id: "r1" }, {}, undefined],
  ["a key", spec, { key: "k1" }, "k1"],
  ["both, which the server refuses", { ...spec, id: "r1" }, { key: "k1" }, "k1"],
])("a submission with %s is sent again as it was (api.md#idempotency)", async (_name, run, options, key) => {
  plane.on("POST", RUNS, (_seen, res) => problem(res, 503, "unavailable"), 1);
  plane.on("POST", RUNS, (_seen, res) => res.destroy(), 1);
  await client.runs.submit(run, options);
  const sent = plane.seen.map(({ headers, body }) => [headers["idempotency-key"], body]);
  expect(sent).toEqual(Array.from({ length: 3 }, () => [key, run]));
  expect(new Set(sent.map(([one]) => one)).size).toBe(1);
});

test("two submissions without a key have two keys: they are two runs", async () => {
  plane.on("POST", RUNS, (_seen, res) => json(res, 201, statusOf("r1")));
  await Promise.all([client.runs.submit(spec), client.runs.submit(spec)]);
  expect(new Set(plane.seen.map(({ headers }) => headers["idempotency-key"])).size).toBe(2);
});

const id = expect.stringMatching(NAME_PATTERN);
test.each<[name: string, runs: RunSpec[], key: string | undefined, sentKey: unknown, sentRuns: unknown[]]>([
  ["ids", ["r1", "r2"].map((id) => ({ ...spec, id })), undefined, undefined, [{ id: "r1" }, { id: "r2" }]],
  ["an id for one", [{ ...spec, id: "r1" }, spec], undefined, undefined, [{ id: "r1" }, { id }]],
  ["no ids", [spec, spec], undefined, expect.stringMatching(UUID), [spec, spec]],
  ["a key", [spec, spec], "k1", "k1", [spec, spec]],
])("a batch with %s is sent again as it was", async (_name, runs, key, sentKey, sentRuns) => {
  plane.on("POST", RUNS, (_seen, res) => json(res, 201, { items: [] }), 1);
  plane.on("POST", RUNS, (_seen, res) => res.destroy(), 1);
  await client.runs.submitBatch(runs, { key });
  const [first, second] = plane.seen.map(({ headers, body }) => ({ key: headers["idempotency-key"], body }));
  expect(first).toMatchObject({ key: sentKey, body: { runs: sentRuns } });
  expect(second).toEqual(first);
});

test("submit tells a run that was there before, but not one that its own repetition finds", async () => {
  expect((await client.runs.submit({ ...spec, id: "r1" })).replayed).toBe(false);
  expect((await client.runs.submit({ ...spec, id: "r1" })).replayed).toBe(true);
  plane.on("POST", RUNS, (_seen, res) => res.destroy(), 1);
  plane.runs.set("r2", statusOf("r2"));
  expect((await client.runs.submit({ ...spec, id: "r2" })).replayed).toBe(false);
});

test("run submits once, also after a lost answer, and its handle reads the run to its end", async () => {
  plane.ends = undefined;
  plane.logs.stdout = Buffer.from("out");
  plane.logs.stderr = Buffer.from("err");
  plane.on("POST", RUNS, (_seen, res) => res.destroy(), 1);
  const run = await client.run({ ...spec, id: "r1" });
  expect([run.id, run.submitted.state]).toEqual(["r1", "pending"]);
  expect(plane.seen.filter(({ method }) => method === "POST").map(({ body }) => body)).toEqual([
    { ...spec, id: "r1" },
    { ...spec, id: "r1" },
  ]);
  const waiting = run.wait();
  await plane.requests("GET", /r1$/);
  plane.end({ state: "complete", exitCode: 3 });
  expect(await waiting).toMatchObject({ state: "complete", exitCode: 3 });
  expect([await collect(run.logs()), await collect(run.logs({ stream: "stderr" }))]).toEqual(["out", "err"]);
});

const argv = ["x"];
test.each<[what: string, spec: object, task: string]>([
  ["a lone command", { argv: ["x"] }, "main"],
  [
    "a group, its leader",
    {
      tasks: [
        { name: "a", argv },
        { name: "b", argv, leader: true },
      ],
    },
    "b",
  ],
  [
    "a group without one, its first main task",
    {
      tasks: [
        { name: "a", argv, lifecycle: { hook: "prestart" } },
        { name: "b", argv },
        { name: "c", argv },
      ],
    },
    "b",
  ],
])("logs of %s are of the task that stands for the run", async (_what, shown, task) => {
  plane.runs.set("r1", changed(statusOf("r1"), { spec: JSON.parse(JSON.stringify(shown)) }));
  plane.on("GET", /\/logs\//, (_seen, res) => res.writeHead(200, { "drover-attempt": "1.1" }).end("x"));
  await collect(client.logs("r1", { attempt: "1.1" }));
  expect(plane.seen.at(-1)?.path).toBe(`/v1/runs/r1/logs/${task}/stdout`);
});

test("abort answers at once, and with `wait` when the run has ended (api.md#abort)", async () => {
  plane.runs.set("r1", statusOf("r1"));
  plane.on("POST", /abort$/, (_seen, res) => json(res, 200, plane.runs.get("r1")));
  expect((await client.abort("r1")).state).toBe("pending");
  const ending = client.abort("r1", { wait: true, reason: "enough" });
  await plane.requests("GET", /r1$/);
  plane.end({ state: "aborted" });
  expect((await ending).state).toBe("aborted");
  const asked = plane.seen.filter(({ method }) => method === "POST");
  expect(asked.map(({ body }) => body)).toEqual([{}, { reason: "enough" }]);
});

/** What goes on for longer than an answer may be missing, and then breaks, or is refused for now. */
const heldThen = (end: (res: ServerResponse) => unknown) => (_seen: Seen, res: ServerResponse) =>
  void setTimeout(() => end(res), DEFAULT_PATIENCE.unreachableMs + 200);

// The calls go on side by side, for each is held for as long as it takes to exceed the patience.
test("a call that was held for longer than the patience, and then broke, is made again", async () => {
  const cut = heldThen((res) => res.destroy());
  const content = Buffer.from("archive");
  const sha256 = createHash("sha256").update(content).digest("hex");
  const ended = () => statusOf("r1", { state: "complete" });
  plane.on("GET", /r1$/, (_seen, res) => json(res, 200, ended()));
  plane.on("GET", /r1$/, cut, 1);
  plane.on("POST", /r2\/abort$/, (_seen, res) => json(res, 200, statusOf("r2", { state: "running" })));
  plane.on("GET", /r2$/, (_seen, res) => json(res, 200, statusOf("r2", { state: "aborted" })));
  plane.on("GET", /r2$/, cut, 1);
  plane.on("GET", RUNS, (_seen, res) => json(res, 200, { items: [], next: null, service: [] }));
  plane.on("GET", RUNS, cut, 1);
  plane.on("PUT", /snapshots/, cut, 1);
  const archive = async function* () {
    yield content;
  };
  const [waited, all, aborted, stored] = await Promise.all([
    client.runs.wait("r1"),
    client.runs.waitAll({ labels: { a: "b" } }),
    client.abort("r2", { wait: true }),
    client.snapshots.upload(archive, { sha256, bytes: content.length }),
  ]);
  expect([waited.state, all.items, aborted.state]).toEqual(["complete", [], "aborted"]);
  expect(stored).toEqual({ id: `sha256:${sha256}`, bytes: content.length, found: false });
}, 30_000);

test("a call that was held for longer than the patience, and then refused, is made again", async () => {
  const patience = { busyMs: DEFAULT_PATIENCE.unreachableMs };
  const hasty = createClient({ url: plane.url, token: TOKEN, patience });
  plane.runs.set("r1", statusOf("r1", { state: "complete" }));
  plane.on(
    "GET",
    /r1$/,
    heldThen((res) => problem(res, 503, "unavailable")),
    1,
  );
  expect((await hasty.runs.wait("r1")).state).toBe("complete");
}, 30_000);

test("patience goes on through failures in a row, also if each of them takes its time", async () => {
  plane.on(
    "GET",
    /r1$/,
    heldThen((res) => res.destroy()),
  );
  expect(await rejection(client.runs.get("r1"))).toBeInstanceOf(UnreachableError);
  expect(plane.seen.length).toBe(2);
}, 30_000);

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

test("a call about many runs may take longer than about one, and a held one by what it is held", async () => {
  const asked = vi.spyOn(AbortSignal, "timeout");
  plane.on("POST", /./, (_seen, res) => json(res, 200, { items: [] }));
  plane.on("GET", /./, (_seen, res) => json(res, 200, {}));
  await client.runs.abortMany({ all: true });
  await client.runs.submitBatch([spec]);
  await client.runs.get("r1");
  await client.runs.get("r1", { waitMs: 5_000 });
  expect(asked.mock.calls.flat()).toEqual([120_000, 120_000, 30_000, 35_000]);
});

test("every route is asked as the API has it", async () => {
  plane.on("GET", /./, (_seen, res) => json(res, 200, {}));
  plane.on("POST", /./, (_seen, res) => json(res, 200, {}));
  plane.on("PUT", /./, (_seen, res) => json(res, 200, {}));
  plane.on("DELETE", /./, (_seen, res) => json(res, 200, {}));
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
    [
      runs.abortMany({ labels: { a: "b" }, reason: "x" }),
      "POST /v1/runs/abort?",
      { labels: { a: "b" }, reason: "x" },
    ],
    [runs.waitAll({ labels: { a: "b" } }), "GET /v1/runs?wait=30000ms&state=done&label=a%3Ab&all=true"],
    [
      runs.waitAll({ ids: ["r1"] }),
      "POST /v1/runs/query?",
      { runs: ["r1"], states: ["done"], all: true, wait: "30000ms" },
    ],
    [runs.waitAll({ ids: ["r1"], pool: "p" }), "GET /v1/runs?wait=30000ms&id=r1&state=done&all=true&pool=p"],
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
    [workers.hold("w"), "POST /v1/workers/w/hold?"],
    [workers.resume("w"), "POST /v1/workers/w/resume?"],
    [workers.drain("w"), "POST /v1/workers/w/drain?"],
    [workers.kill("w", { reason: "x" }), "POST /v1/workers/w/kill?", { reason: "x" }],
    [workers.list(), "GET /v1/workers?"],
    [pools.delete("p", { drain: true }), "DELETE /v1/pools/p?drain=1"],
    [pools.events("p", { after: 7, waitMs: 1 }), "GET /v1/events?wait=1ms&pool=p&after=7"],
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
  const reads = plane.seen.filter(({ path }) => path.includes("/logs/"));
  expect(reads.map(({ query, headers }) => [query.toString(), headers.range])).toEqual([
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

test.each<[retryAfter: string, delayMs: number | undefined]>([
  ["7", 7_000],
  ["60", 60_000],
  ["61", undefined],
])(
  "a 429 with Retry-After %s is waited out, for a minute at most (access.md#rate-limits)",
  async (...row) => {
    const [retryAfter, delayMs] = row;
    plane.on("GET", /./, (_seen, res) => problem(res, 429, "too_many_requests", { retryAfter }));
    const hasty = createClient({ url: plane.url, token: TOKEN, patience: { busyMs: 0 } });
    const error = await rejection(hasty.pools.list());
    expect(error).toMatchObject({ code: "too_many_requests", retryAfterMs: Number(retryAfter) * 1_000 });
    expect(plane.seen.length).toBe(1);
    expect(retryDelayMs(error, 1, 0, DEFAULT_PATIENCE)).toBe(delayMs);
  },
);

test.each([
  [1, 0, 100],
  [1, 1, 200],
  [3, 1, 800],
  [40, 1, 5_000],
  [100_000, 0, 2_500],
])("back-off after %i tries with the random number %d is %i ms", (tries, random, delayMs) => {
  expect(retryPauseMs(tries, random)).toBe(delayMs);
});
