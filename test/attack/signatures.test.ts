import { createHash, randomUUID } from "node:crypto";
import { readdirSync } from "node:fs";
import { type IncomingHttpHeaders, request } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MAX_LOG_CHUNK_BYTES } from "../../src/shared/limits.ts";
import { enrollmentCode } from "../../src/signing/code.ts";

import { PURPOSES, type Purpose } from "../../src/signing/request.ts";
import type { Json } from "../edge/support/edge.ts";
import { HttpHost, OWN_POOL } from "../edge/support/http-host.ts";
import { type Server, startServer } from "../edge/support/server.ts";
import { until } from "../local/support/scratch.ts";
import { type Otherwise, type Signer, signedBy, strangeSecret } from "../support/signed.ts";

// A signature is good for one call: what it is for, by whom, when, its method, path, query and body. What a
// call
// costs before that is known does not depend on what it says, and leaves nothing behind.

let server: Server;
let host: HttpHost;
beforeAll(async () => {
  server = await startServer();
  await server.json(201, "PUT", "/v1/pools/own", OWN_POOL);
  host = await readyHost();
});
afterAll(() => server?.stop());

const invite = (): Promise<Json> => server.json(201, "POST", "/v1/enrollments", { pool: "own", ttl: "1h" });

async function readyHost(): Promise<HttpHost> {
  const fresh = new HttpHost(server);
  expect(await fresh.enroll((await invite()).code)).toMatchObject({ status: 200 });
  expect(await fresh.report()).toMatchObject({ status: 200 });
  return fresh;
}

const BYTES = "some bytes of a host";
const HEX = createHash("sha256").update(BYTES).digest("hex");

/** A call of a host, and who signs it. */
interface Plan {
  purpose: Purpose;
  method: string;
  target: string;
  body: string;
  signer: Signer;
  /** Its status when it is signed as it is sent. */
  status: number;
}

/** An attempt of a run that nobody has submitted. */
const CLAIM = { id: "nobody/main/1.1", state: "running" };

/** A call for each purpose that there is. */
async function planOf(purpose: Purpose, by: HttpHost = host): Promise<Plan> {
  const base = `/v1/hosts/${by.worker}`;
  const plan = (method: string, target: string, body: string, status: number): Plan => {
    return { purpose, method, target: base + target, body, signer: by, status };
  };
  switch (purpose) {
    case "enroll": {
      const { code } = await invite();
      const resources = { vcpus: 4, memoryBytes: 2 ** 33, diskBytes: 2 ** 33, gpus: 0 };
      const agent = { version: "test", os: "linux", arch: "x64" };
      const body = JSON.stringify({ salt: strangeSecret(), agent, bootId: "boot-1", resources });
      return { purpose, method: "POST", target: "/v1/hosts/enroll", body, signer: { code }, status: 200 };
    }
    case "join":
      return plan("POST", "/join", JSON.stringify({ start: randomUUID(), bootId: "boot-1" }), 200);
    case "report":
      return plan("POST", "/reports?wait=0", JSON.stringify({ ...by.next(), incarnation: 1 }), 200);
    case "log":
      // What the host claims is asked about, so its log is looked at.
      await by.call("reports", { ...by.next({ attempts: [CLAIM] }), incarnation: 1 });
      return plan("PUT", `/logs/${encodeURIComponent(CLAIM.id)}/stdout?offset=0`, BYTES, 404);
    case "secrets":
      // No such attempt is in its orders, and it has enrolled without a key.
      return plan("POST", "/secrets", JSON.stringify({ attempt: CLAIM.id, publicKey: strangeSecret() }), 403);
    case "hello":
      return plan("GET", "/hello", "", 200);
    case "socket":
      return plan("GET", "/socket", "", 101);
    case "get-snapshot":
      return plan("GET", `/snapshots/sha256:${HEX}`, "", 200);
    case "put-snapshot":
      return plan("PUT", `/snapshots/sha256:${HEX}`, BYTES, 200);
  }
}

/** Sends a call that was signed as `signed` says, after `spoil` has had its headers. */
async function send(
  sent: Plan,
  signed: Partial<Plan> = {},
  more: Otherwise = {},
  spoil: (headers: Record<string, string>) => void = () => undefined,
): Promise<{ status: number; code?: string; signed: boolean }> {
  const { purpose, method, target, body, signer } = { ...sent, ...signed };
  const headers = signedBy(signer, purpose, [method, target], body, more);
  spoil(headers);
  const answer = await ask(sent, headers);
  return { status: answer.status, code: answer.said.code, signed: "signature" in answer.headers };
}

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  said: Json;
}

