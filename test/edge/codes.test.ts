import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { TOKEN_RANDOM_BYTES, tokenText } from "../../src/shared/access/token-text.ts";
import {
  DroverError,
  type ErrorCode,
  type FailureCode,
  START_ERROR_CODES,
  STATUS_OF_CODE,
} from "../../src/shared/errors.ts";
import { MAX_BODY_BYTES } from "../../src/shared/limits.ts";
import { until } from "../local/support/scratch.ts";
import { createEdge, type Edge, type Json } from "./support/edge.ts";
import { type Answer, HttpHost, OWN_POOL } from "./support/http-host.ts";
import { type Server, startServer } from "./support/server.ts";
import { CLEAN_EXIT, SteadyHost } from "./support/steady-host.ts";

// Every code that a client can meet, met over HTTP. The tables have a row for each code, by their types: a
// new code does not compile until it has one. What no test can bring about says why.

let server: Server;
let host: SteadyHost;
beforeAll(async () => {
  server = await startServer();
  host = await SteadyHost.join(server, "own");
  await server.json(201, "PUT", "/v1/pools/queue", { ...OWN_POOL, maxQueue: 1 });
});
afterAll(() => server.stop());
afterEach(() => vi.restoreAllMocks());

/** Why a code is not produced here, and the test that does. */
interface Excuse {
  not: string;
  but?: string;
}

const argv = ["true"];
/** Any number of them fit on one host. */
const resources = { vcpus: 0, memory: 0 };
let made = 0;
/** A run of this test alone. */
async function submitted(more: object = {}): Promise<string> {
  made += 1;
  const id = `run-${made}`;
  await server.json(201, "POST", "/v1/runs", { id, argv, pool: "own", resources, ...more });
  return id;
}
async function running(more: object = {}): Promise<string> {
  const id = await submitted(more);
  await host.start(id);
  return id;
}
async function ended(more: object = {}): Promise<string> {
  const id = await running(more);
  await host.end(id, { state: "exited", exit: CLEAN_EXIT });
  return id;
}

const ask = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
  server.call(method, path, body, headers);
const post = (path: string, body: unknown = {}) => ask("POST", path, body);
const run = (more: object) => post("/v1/runs", { argv, pool: "own", ...more });

/** What a host is told, as an answer of `fetch`. */
async function told(answer: Promise<Answer>): Promise<Response> {
  const { status, body } = await answer;
  return new Response(JSON.stringify(body), { status });
}

async function invite(ttl = "1h"): Promise<Json> {
  return server.json(201, "POST", "/v1/enrollments", { pool: "own", ttl });
}

async function enrolled(): Promise<HttpHost> {
  const fresh = new HttpHost(server);
  await fresh.enroll((await invite()).code);
  return fresh;
}

/** A host sends output of an attempt. */
function putLog(host: HttpHost, attempt: string): Promise<Response> {
  const path = `/v1/hosts/${host.worker}/logs/${encodeURIComponent(attempt)}/stdout?offset=0`;
  const headers = host.headers("PUT", path, "x");
  return server.send("PUT", path, { ...headers, "content-length": "1" }, "x");
}

/** The Worker over objects of which one fails like this: what only an outage or a mistake of ours brings. */
function faulty(error: unknown, at = ""): Edge {
  const edge = createEdge();
  edge.addRun("a");
  edge.fault = (call) => {
    if (call.endsWith(at)) throw error;
  };
  return edge;
}

/** A token that may submit runs of priority 1, and nothing else. */
async function weakToken(): Promise<Record<string, string>> {
  made += 1;
  const body = { name: `weak-${made}`, scopes: ["runs:write"], limits: { maxPriority: 1 } };
  const { token } = await server.json(201, "POST", "/v1/tokens", body);
  return { authorization: `Bearer ${token}` };
}

const OIDC_TEST = "test/edge/oidc-exchange.long.test.ts";
const DELETE_TEST = "test/edge/delete.test.ts";
/** Nobody listens there, and nothing is sent. */
const RECEIVER = "https://receiver.example/hook";
const NO_SNAPSHOT = `/v1/snapshots/sha256:${"0".repeat(64)}`;
const BYTES = { "content-type": "application/octet-stream" };

