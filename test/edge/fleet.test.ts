import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { MAX_REPORT_BYTES } from "../../src/shared/limits.ts";
import { enrollmentCode, readCode } from "../../src/signing/code.ts";
import { keyOf, textOfKey } from "../../src/signing/mac.ts";
import { isSignedWith } from "../../src/signing/request.ts";
import { purposeOf, signedBy, strangeSecret } from "../support/signed.ts";
import { AGENT, createEdge, DROVER_URL, type Json, SIGNING_KEY, TOKEN } from "./support/edge.ts";
import { INVITED_AT } from "./support/fake-objects.ts";
import { ENROLL_REQUEST, POOL_CONFIG } from "./support/samples.ts";

const HOST = { worker: "w1", secret: strangeSecret() };
const signed = (path: string, body: string, method = "POST") =>
  signedBy(HOST, purposeOf(method, path.split("?")[0] ?? ""), [method, path], body);

describe("pools", () => {
  test("are created with 201 and changed with 200, with every default filled in", async () => {
    const edge = createEdge();
    expect(await edge.json(201, "PUT", "/v1/pools/big", POOL_CONFIG)).toMatchObject({ name: "big" });
    expect(edge.pools.get("big")).toMatchObject({
      ...POOL_CONFIG,
      maxInstances: 64,
      timeouts: { idle: "1m", lease: "30m" },
      probe: { interval: "10s" },
    });
    await edge.json(200, "PUT", "/v1/pools/big", { ...POOL_CONFIG, maxInstances: 1 });
    expect(edge.pools.get("big")).toMatchObject({ maxInstances: 1 });
  });

  test("are read one by one and all at once, by name", async () => {
    const edge = createEdge("b", "a", "c");
    expect((await edge.json(200, "GET", "/v1/pools/b")).name).toBe("b");
    const { items, next } = await edge.json(200, "GET", "/v1/pools");
    expect([items.map((pool: Json) => pool.name), next]).toEqual([["a", "b", "c"], null]);
  });
});

describe("workers", () => {
  test("are listed over all pools, or of one, or in some states", async () => {
    const edge = createEdge("a", "b");
    const ids = async (query: string) =>
      (await edge.json(200, "GET", `/v1/workers${query}`)).items.map((worker: Json) => worker.id);
    expect(await ids("")).toEqual(["b-w1", "a-w1"]);
    expect(await ids("?pool=a")).toEqual(["a-w1"]);
    expect(await ids("?state=booting")).toEqual([]);
    expect(await ids("?state=booting&state=idle")).toEqual(["b-w1", "a-w1"]);
  });

  test("come in pages", async () => {
    const edge = createEdge("a", "b", "c");
    const first = await edge.json(200, "GET", "/v1/workers?limit=2");
    expect(first.items).toHaveLength(2);
    const second = await edge.json(200, "GET", `/v1/workers?limit=2&cursor=${first.next}`);
    expect([second.items.length, second.next]).toEqual([1, null]);
  });

  test.each(["hold", "drain", "resume", "kill"])(
    "take the order to %s, with or without a body",
    async (verb) => {
      const edge = createEdge();
      expect((await edge.json(200, "POST", `/v1/workers/w1/${verb}`)).id).toBe("w1");
      expect((await edge.json(200, "POST", `/v1/workers/w1/${verb}`, {})).id).toBe("w1");
      expect(edge.calls).toHaveLength(2);
      await edge.json(404, "POST", `/v1/workers/nobody/${verb}`);
    },
  );

  test.each([
    ["hold", "hold"],
    ["drain", "drain"],
    ["resume", "run"],
  ])("%s sets the idle behavior %s (workers.md#idle-behaviors)", async (verb, idleBehavior) => {
    const edge = createEdge();
    expect(await edge.json(200, "POST", `/v1/workers/w1/${verb}`)).toMatchObject({ id: "w1", idleBehavior });
    expect(edge.calls).toEqual(["worker w1 setBehavior"]);
    expect(await edge.json(404, "POST", `/v1/workers/nobody/${verb}`)).toMatchObject({
      code: "unknown_worker",
    });
    expect((await edge.send("POST", `/v1/workers/w1/${verb}`, {})).status).toBe(401);
  });

  test("say what they are and why", async () => {
    const edge = createEdge();
    expect(await edge.json(200, "GET", "/v1/workers/w1")).toMatchObject({ id: "w1", state: "idle" });
    expect(await edge.json(200, "GET", "/v1/workers/w1/why")).toMatchObject({ reason: { code: "idle" } });
    expect(await edge.json(404, "GET", "/v1/workers/nobody/why")).toMatchObject({ code: "unknown_worker" });
  });
});

