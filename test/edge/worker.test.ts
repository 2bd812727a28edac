import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { signedBy, strangeSecret } from "../support/signed.ts";
import { BAD_REQUESTS, expectRefusal } from "./support/bad-requests.ts";
import type { Json } from "./support/edge.ts";
import { POOL_CONFIG } from "./support/samples.ts";
import { type Server, startServer } from "./support/server.ts";

// The built Worker over HTTP (CONTRIBUTING.md#tests): what `drover up` runs, with real objects, hosts and
// processes.
let server: Server;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

function sh(script: string, more: object = {}): object {
  return { argv: ["sh", "-c", script], ...more };
}

/** Submits a run and waits for its end. */
async function ended(spec: object): Promise<Json> {
  const { id } = await server.json(201, "POST", "/v1/runs", spec);
  for (;;) {
    const run = await server.json(200, "GET", `/v1/runs/${id}?wait=30s`);
    if (run.finishedAt !== null) return run;
  }
}

describe("a bad request is refused, and nothing is stored", () => {
  test.each(BAD_REQUESTS)("$method $path: $name", async (bad) => {
    await expectRefusal(server.send, server.token, bad);
  });

  test("after all of them there is no run, and only the one pool", async () => {
    expect((await server.json(200, "GET", "/v1/runs")).items).toEqual([]);
    expect((await server.json(200, "GET", "/v1/pools")).items).toMatchObject([{ name: "default" }]);
  });
});

describe("a run", () => {
  test("ends with the exit code of its command, and its output is what it wrote", async () => {
    const run = await ended(sh("printf 'out\\377'; printf err >&2; exit 7"));
    expect(run).toMatchObject({ state: "complete", exitCode: 7, signal: null });
    const out = await server.call("GET", run.stdoutRef);
    expect(new Uint8Array(await out.arrayBuffer())).toEqual(new Uint8Array([...Buffer.from("out"), 0xff]));
    expect(await (await server.call("GET", run.stderrRef)).text()).toBe("err");
    const part = await server.call("GET", run.stdoutRef, undefined, { range: "bytes=1-2" });
    expect([part.status, part.headers.get("content-range"), await part.text()]).toEqual([
      206,
      "bytes 1-2/4",
      "ut",
    ]);
    const behind = await server.call("GET", run.stdoutRef, undefined, { range: "bytes=4-" });
    expect([behind.status, behind.headers.get("content-range")]).toEqual([416, "bytes */4"]);
    const attempt = await server.call("GET", `${run.stdoutRef}?attempt=1.1&tail=2`);
    expect((await attempt.arrayBuffer()).byteLength).toBe(2);
  });

  test("S3: an attempt that it never had is `unknown_attempt`, and a task is `unknown_task`", async () => {
    const { id } = await ended(sh("true"));
    const logs = `/v1/runs/${id}/logs`;
    const attempt = await server.json(404, "GET", `${logs}/main/stdout?attempt=9.9`);
    expect(attempt).toMatchObject({ code: "unknown_attempt", detail: expect.stringContaining("9.9") });
    const task = await server.json(404, "GET", `${logs}/other/stdout?attempt=1.1`);
    expect(task).toMatchObject({ code: "unknown_task", detail: expect.stringContaining("main") });
  });

  test("of which the output is larger than any one read comes whole, followed and afterwards", async () => {
    const { id } = await server.json(201, "POST", "/v1/runs", sh("seq 1 300000"));
    const followed = await (await server.call("GET", `/v1/runs/${id}/logs/main/stdout?follow=1`)).text();
    const expected = Array.from({ length: 300_000 }, (_, index) => `${index + 1}\n`).join("");
    expect(followed === expected).toBe(true);
    const again = await (await server.call("GET", `/v1/runs/${id}/logs/main/stdout`)).text();
    expect(again === expected).toBe(true);
  });

  test("is followed while it runs, and its events are heard until the end", async () => {
    const { id } = await server.json(201, "POST", "/v1/runs", sh("echo begun; exec sleep 600"));
    const events = await server.call("GET", `/v1/runs/${id}/events`, undefined, {
      accept: "text/event-stream",
    });
    const log = await server.call("GET", `/v1/runs/${id}/logs/main/stdout?follow=1`);
    const reader = log.body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe("begun\n");
    const why = await server.json(200, "GET", `/v1/runs/${id}/why`);
    expect(why).toMatchObject({ state: "running", reason: { text: expect.stringMatching(/\S/) } });
    const aborted = await server.json(200, "POST", `/v1/runs/${id}/abort?wait=60s`, { reason: "enough" });
    expect(aborted).toMatchObject({ state: "aborted", abort: { reason: "enough", by: "admin" } });
    expect((await reader?.read())?.done).toBe(true);
    const heard = await events.text();
    expect(heard).toMatch(/^(event: event\ndata: \{.*\}\nid: \d+\n\n|: .*\n\n)+event: end\ndata: \{\}\n\n$/);
    const numbers = [...heard.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
    expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
    const list = await server.json(200, "GET", `/v1/runs/${id}/events`);
    expect(list.items.map((event: Json) => event.seq)).toEqual(numbers);
    const after = numbers[1] ?? 0;
    const resumed = await server.call("GET", `/v1/runs/${id}/events`, undefined, {
      accept: "text/event-stream",
      "last-event-id": String(after),
    });
    expect((await resumed.text()).match(/^id: \d+$/gm)).toEqual(numbers.slice(2).map((id) => `id: ${id}`));
  });

  test("under a key is one run, however often it is sent at once", async () => {
    const headers = { "idempotency-key": "the same" };
    const sent = Array.from({ length: 8 }, () =>
      server.call("POST", "/v1/runs", { argv: ["true"] }, headers),
    );
    const answers = await Promise.all(sent);
    const ids = await Promise.all(answers.map(async (answer) => ((await answer.json()) as Json).id));
    expect(new Set(ids).size).toBe(1);
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 200, 200, 200, 200, 200, 200, 201]);
    const other = await server.json(422, "POST", "/v1/runs", { argv: ["false"] }, headers);
    expect(other.code).toBe("idempotency_mismatch");
  });

  test("that no machine can ever hold, or whose directory the pool does not allow, is 422", async () => {
    const huge = { argv: ["true"], id: "huge", resources: { vcpus: 1_000 } };
    expect(await server.json(422, "POST", "/v1/runs", huge)).toMatchObject({ code: "unsatisfiable" });
    await server.json(404, "GET", "/v1/runs/huge");
  });
});