/** Sends these headers. For a socket it is asked as a client does that knows how to. */
function ask({ purpose, method, target, body }: Plan, signed: Record<string, string>): Promise<Answer> {
  const type = { "content-type": body === BYTES ? "application/octet-stream" : "application/json" };
  const key = { "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==", "sec-websocket-version": "13" };
  const upgrade = purpose === "socket" ? { connection: "upgrade", upgrade: "websocket", ...key } : {};
  const length = { "content-length": Buffer.byteLength(body) };
  const headers = { ...signed, ...(method === "GET" ? upgrade : { ...type, ...length }) };
  return new Promise((resolve, reject) => {
    const call = request(`${server.url}${target}`, { method, headers, agent: false });
    call.on("error", reject);
    call.on("upgrade", (answer, socket) => {
      socket.destroy();
      resolve({ status: 101, headers: answer.headers, said: {} });
    });
    call.on("response", async (answer) => {
      let text = "";
      for await (const part of answer) text += part;
      const isJson = answer.headers["content-type"]?.includes("json");
      resolve({
        status: answer.statusCode ?? 0,
        headers: answer.headers,
        said: isJson ? JSON.parse(text) : {},
      });
    });
    call.end(method === "GET" ? undefined : body);
  });
}

const refused = { status: 401, code: "bad_signature" };
const other = (text: string) => text.replace(/.$/, (last) => (last === "x" ? "y" : "x"));