describe("an abort", () => {
  test("carries the reason and who asked", async () => {
    const edge = createEdge();
    edge.addRun("a");
    const status = await edge.json(200, "POST", "/v1/runs/a/abort", { reason: "wrong branch" });
    expect(status.abort).toEqual({ reason: "wrong branch", by: "admin" });
    expect((await edge.json(200, "POST", "/v1/runs/a/abort")).abort).toEqual({ reason: "", by: "admin" });
  });
});

describe("hosts (host-protocol.md#exchange)", () => {
  test("enroll with the worker that their code names, which does not travel", async () => {
    const edge = createEdge();
    const code = enrollmentCode("default-w1", INVITED_AT, SIGNING_KEY);
    const body = JSON.stringify(ENROLL_REQUEST);
    const headers = signedBy({ code }, "enroll", ["POST", "/v1/hosts/enroll"], body);
    const answer = await edge.send("POST", "/v1/hosts/enroll", headers, body);
    expect([answer.status, await answer.json()]).toMatchObject([200, { worker: "default-w1" }]);
    expect(edge.calls).toEqual(["worker default-w1 enroll"]);
    const codeKey = textOfKey(readCode(code)?.key ?? new Uint8Array());
    expect(edge.enrolled).toEqual([{ body, codeKey, expiresAt: INVITED_AT }]);
  });

  test("what they sign reaches the worker byte for byte, with the headers", async () => {
    const edge = createEdge();
    const body = '{ "seq":1,\t"text":"\u00fc \u{1f600}" }\n';
    for (const path of ["join", "reports"]) {
      const target = `/v1/hosts/w1/${path}`;
      const answer = await edge.send("POST", target, signed(target, body), body);
      expect(answer.status).toBe(200);
      const last = edge.signedCalls.at(-1);
      expect(last).toMatchObject({ body, plain: false, keyid: "w1", purpose: purposeOf("POST", target) });
      expect(last !== undefined && isSignedWith(keyOf(HOST.secret), last)).toBe(true);
    }
  });

  test.each<[string | undefined, string, boolean]>([
    ["text/plain", "a\nb stale\n", true],
    ["Text/Plain; charset=utf-8", "", true],
    ["text/plain", ' {"seq":1}', false],
    [undefined, '{"seq":1}', false],
    ["application/json", "a\n", false],
  ])("a report of type %j with the body %j is plain: %j", async (type, body, plain) => {
    const edge = createEdge();
    const path = "/v1/hosts/w1/reports";
    const headers = { ...signed(path, body), ...(type === undefined ? {} : { "content-type": type }) };
    await edge.send("POST", path, headers, body);
    expect(edge.signedCalls).toMatchObject([{ body, plain }]);
  });

  test("the answer to a report is held for 20 s at most", async () => {
    const edge = createEdge();
    const path = "/v1/hosts/w1/reports?wait=60s";
    await edge.send("POST", path, signed(path, "{}"), "{}");
    expect(edge.longestWaitMs).toBe(20_000);
  });

  test("a report of exactly 1 MiB is taken", async () => {
    const edge = createEdge();
    const body = "x".repeat(MAX_REPORT_BYTES);
    const path = "/v1/hosts/w1/reports";
    expect((await edge.send("POST", path, signed(path, body), body)).status).toBe(200);
    expect((await edge.send("POST", path, signed(path, body), `${body}x`)).status).toBe(413);
  });

  test("every answer has a date, by which a host corrects its clock: refusals too", async () => {
    const edge = createEdge();
    for (const headers of [signed("/v1/hosts/w1/reports", "{}"), {}]) {
      const answer = await edge.send("POST", "/v1/hosts/w1/reports", headers, "{}");
      expect(Date.parse(answer.headers.get("date") ?? "")).toBeGreaterThan(0);
    }
  });

  test("need no token, and the token does not replace a signature", async () => {
    const edge = createEdge();
    expect((await edge.call("POST", "/v1/hosts/w1/reports", {})).status).toBe(401);
  });

  test.each<[string, Record<string, string>, string, number]>([
    ["without a signature", { upgrade: "websocket" }, "bad_signature", 401],
    ["as if it were none", signed("/v1/hosts/w1/socket", "", "GET"), "upgrade_required", 426],
    [
      "that its worker cannot give",
      { ...signed("/v1/hosts/w1/socket", "", "GET"), upgrade: "websocket" },
      "unavailable",
      503,
    ],
  ])("a socket that is asked for %s is refused", async (_how, headers, code, status) => {
    const edge = createEdge();
    const answer = await edge.send("GET", "/v1/hosts/w1/socket", headers);
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ code });
  });
});

