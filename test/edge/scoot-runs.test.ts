import { createHash } from "node:crypto";
import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../local/support/scratch.ts";
import { endDrover, makeHome, poolConfigOf, type RunningDrover, startDrover } from "./support/drover.ts";
import type { Json } from "./support/edge.ts";

// What docs/design/api.md says of submitting, aborting, ends and exit codes, row by row over HTTP on a real
// `drover up`. The rows are those of an older system with the same calls: "there" is that system, and a row
// that has no counterpart here has its reason in place of a test.

let home: string;
let up: RunningDrover;
beforeAll(async () => {
  home = makeHome("scoot-runs");
  up = await startDrover(home);
  const config = await poolConfigOf(up);
  const { provider, instanceTypes } = config;
  await up.json(200, "PUT", "/v1/pools/default", { ...config, allowFakeDriver: true });
  // No machine comes there: runs wait for a place, and its queue is soon full.
  const small = { provider, instanceTypes, maxInstances: 0, allowFakeDriver: true };
  await up.json(201, "PUT", "/v1/pools/nowhere", { ...small, maxQueue: 2 });
  await up.json(201, "PUT", "/v1/pools/patient", small);
  const headers = { authorization: `Bearer ${up.token}`, "content-type": "application/octet-stream" };
  await fetch(`${up.url}/v1/snapshots/${NO_ARCHIVE}`, { method: "PUT", headers, body: TEXT });
});
afterAll(async () => {
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

const sh = (script: string) => ({ argv: ["sh", "-c", script], killTimeout: "1s" });
const submit = (spec: object): Promise<Json> => up.json(201, "POST", "/v1/runs", spec);
const abort = (id: string, wait = "30s"): Promise<Json> =>
  up.json(200, "POST", `/v1/runs/${id}/abort?wait=${wait}`, { reason: "enough" });
const read = (id: string): Promise<Json> => up.json(200, "GET", `/v1/runs/${id}`);

function inState(id: string, state: string): Promise<Json> {
  return until(`${id} is ${state}`, async () => {
    const run = await up.json(200, "GET", `/v1/runs/${id}?wait=20s&state=${state}`);
    return state === "done"
      ? (run.finishedAt !== null && run) || undefined
      : run.state === state
        ? run
        : undefined;
  });
}

/** Of what is never had. */
const SHA256 = "0".repeat(64);
const TEXT = "no archive\n";
const NO_ARCHIVE = `sha256:${createHash("sha256").update(TEXT).digest("hex")}`;
const NOWHERE = { url: "http://127.0.0.1:1/x", sha256: SHA256, to: "x" };

/** A row of a table that says something else here: why. */
const NO_COUNTERPART: Record<string, string[]> = {
  "api.md#submitting": [
    "service not initialized: a pool is configured before it takes anything; until then it is unknown_pool",
    "initialization failed: there is nothing to initialize that could fail after the pool was put",
    "service unhealthy: a run is queued, and `why` says what the pool waits for (api.md#submitting)",
    "no runners, runner busy: never returned there; here `why` has the reason `no_workers`",
  ],
  "api.md#ends-of-a-command": [
    "wait error: the host's shim has the kernel's own word for an end, or the end is not known",
    "memory above cap at the first sample: the cap is in force before the command begins, so it is the cap",
    "abort during upload: as uploading in api.md#abort",
  ],
  "api.md#blame": [
    "200 and 230, pre- and post-processing: there is no filer and no Bazel",
    "211 to 216, git and bundles: there are none; a snapshot is one archive, see 210",
    "217, snapshot database: there is none",
    "220, log references: a host that cannot make its files fails the start, see 240",
    "250, unexpected process state: as wait error in api.md#ends-of-a-command",
  ],
};

test("each row without a counterpart has a reason", () => {
  for (const reasons of Object.values(NO_COUNTERPART)) {
    for (const reason of reasons) expect(reason).toMatch(/.+: .+/);
  }
});

describe("Run (api.md#submitting)", () => {
  test("accepted: pending, at once, durable, and nothing else filled", async () => {
    const run = await submit({ id: "accepted", argv: ["true"], pool: "patient" });
    expect(run).toMatchObject({
      id: "accepted",
      state: "pending",
      exitCode: null,
      failure: null,
      abort: null,
    });
    expect(run).toMatchObject({ startedAt: null, finishedAt: null, placements: [], placedAt: null });
    expect(await read("accepted")).toMatchObject({ id: "accepted", state: "pending" });
  });

  test("queue full: 429 `busy` that says when to try again, and nothing is stored", async () => {
    await submit({ id: "full-1", argv: ["true"], pool: "nowhere" });
    await submit({ id: "full-2", argv: ["true"], pool: "nowhere" });
    const answer = await up.call("POST", "/v1/runs", { id: "full-3", argv: ["true"], pool: "nowhere" });
    expect(answer.status).toBe(429);
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect(await answer.json()).toMatchObject({
      code: "busy",
      temporary: true,
      retryAfterMs: expect.any(Number),
    });
    expect((await up.call("GET", "/v1/runs/full-3")).status).toBe(404);
    // Once there is room again, the same is taken.
    await abort("full-1");
    await submit({ id: "full-3", argv: ["true"], pool: "nowhere" });
  });

  test("a malformed command is refused, and not found out at its start", async () => {
    const problem = await up.json(400, "POST", "/v1/runs", { id: "empty", argv: [] });
    expect(problem).toMatchObject({ code: "invalid_request", errors: [{ pointer: "/argv" }] });
    expect((await up.call("GET", "/v1/runs/empty")).status).toBe(404);
  });

  test("the same again finds the same run, while it runs and after its end; another is refused", async () => {
    const spec = { id: "again", ...sh("exit 4") };
    await submit(spec);
    await inState("again", "complete");
    const answer = await up.call("POST", "/v1/runs", spec);
    expect([answer.status, answer.headers.get("idempotency-replayed")]).toEqual([200, "true"]);
    expect(await answer.json()).toMatchObject({ state: "complete", exitCode: 4, placements: [{ epoch: 1 }] });
    expect(await up.json(409, "POST", "/v1/runs", { id: "again", argv: ["true"] })).toMatchObject({
      code: "run_exists",
    });
  });

  test("a pool that is not there: unknown_pool", async () => {
    expect(await up.json(404, "POST", "/v1/runs", { argv: ["true"], pool: "gone" })).toMatchObject({
      code: "unknown_pool",
    });
  });
});

describe("Abort (api.md#abort)", () => {
  const ABORTED = {
    state: "aborted",
    exitCode: null,
    abort: { reason: "enough", by: "admin" },
    failure: null,
  };

  test("queued: aborted at once, and the next read shows it", async () => {
    await submit({ id: "queued", argv: ["true"], pool: "patient" });
    expect(await abort("queued")).toMatchObject(ABORTED);
    expect(await read("queued")).toMatchObject({ ...ABORTED, placements: [] });
  });

  test("S10: queued, aborted without a wait: the answer knows it, and a read soon shows it", async () => {
    await submit({ id: "queued-on", argv: ["true"], pool: "patient" });
    const answer = await up.json(200, "POST", "/v1/runs/queued-on/abort", { reason: "enough" });
    // Its pool may still have to say that it has no place.
    expect(["pending", "aborted"]).toContain(answer.state);
    expect(answer.abort).toEqual(ABORTED.abort);
    await inState("queued-on", "aborted");
    expect(await read("queued-on")).toMatchObject({ ...ABORTED, placements: [] });
  });

  test("its machine boots: aborted, and never placed", async () => {
    // No machine of this pool is up: the first run makes it ask for one.
    const config = await poolConfigOf(up);
    await up.json(201, "PUT", "/v1/pools/cold", {
      ...config,
      probe: { interval: "1s", boot: "sleep 600" },
      maxInstances: 1,
    });
    await submit({ id: "booting", argv: ["true"], pool: "cold" });
    await until("a machine boots", async () => {
      const { items } = await up.json(200, "GET", "/v1/workers?pool=cold&state=booting");
      return items.length > 0 || undefined;
    });
    expect(await abort("booting")).toMatchObject({ ...ABORTED, placements: [] });
    await up.call("DELETE", "/v1/pools/cold?drain=1");
  });

  test("it is prepared: the preparation ends, and the command never starts", async () => {
    const { createServer } = await import("node:http");
    const asked = Promise.withResolvers<void>();
    const server = createServer((_req, res) => {
      // It never comes to an end by itself.
      res.writeHead(200, { "content-length": "1000" });
      res.write("x");
      asked.resolve();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" ? address?.port : undefined;
    const url = `http://127.0.0.1:${port}/data`;
    await submit({
      id: "preparing",
      tasks: [{ name: "main", argv: ["touch", "started"], artifacts: [{ url, sha256: SHA256, to: "data" }] }],
      restart: { attempts: 0 },
    });
    await asked.promise;
    const ended = await abort("preparing");
    server.closeAllConnections();
    server.close();
    expect(ended).toMatchObject(ABORTED);
    expect(ended.tasks[0].events.map((event: Json) => event.type)).not.toContain("Started");
  });

  test("it runs: killed, and the answer to the wait is final", async () => {
    await submit({ id: "runs", ...sh("sleep 600") });
    await inState("runs", "running");
    expect(await abort("runs")).toMatchObject({ ...ABORTED, finishedAt: expect.any(String) });
    expect(await read("runs")).toMatchObject(ABORTED);
  });

  test("it runs, and ends by itself when told to: aborted all the same", async () => {
    await submit({ id: "obeys", argv: ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.1; done"] });
    await inState("obeys", "running");
    expect(await abort("obeys")).toMatchObject(ABORTED);
  });

  test("its outputs are stored: that ends, and it is aborted although its command had ended", async () => {
    // An archive of so much takes a while, and is small.
    await submit({ id: "stores", ...sh("truncate -s 4G large"), outputs: ["large"] });
    const stores = await until("stores is uploading", async () => {
      const run = await read("stores");
      return run.tasks[0].phase === "uploading" ? run : undefined;
    });
    expect(stores).toMatchObject({ state: "running", tasks: [{ attempts: [{ state: "uploading" }] }] });
    expect(await abort("stores")).toMatchObject({ ...ABORTED, snapshot: null });
  });

  test("it has ended: nothing, and the stored final status", async () => {
    await submit({ id: "ended", ...sh("exit 5") });
    const before = await inState("ended", "complete");
    const after = await abort("ended");
    expect(after).toMatchObject({
      state: "complete",
      exitCode: 5,
      abort: null,
      finishedAt: before.finishedAt,
    });
  });

  test("unknown: 404, and no state", async () => {
    expect(await up.json(404, "POST", "/v1/runs/nobody/abort", {})).toMatchObject({ code: "unknown_run" });
  });

  test("twice: the second sends no second signal, and has the same end", async () => {
    const script = "n=0; trap 'n=$((n+1)); echo $n' TERM; while :; do sleep 0.1; done";
    await submit({ id: "twice", argv: ["sh", "-c", script], killTimeout: "2s" });
    await inState("twice", "running");
    const first = await up.json(200, "POST", "/v1/runs/twice/abort", { reason: "enough" });
    expect(first.abort).toEqual({ reason: "enough", by: "admin" });
    const [a, b] = await Promise.all([abort("twice"), abort("twice")]);
    expect([a, b]).toMatchObject([ABORTED, ABORTED]);
    expect(a.finishedAt).toBe(b.finishedAt);
    const log = await (await up.call("GET", "/v1/runs/twice/logs/main/stdout")).text();
    expect(log).toBe("1\n");
  });
});

describe("Abort of many (api.md#abort-of-many)", () => {
  const make = (id: string, labels: object) => submit({ id, argv: ["true"], pool: "patient", labels });

  test("by label: those that fit and have not ended, and the same again asks none", async () => {
    for (const index of [1, 2, 3]) await make(`batch-${index}`, { set: "a" });
    await make("batch-4", { set: "b" });
    await abort("batch-1");
    const first = await up.json(200, "POST", "/v1/runs/abort", {
      labels: { set: "a" },
      reason: "enough",
      limit: 1,
    });
    expect(first).toMatchObject({ items: [{ id: "batch-3" }], failed: [], next: expect.any(String) });
    const { next: cursor } = first;
    const second = await up.json(200, "POST", "/v1/runs/abort", { labels: { set: "a" }, cursor });
    expect(second).toMatchObject({ items: [{ id: "batch-2" }], failed: [], next: null });
    expect(await inState("batch-2", "aborted")).toMatchObject({ abort: { reason: "", by: "admin" } });
    expect(await inState("batch-3", "aborted")).toMatchObject({ abort: { reason: "enough" } });
    const again = await up.json(200, "POST", "/v1/runs/abort", { labels: { set: "a" } });
    expect(again).toMatchObject({ items: [], failed: [], next: null });
    expect(await read("batch-4")).toMatchObject({ state: "pending", abort: null });
  });

  test("by ids: one that does not exist is named, and none is asked", async () => {
    await make("some-1", {});
    const problem = await up.json(404, "POST", "/v1/runs/abort", { ids: ["some-1", "nobody"] });
    expect(problem).toMatchObject({ code: "unknown_run", runs: ["nobody"] });
    expect(await read("some-1")).toMatchObject({ abort: null });
    const { items } = await up.json(200, "POST", "/v1/runs/abort", { ids: ["some-1"] });
    expect(items).toMatchObject([{ id: "some-1" }]);
  });

  test.each([
    ["nothing", {}],
    ["no label", { labels: {} }],
    ["states alone", { states: ["pending"] }],
    ["all and a label", { all: true, labels: { set: "a" } }],
    ["all and ids", { all: true, ids: ["a"] }],
    ["a cursor beside ids", { ids: ["a"], cursor: "x" }],
    ["a cursor that is none", { all: true, cursor: "x" }],
  ])("that says %s is refused, and ends nothing", async (_what, body) => {
    expect(await up.json(400, "POST", "/v1/runs/abort", body)).toMatchObject({ code: "invalid_request" });
    expect(await read("batch-4")).toMatchObject({ abort: null });
  });

  test("no ids at all are none", async () => {
    expect(await up.json(200, "POST", "/v1/runs/abort", { ids: [] })).toMatchObject({ items: [] });
  });

  test("of a pool: all of it, also by states", async () => {
    const running = await up.json(200, "POST", "/v1/runs/abort", {
      pool: "patient",
      states: ["running", "done"],
    });
    expect(running.items).toEqual([]);
    const { items } = await up.json(200, "POST", "/v1/runs/abort", { pool: "patient" });
    expect(items.map((run: Json) => run.id)).toContain("batch-4");
  });
});

describe("what ends a command (api.md#ends-of-a-command), and exit codes (api.md#blame)", () => {
  const cases: { what: string; spec: object; end: object }[] = [
    { what: "it exits with 0", spec: sh("exit 0"), end: { state: "complete", exitCode: 0, signal: null } },
    { what: "it exits with n", spec: sh("exit 7"), end: { state: "complete", exitCode: 7, signal: null } },
    ...[200, 211, 240, 241, 250, 255].map((code) => ({
      what: `it exits with ${code}, which is its own number, and says nothing of the machine`,
      spec: sh(`exit ${code}`),
      end: { state: "complete", exitCode: code, signal: null, failure: null },
    })),
    {
      what: "a signal from outside (there −1)",
      spec: sh("kill -KILL $$"),
      end: { state: "complete", exitCode: 137, signal: "SIGKILL", failure: null },
    },
    {
      what: "its time-out, however it ends then",
      spec: { ...sh("trap 'exit 3' TERM; while :; do sleep 0.1; done"), timeout: "1s" },
      end: { state: "timedout", exitCode: null, failure: null },
    },
    {
      what: "its memory cap: complete, and the reason in a field of its own",
      spec: { argv: ["x"], tasks: undefined },
      end: { state: "complete", failure: null, tasks: [{ attempts: [{ exit: { oomKilled: true } }] }] },
    },
    {
      what: "240: a command that is not there (there an exit code)",
      spec: { argv: ["no-such-command"] },
      end: { state: "failed", exitCode: null, failure: { class: "task", code: "command_not_found" } },
    },
    {
      what: "240: a command that cannot be executed",
      spec: { argv: ["/etc/passwd"] },
      end: { state: "failed", exitCode: null, failure: { class: "task", code: "not_executable" } },
    },
    {
      what: "210: a snapshot that cannot be unpacked, since it is no archive",
      spec: { argv: ["true"], snapshot: NO_ARCHIVE },
      end: { state: "failed", exitCode: null, failure: { class: "infrastructure", code: "snapshot_failed" } },
    },
    {
      what: "an artifact that cannot be had (there 200 to 216)",
      spec: {
        tasks: [{ name: "main", argv: ["true"], artifacts: [NOWHERE] }],
        restart: { attempts: 0 },
      },
      end: { state: "failed", exitCode: null, failure: { code: "artifact_failed" } },
    },
    {
      what: "−200, the dead letter: nobody places it in its time",
      spec: { argv: ["true"], pool: "patient", queueTimeout: "1s" },
      end: { state: "failed", exitCode: null, failure: { class: "infrastructure", code: "queue_timeout" } },
    },
  ];
  /** Played, because not every machine can cap memory. */
  const OUT_OF_MEMORY = {
    tasks: [{ name: "main", argv: ["x"], driver: "fake", fake: { runFor: "1ms", oomKilled: true } }],
    restart: { attempts: 0 },
  };

  test.concurrent.each(cases)("$what", async ({ what, spec, end }) => {
    const { id } = await submit(what.startsWith("its memory cap") ? OUT_OF_MEMORY : spec);
    expect(await inState(id, "done")).toMatchObject(end);
  });
});