describe("a batch of 200", () => {
  test("is stored, queried by ids and by label, and ends", async () => {
    const labels = { batch: "200" };
    const runs = Array.from({ length: 200 }, (_, index) => ({ argv: ["true"], id: `b${index}`, labels }));
    const { items } = await server.json(201, "POST", "/v1/runs", { runs });
    expect(items.map((run: Json) => run.id)).toEqual(runs.map((run) => run.id));
    expect((await server.json(200, "POST", "/v1/runs", { runs })).items).toHaveLength(200);
    const ids = runs.map((run) => run.id);
    const body = { runs: ids, states: ["done"], wait: "30s" };
    for (;;) {
      const { items: done } = await server.json(200, "POST", "/v1/runs/query", body);
      if (done.length === 200) break;
    }
    const seen: string[] = [];
    let cursor = "";
    do {
      const page = await server.json(200, "GET", `/v1/runs?label=batch:200&state=complete&limit=70${cursor}`);
      seen.push(...page.items.map((run: Json) => run.id));
      cursor = page.next === null ? "" : `&cursor=${page.next}`;
      expect(page.service).toEqual([{ pool: "default", initialized: true, healthy: true }]);
    } while (cursor !== "");
    expect(seen.sort()).toEqual([...ids].sort());
    const unknown = await server.json(404, "POST", "/v1/runs/query", { runs: [...ids, "no-such-run"] });
    expect(unknown.runs).toEqual(["no-such-run"]);
  });
});