describe("POST /v1/enrollments", () => {
  test("answers with a code, and the line to paste", async () => {
    const answer = await createEdge().json(201, "POST", "/v1/enrollments", { ttl: "10m" });
    expect(answer).toEqual({
      code: "drvc_default-1.1.x",
      worker: "default-1",
      pool: "default",
      expiresAt: new Date(INVITED_AT + 600_000).toISOString(),
      command: `curl -fsSL ${DROVER_URL}/agent/install.sh | DROVER_CODE=drvc_default-1.1.x sh -s --`,
    });
  });

  test("the same key finds the same worker, another key another one", async () => {
    const edge = createEdge();
    const create = (key: string) => edge.call("POST", "/v1/enrollments", {}, { "idempotency-key": key });
    const [first, again, other] = [await create("a"), await create("a"), await create("b")];
    expect([first.status, again.status, other.status]).toEqual([201, 200, 201]);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    const bodies: Json[] = await Promise.all([first.json(), again.json(), other.json()]);
    expect(bodies[1]).toEqual(bodies[0]);
    expect(bodies[2].worker).not.toBe(bodies[0].worker);
  });

  test.each([
    ["nobody has said where hosts would report", ""],
    ["hosts would report in the clear to another machine", "http://drover.test"],
    ["hosts would report nowhere", "drover.test"],
  ])("is refused while %s", async (_what, url) => {
    const edge = createEdge();
    const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
    const init = { method: "POST", headers, body: "{}" };
    const env = { adminToken: TOKEN, url, objects: edge.objects, now: Date.now };
    const answer = await edge.app.request("/v1/enrollments", init, env);
    const { status, detail }: Json = await answer.json();
    expect([status, detail]).toEqual([500, expect.stringContaining("DROVER_URL")]);
  });

  test.each([
    ["an unknown pool", { pool: "nobody" }, 404, "unknown_pool"],
    ["a ttl that is too long", { ttl: "8d" }, 400, "invalid_request"],
    ["a ttl of nothing", { ttl: "0s" }, 400, "invalid_request"],
    ["an unknown field", { pools: "x" }, 400, "invalid_request"],
  ])("refuses %s", async (_what, body, status, code) => {
    expect(await createEdge().json(status, "POST", "/v1/enrollments", body)).toMatchObject({ code });
  });
});

describe("what is open", () => {
  test("the document, in whichever order its modules were loaded", async () => {
    // This file loads the schemas before zod-openapi, as the Worker does.
    expect((await createEdge().send("GET", "/openapi.json", {})).status).toBe(200);
  });

  test("the agent, with its digest", async () => {
    const edge = createEdge();
    const answer = await edge.send("GET", "/agent/drover-agent.mjs", {});
    const text = await answer.text();
    expect([answer.status, text]).toEqual([200, "// the agent\n"]);
    expect(answer.headers.get("content-type")).toContain("text/javascript");
    const digest = createHash("sha256").update(text).digest("base64");
    expect(answer.headers.get("repr-digest")).toBe(`sha-256=:${digest}:`);
    const etag = answer.headers.get("etag") ?? "";
    const again = await edge.send("GET", "/agent/drover-agent.mjs", { "if-none-match": etag });
    expect([again.status, await again.text()]).toEqual([304, ""]);
    const sum = await edge.send("GET", "/agent/drover-agent.mjs.sha256", {});
    expect(await sum.text()).toBe(`${AGENT.sha256}  drover-agent.mjs\n`);
  });

  test("the script that makes a machine a host, with its digest and that of the agent", async () => {
    const edge = createEdge();
    const answer = await edge.send("GET", "/agent/install.sh", {});
    const text = await answer.text();
    expect([answer.status, text]).toEqual([200, `url='${DROVER_URL}' sha256='${AGENT.sha256}'\n`]);
    const digest = createHash("sha256").update(text).digest();
    expect(answer.headers.get("repr-digest")).toBe(`sha-256=:${digest.toString("base64")}:`);
    const sum = await edge.send("GET", "/agent/install.sh.sha256", {});
    expect(await sum.text()).toBe(`${digest.toString("hex")}  install.sh\n`);
  });

  test("health: the edge by itself, and readiness by the Registry", async () => {
    const edge = createEdge();
    expect((await edge.send("GET", "/healthz", {})).status).toBe(200);
    expect(edge.calls).toEqual([]);
    const ready = await edge.send("GET", "/readyz", {});
    expect([ready.status, await ready.json()]).toEqual([200, { status: "ok", version: "1.2.3" }]);
    edge.fault = () => {
      throw Object.assign(new Error("x"), { overloaded: true });
    };
    expect((await edge.send("GET", "/readyz", {})).status).toBe(503);
    expect((await edge.send("GET", "/healthz", {})).status).toBe(200);
  });
});