const CODES: Record<ErrorCode, (() => Promise<Response>) | Excuse> = {
  invalid_request: () => run({ argv: [] }),
  malformed_json: () =>
    server.send(
      "POST",
      "/v1/runs",
      { authorization: `Bearer ${server.token}`, "content-type": "application/json" },
      "{",
    ),
  unauthorized: () => server.send("GET", "/v1/runs", {}),
  bad_signature: async () => told(new HttpHost(server).call("reports", host.next(), host.worker)),
  forbidden: async () => {
    const ending = await enrolled();
    await ending.report();
    await server.json(200, "POST", `/v1/workers/${ending.worker}/kill`, {});
    return putLog(ending, "run/main/1.1");
  },
  missing_scope: async () => ask("GET", "/v1/pools", undefined, await weakToken()),
  cross_site: () =>
    server.send("DELETE", "/v1/runs/nobody", {
      cookie: `drover-${new URL(server.url).port}=drvs_x`,
      origin: "https://elsewhere.example",
    }),
  beyond_limits: async () => ask("POST", "/v1/runs", { argv, pool: "own", priority: 2 }, await weakToken()),
  not_trusted: { not: "it takes an issuer", but: OIDC_TEST },
  not_found: () => ask("GET", "/v1/nothing"),
  unknown_run: () => ask("GET", "/v1/runs/nobody"),
  unknown_task: async () => ask("GET", `/v1/runs/${await submitted()}/stats?task=nobody`),
  unknown_attempt: () => putLog(host, "nobody/main/1.1"),
  unknown_pool: () => ask("GET", "/v1/pools/nobody"),
  unknown_worker: () => ask("GET", "/v1/workers/nobody"),
  unknown_snapshot: () => ask("GET", NO_SNAPSHOT),
  unknown_trust_rule: () => ask("GET", "/v1/trust-rules/nobody"),
  unknown_secret: () => ask("DELETE", "/v1/secrets/nobody"),
  unknown_token: () => ask("GET", "/v1/tokens/0123456789"),
  token_exists: async () => {
    await server.json(201, "POST", "/v1/tokens", { name: "taken", preset: "viewer" });
    return post("/v1/tokens", { name: "taken", preset: "viewer" });
  },
  token_ended: async () => {
    const { id } = await server.json(201, "POST", "/v1/tokens", { name: "ended", preset: "viewer" });
    await server.json(200, "DELETE", `/v1/tokens/${id}`);
    return post(`/v1/tokens/${id}/rotate`);
  },
  unknown_project: () => ask("DELETE", "/v1/projects/nobody"),
  project_exists: () => ask("POST", "/v1/projects", { name: "default" }),
  project_in_use: () => ask("DELETE", "/v1/projects/default"),
  no_console: async () => ask("GET", `/v1/workers/${(await enrolled()).worker}/console`),
  job_in_use: async () => {
    await server.json(201, "PUT", "/v1/jobs/first", { spec: { argv, pool: "own" } });
    await server.json(201, "PUT", "/v1/jobs/second", {
      spec: { argv, pool: "own", after: [{ job: "first" }] },
    });
    return ask("DELETE", "/v1/jobs/first");
  },
  unknown_job: () => ask("GET", "/v1/jobs/nobody"),
  unknown_webhook: () => ask("GET", "/v1/webhooks/nobody"),
  unknown_delivery: async () => {
    await server.json(201, "POST", "/v1/webhooks", { name: "empty", url: RECEIVER });
    return post("/v1/webhooks/empty/replay", { ids: ["msg_1"] });
  },
  webhook_exists: async () => {
    await server.json(201, "POST", "/v1/webhooks", { name: "there", url: RECEIVER });
    return post("/v1/webhooks", { name: "there", url: RECEIVER });
  },
  secret_exists: async () => {
    await server.json(200, "PUT", "/v1/secrets/cloud", { value: "correct-horse", use: "provider" });
    return ask("PUT", "/v1/secrets/cloud", { value: "battery-staple", use: "run" });
  },
  too_many_requests: async () => {
    const wrong = () => {
      const { text } = tokenText(crypto.getRandomValues(new Uint8Array(TOKEN_RANDOM_BYTES)));
      return server.send("GET", "/v1/runs", { authorization: `Bearer ${text}` });
    };
    for (let tries = 0; tries < 5; tries += 1) await (await wrong()).arrayBuffer();
    return wrong();
  },
  method_not_allowed: () => ask("DELETE", "/v1/runs"),
  run_exists: async () => run({ id: await submitted(), priority: 7 }),
  not_running: async () => {
    const pool = "queue";
    const id = await submitted({ pool });
    const answer = await post(`/v1/runs/${id}/signal`, { signal: "SIGHUP" });
    await post(`/v1/runs/${id}/abort`);
    return answer;
  },
  terminal: async () => post(`/v1/runs/${await ended()}/restart`),
  not_parked: async () => ask("POST", `/v1/runs/${await running()}/redrive`),
  not_terminal: async () => ask("DELETE", `/v1/runs/${await running()}`),
  stale_index: async () =>
    ask("PATCH", `/v1/runs/${await running()}`, { specIndex: 99, spec: { argv, pool: "own" } }),
  code_used: async () => {
    const { code } = await invite();
    await new HttpHost(server).enroll(code);
    return told(new HttpHost(server).enroll(code));
  },
  stale_incarnation: async () => {
    const first = await enrolled();
    const later = new HttpHost(server, first.secret);
    later.worker = first.worker;
    await later.join();
    return told(first.report());
  },
  cloned: async () => {
    const first = await enrolled();
    const copy = new HttpHost(server, first.secret);
    copy.worker = first.worker;
    await copy.join("boot of the clone");
    return told(first.join());
  },
  pool_in_use: () => ask("DELETE", "/v1/pools/own"),
  pool_draining: async () => {
    const leaving = await SteadyHost.join(server, "leaving");
    const id = await submitted({ pool: "leaving" });
    await leaving.start(id);
    await server.json(200, "DELETE", "/v1/pools/leaving?drain=1");
    return run({ pool: "leaving" });
  },
  project_full: async () => {
    const projects = { default: { maxStoredBytes: 0 } };
    await server.json(201, "PUT", "/v1/pools/full", { ...OWN_POOL, projects });
    return run({ pool: "full" });
  },
  concurrency_held: async () => {
    const concurrency = { key: "codes", strategy: "cancel-new" };
    await run({ concurrency });
    return run({ concurrency });
  },
  concurrency_full: async () => {
    const concurrency = { key: "more codes", queueMax: 0 };
    await run({ concurrency });
    return run({ concurrency });
  },
  expired_run: async () => {
    const id = await ended();
    await until("it is deleted", async () => {
      await host.say();
      return (await ask("DELETE", `/v1/runs/${id}`)).status === 204 || undefined;
    });
    return ask("GET", `/v1/runs/${id}`);
  },
  expired_logs: { not: "it takes a look at retention, of which there is one a minute", but: DELETE_TEST },
  enrollment_over: async () => {
    const { code, worker } = await invite("1s");
    await until("its worker is gone", async () => {
      const { state } = await server.json(200, "GET", `/v1/workers/${worker}`);
      return state === "gone" || undefined;
    });
    return told(new HttpHost(server).enroll(code));
  },
  length_required: () => {
    const headers = { ...BYTES, authorization: `Bearer ${server.token}` };
    const body = new Blob(["in pieces"]).stream();
    return fetch(`${server.url}${NO_SNAPSHOT}`, { method: "PUT", headers, body, duplex: "half" });
  },
  body_too_large: () =>
    server.send(
      "POST",
      "/v1/runs",
      { authorization: `Bearer ${server.token}`, "content-type": "application/json" },
      "x".repeat(MAX_BODY_BYTES + 1),
    ),
  unsupported_media_type: () => ask("POST", "/v1/runs", {}, { "content-type": "text/plain" }),
  range_not_satisfiable: async () =>
    ask("GET", `/v1/runs/${await ended()}/logs/main/stdout`, undefined, { range: "bytes=99-" }),
  upgrade_required: () => {
    const path = `/v1/hosts/${host.worker}/socket`;
    return server.send("GET", path, host.headers("GET", path));
  },
  idempotency_mismatch: async () => {
    const headers = { "idempotency-key": randomUUID() };
    await ask("POST", "/v1/runs", { argv, pool: "own" }, headers);
    return ask("POST", "/v1/runs", { argv, pool: "own", priority: 7 }, headers);
  },
  unsatisfiable: () => run({ resources: { vcpus: 1_000 } }),
  digest_mismatch: () =>
    server.send("PUT", NO_SNAPSHOT, { ...BYTES, authorization: `Bearer ${server.token}` }, "others"),
  host_paths_not_allowed: () => run({ dir: "/" }),
  container_not_allowed: () => run({ container: { image: "node:24", privileged: true } }),
  fake_driver_not_allowed: () => run({ argv: undefined, tasks: [{ name: "main", argv, driver: "fake" }] }),
  secrets_too_large: {
    not: "only a host is told, before it starts such a task",
    but: "test/objects/secrets.test.ts",
  },
  busy: async () => {
    await submitted({ pool: "queue" });
    return run({ pool: "queue" });
  },
  internal: () => {
    // A fault of ours is told to the log; here it is wanted.
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    return faulty(new TypeError("a mistake")).call("GET", "/v1/runs/a");
  },
  no_wrapping_key: () =>
    faulty(new DroverError("no_wrapping_key", "there is none")).call("GET", "/v1/tokens"),
  issuer_unavailable: { not: "it takes an issuer that is away", but: OIDC_TEST },
  no_bucket: () => faulty(new DroverError("no_bucket", "there is none")).call("GET", NO_SNAPSHOT),
  not_acknowledged: () => {
    const silent = new DroverError("not_acknowledged", "the pool was silent");
    return faulty(silent, "submit").call("POST", "/v1/runs", { argv });
  },
  unavailable: () =>
    faulty(Object.assign(new Error("reset"), { durableObjectReset: true })).call("GET", "/v1/runs/a"),
};