describe("pools and workers", () => {
  test("a pool never shows the secret of its provider", async () => {
    const secret = "the-secret-of-the-provider";
    const config = { ...POOL_CONFIG, provider: { ...POOL_CONFIG.provider, secret } };
    const put = await server.call("PUT", "/v1/pools/other", config);
    expect(put.status).toBe(201);
    const again = await server.call("PUT", "/v1/pools/other", { ...config, maxInstances: 1 });
    expect(again.status).toBe(200);
    const reads = ["/v1/pools", "/v1/pools/other"].map((path) => server.call("GET", path));
    const texts = [put, again, ...(await Promise.all(reads))].map((answer) => answer.text());
    for (const text of await Promise.all(texts)) {
      expect(text).toContain('"other"');
      expect(text).not.toContain(secret);
    }
  });

  test("a worker is read, says why, and is held, resumed, drained and killed when asked", async () => {
    await ended({ argv: ["true"] });
    const { items } = await server.json(200, "GET", "/v1/workers?pool=default&state=idle&state=running");
    expect(items.length).toBeGreaterThan(0);
    const { id } = items[0];
    expect(await server.json(200, "GET", `/v1/workers/${id}`)).toMatchObject({ id, pool: "default" });
    expect(await server.json(200, "GET", `/v1/workers/${id}/why`)).toMatchObject({
      reason: { text: expect.stringMatching(/\S/) },
    });
    const held = await server.json(200, "POST", `/v1/workers/${id}/hold`);
    expect(held).toMatchObject({ idleBehavior: "hold", state: "idle" });
    expect(await server.json(200, "POST", `/v1/workers/${id}/resume`)).toMatchObject({ idleBehavior: "run" });
    expect(await server.json(200, "POST", `/v1/workers/${id}/drain`)).toMatchObject({
      idleBehavior: "drain",
    });
    await server.json(200, "POST", `/v1/workers/${id}/kill`, { reason: "a test" });
    await expect.poll(async () => (await server.json(200, "GET", `/v1/workers/${id}`)).state).toBe("gone");
    expect(await server.json(404, "GET", "/v1/workers/nobody")).toMatchObject({ code: "unknown_worker" });
  });

  test("a host with a forged code or signature is 401", async () => {
    const headers = { "content-type": "application/json" };
    const timestamp = String(Math.floor(Date.now() / 1_000));
    const { items } = await server.json(200, "GET", "/v1/workers");
    for (const worker of [items[0].id, "nobody"]) {
      const path = `/v1/hosts/${worker}/reports`;
      const forged = signedBy({ worker, secret: strangeSecret() }, "report", ["POST", path], "{}");
      const report = await server.send("POST", path, { ...headers, ...forged }, "{}");
      expect(report.status).toBe(401);
      expect(report.headers.get("date")).not.toBeNull();
      const code = `drvc_${worker}.${timestamp}0.${"A".repeat(43)}`;
      const salt = Buffer.alloc(32).toString("base64");
      const resources = { vcpus: 1, memoryBytes: 1, diskBytes: 0, gpus: 0 };
      const agent = { version: "1", os: "linux", arch: "x64" };
      const enroll = JSON.stringify({ salt, agent, resources, bootId: "1" });
      const line: [string, string] = ["POST", "/v1/hosts/enroll"];
      const withCode = { ...headers, ...signedBy({ code }, "enroll", line, enroll) };
      expect((await server.send("POST", "/v1/hosts/enroll", withCode, enroll)).status).toBe(401);
    }
  });
});

test("the agent that is served has the digest that is said", async () => {
  const file = await server.send("GET", "/agent/drover-agent.mjs", {});
  const bytes = await file.arrayBuffer();
  const digest = Buffer.from(await crypto.subtle.digest("SHA-256", bytes));
  expect(file.headers.get("repr-digest")).toBe(`sha-256=:${digest.toString("base64")}:`);
  const sum = await (await server.send("GET", "/agent/drover-agent.mjs.sha256", {})).text();
  expect(sum).toBe(`${digest.toString("hex")}  drover-agent.mjs\n`);
});

test("the Worker is ready and describes itself", async () => {
  expect((await server.send("GET", "/readyz", {})).status).toBe(200);
  expect(await (await server.send("GET", "/openapi.json", {})).json()).toMatchObject({ openapi: "3.1.0" });
});