describe("a call is taken as it was signed, and not otherwise", () => {
  beforeAll(async () => {
    // What is downloaded has to be there.
    expect((await send(await planOf("put-snapshot"))).status).toBe(201);
  });

  test.each(PURPOSES)("X6: %s: as it was signed", async (purpose) => {
    const by = await readyHost();
    const plan = await planOf(purpose, by);
    expect(await send(plan)).toMatchObject({ status: plan.status });
  });

  const tampered: [string, (plan: Plan) => Promise<[Partial<Plan>, Otherwise?]>][] = [
    ["another method", async ({ method }) => [{ method: method === "POST" ? "PUT" : "POST" }]],
    ["another path", async ({ target }) => [{ target: target.replace(/hosts\/[^?]*/, other) }]],
    ["another query", async ({ target }) => [{ target: `${target.split("?")[0]}?offset=7` }]],
    ["another body", async ({ body }) => [{ body: `${body} ` }]],
    ["another secret", async () => [{ signer: { worker: host.worker, secret: strangeSecret() } }]],
    ["another worker's name", async () => [{}, { keyid: (await readyHost()).worker }]],
  ];
  test.each(PURPOSES.flatMap((purpose) => tampered.map(([what, how]) => [purpose, what, how] as const)))(
    "X6: %s: signed for %s",
    async (purpose, what, how) => {
      const plan = await planOf(purpose);
      // The digest of an upload is held against its name.
      const named = purpose === "put-snapshot" && what === "another body";
      const expected = named ? { status: 422, code: "digest_mismatch" } : refused;
      expect(await send(plan, ...(await how(plan)))).toMatchObject(expected);
    },
  );

  test.each(
    PURPOSES.flatMap((one) => PURPOSES.filter((two) => two !== one).map((two) => [one, two] as const)),
  )("X6: %s: signed for the purpose %s", async (purpose, signedFor) => {
    const plan = await planOf(purpose);
    expect(await send(plan, { purpose: signedFor })).toMatchObject({ ...refused, signed: false });
  });

  const spoilt: [string, (headers: Record<string, string>) => void][] = [
    ["another time", (all) => change(all, "signature-input", /created=\d/, "created=2")],
    ["another nonce", (all) => change(all, "signature-input", /nonce="./, 'nonce="_')],
    ["another digest", (all) => change(all, "content-digest", /:./, ":_")],
    ["two signatures", (all) => change(all, "signature", /$/, `, ${all.signature}`)],
    [
      "two signatures of two labels",
      (all) => change(all, "signature", /$/, `, other${all.signature?.slice(6)}`),
    ],
    ["a thousand signatures", (all) => change(all, "signature", /$/, `, ${all.signature}`.repeat(1_000))],
    ["less that is covered", (all) => change(all, "signature-input", /"@query" /, "")],
    ["one more parameter", (all) => change(all, "signature-input", /$/, ';alg="none"')],
    ["no signature", (all) => delete all.signature],
  ];
  test.each(PURPOSES.flatMap((purpose) => spoilt.map(([what, how]) => [purpose, what, how] as const)))(
    "X6: %s: with %s",
    async (purpose, _what, how) => {
      expect(await send(await planOf(purpose), {}, {}, how)).toMatchObject({ ...refused, signed: false });
    },
  );

  test.each(["get-snapshot", "put-snapshot"] as const)("X6: %s: once only", async (purpose) => {
    const plan = await planOf(purpose);
    const nonce = `the-one-nonce-of-${purpose}`;
    expect((await send(plan, {}, { nonce })).status).toBe(plan.status);
    expect(await send(plan, {}, { nonce })).toMatchObject(refused);
  });

  test("X6: a join that is shown again, after many others, does not end the agent of now", async () => {
    const agent = await readyHost();
    const plan = await planOf("join", agent);
    const atMs = Date.now() - 120_000;
    expect((await send(plan, {}, { atMs })).status).toBe(200);
    await agent.join();
    expect(await send(plan, {}, { atMs })).toMatchObject({ status: 409, code: "stale_incarnation" });
    // A host that joins so often is asked to wait.
    const taken = <T extends { status: number }>(ask: () => Promise<T>) =>
      until("the host may go on", async () => {
        const answer = await ask();
        return answer.status === 429 ? undefined : answer;
      });
    for (let n = 0; n < 22; n += 1) await taken(() => agent.join());
    expect(await taken(() => send(plan, {}, { atMs }))).toMatchObject(refused);
    expect((await taken(() => agent.report())).status).toBe(200);
  });

  test("X6: a join that never arrived, and is shown later, does not end the agent of now", async () => {
    const agent = await readyHost();
    const plan = await planOf("join", agent);
    await agent.join();
    expect(await send(plan, {}, { atMs: Date.now() - 60_000 })).toMatchObject({ ...refused, signed: true });
    expect((await agent.report()).status).toBe(200);
    // Signed anew, by the clock of the answer, it counts.
    expect(await send(plan)).toMatchObject({ status: 200 });
  });

  test("X6: the late first try of a start that has joined changes nothing", async () => {
    const agent = await readyHost();
    const plan = await planOf("join", agent);
    const { body } = plan;
    await agent.call("join", JSON.parse(body));
    expect(await send(plan, {}, { atMs: Date.now() - 60_000 })).toMatchObject({ status: 200 });
    expect((await agent.report({ incarnation: 2 })).status).toBe(200);
  });
});

function change(headers: Record<string, string>, name: string, what: RegExp, into: string): void {
  headers[name] = (headers[name] ?? "").replace(what, () => into);
}

describe("from the moment of a kill", () => {
  test("X7: a secret is good for reports alone, and when the worker is gone for nothing", async () => {
    const killed = await readyHost();
    // Nothing that was known before the kill may count after it.
    for (const purpose of ["put-snapshot", "get-snapshot", "log"] as const) {
      const plan = await planOf(purpose, killed);
      expect((await send(plan)).status).toBe(plan.status);
    }
    await server.json(200, "POST", `/v1/workers/${killed.worker}/kill`, { reason: "stolen" });
    const ofAll = async () => {
      const said: Record<string, string | number> = {};
      for (const purpose of PURPOSES.filter((one) => one !== "enroll" && one !== "hello")) {
        const { status, code = "" } = await send(await planOf(purpose, killed));
        said[purpose] = code || status;
      }
      return said;
    };
    const none = { log: "forbidden", "get-snapshot": "forbidden", "put-snapshot": "forbidden" };
    const more = { secrets: "forbidden", socket: "forbidden" };
    expect(await ofAll()).toEqual({ ...none, ...more, join: "enrollment_over", report: 200 });
    // It asks for nothing, and tells a host who answers.
    expect((await send(await planOf("hello", killed))).status).toBe(200);
    // The agent says that it knows: that was its last word.
    const { body } = await killed.report();
    await killed.report({ ordersSeen: body.revision });
    await until("it is gone", async () => {
      return (await server.json(200, "GET", `/v1/workers/${killed.worker}`)).state === "gone" || undefined;
    });
    expect(new Set(Object.values(await ofAll()))).toEqual(new Set(["enrollment_over"]));
  });
});

describe("before it is known who calls", () => {
  test.each(PURPOSES.filter((one) => one !== "enroll"))(
    "X8: %s answers the same, whether there is such a worker or not",
    async (purpose) => {
      const { worker: invited } = await invite();
      const answers = [];
      for (const worker of [host.worker, invited, "own-nobody-1"]) {
        const stranger = new HttpHost(server);
        stranger.worker = worker;
        const plan = await planOf(purpose, stranger);
        const signed = signedBy(plan.signer, purpose, [plan.method, plan.target], plan.body);
        const { status, headers, said } = await ask(plan, signed);
        answers.push({ status, said: { ...said, instance: "" }, names: Object.keys(headers).sort() });
      }
      expect(answers[0]).toMatchObject({ status: 401, said: { code: "bad_signature" } });
      expect(answers[1]).toEqual(answers[0]);
      expect(answers[2]).toEqual(answers[0]);
    },
  );

  test("X8: a chunk that is announced is refused before a byte of it has come", async () => {
    const { target } = await planOf("log");
    const signed = signedBy({ worker: host.worker, secret: strangeSecret() }, "log", ["PUT", target], BYTES);
    const headers = { ...signed, "content-length": MAX_LOG_CHUNK_BYTES };
    const call = request(`${server.url}${target}`, { method: "PUT", headers, agent: false });
    call.on("error", () => undefined);
    const status = new Promise((resolve) => call.on("response", (answer) => resolve(answer.statusCode)));
    call.flushHeaders();
    expect(await status).toBe(401);
    call.destroy();
  });

  test("X15: forged codes under new names leave nothing behind", async () => {
    const objects = join(server.stateDir, "objects");
    // An object that is evicted meanwhile closes its database: what is beside that goes.
    const files = () =>
      readdirSync(objects, { recursive: true })
        .map(String)
        .filter((name) => !/-(shm|wal)$/.test(name))
        .sort();
    const plan = await planOf("enroll");
    const before = files();
    for (let n = 0; n < 20; n += 1) {
      const code = enrollmentCode(`own-forged-${n}`, Date.now() + 60_000, "not the signing key");
      expect(await send({ ...plan, signer: { code } })).toMatchObject(refused);
    }
    expect(files()).toEqual(before);
  });
});