describe("every error code is met over HTTP, with its status", () => {
  const rows = Object.entries(CODES).flatMap(([code, produce]) =>
    "not" in produce ? [] : [{ code, produce }],
  );

  test.each(rows)("$code", async ({ code, produce }) => {
    const answer = await produce();
    const problem = (await answer.json()) as Json;
    const status = STATUS_OF_CODE[code as ErrorCode]; // the rows are named by codes
    expect(problem).toMatchObject({ code, status, type: `urn:drover:error:${code}` });
    expect(answer.status).toBe(status);
  });
});

/** A run whose only task could not be started, as its host says. */
async function notStarted(code: string): Promise<Json> {
  const id = await running();
  return host.end(id, { state: "exited", startError: { code, text: "no" } });
}

type StartError = (typeof START_ERROR_CODES)[number];
const startErrors = Object.fromEntries(START_ERROR_CODES.map((code) => [code, () => notStarted(code)]));

const FAILURES: Record<FailureCode, (() => Promise<Json>) | Excuse> = {
  ...(startErrors as Record<StartError, () => Promise<Json>>), // one for each of its keys
  outputs_failed: async () =>
    host.end(await running({ outputs: ["dist"] }), {
      state: "exited",
      exit: CLEAN_EXIT,
      outputs: { error: "no" },
    }),
  task_failed: async () => {
    const restart = { attempts: 0 };
    const tasks = ["main", "other"].map((name) => ({ name, argv, restart }));
    const id = await submitted({ argv: undefined, tasks, reschedule: { attempts: 0 } });
    await host.start(id);
    await host.start(id, "other");
    await host.tell(`${id}/other/1.1`, { state: "exited", endedAgoMs: 1, exit: CLEAN_EXIT });
    return host.end(id, { state: "exited", exit: { ...CLEAN_EXIT, code: 3 } });
  },
  check_failed: async () => {
    const unhealthy = { check: "web", failures: 1, output: "connection refused", agoMs: 1 };
    return host.end(await running(), { state: "exited", exit: CLEAN_EXIT, unhealthy });
  },
  queue_timeout: async () => {
    await server.json(201, "PUT", "/v1/pools/nowhere", OWN_POOL);
    const id = await submitted({ pool: "nowhere", queueTimeout: "50ms" });
    return server.json(200, "GET", `/v1/runs/${id}?wait=30s`);
  },
  unsatisfiable: {
    not: "it takes a pool whose types shrink between two tries",
    but: "test/core/allocation/retry.test.ts",
  },
  dependency_failed: async () => {
    const first = await submitted({ pool: "nowhere", queueTimeout: "50ms" });
    const id = await submitted({ after: [first] });
    return server.json(200, "GET", `/v1/runs/${id}?wait=30s`);
  },
  machine_lost: async () =>
    host.end(await running(), { state: "exited", exit: CLEAN_EXIT, stopped: "lease" }),
  status_lost: async () => host.end(await running(), { state: "gone" }),
  unkillable: { not: "it takes a machine that is destroyed", but: "test/objects/unkillable.test.ts" },
  agent_ended: { not: "it takes an agent that is told to end", but: "test/edge/agent-end.test.ts" },
};

describe("every code of a failure stands in the status of a run", () => {
  const rows = Object.entries(FAILURES).flatMap(([code, produce]) =>
    "not" in produce ? [] : [{ code, produce }],
  );

  test.each(rows)("$code", async ({ code, produce }) => {
    expect((await produce()).failure).toMatchObject({ code, text: expect.stringMatching(/\S/) });
  });
});

test("a code that is not produced here has a reason, or another test that names it", () => {
  for (const [code, one] of [...Object.entries(CODES), ...Object.entries(FAILURES)]) {
    if (!("not" in one)) continue;
    expect(one.not).toMatch(/\w+ \w+/);
    if (one.but === undefined) continue;
    expect(readFileSync(join(import.meta.dirname, "../..", one.but), "utf8")).toContain(`"${code}"`);
  }
});
