import { afterEach, describe, expect, test, vi } from "vitest";
import { REQUEST_RATE } from "../../src/routes/access/access.ts";
import { PRESETS, SCOPES } from "../../src/shared/access/scopes.ts";
import { TOKEN_RANDOM_BYTES, tokenText } from "../../src/shared/access/token-text.ts";
import { contentDigest } from "../../src/signing/mac.ts";
import { as, makeToken } from "./support/callers.ts";
import { createEdge, type Json, TOKEN } from "./support/edge.ts";

const edge = createEdge();
const { paths } = await edge.json(200, "GET", "/openapi.json");

/** Every operation, with what it needs. */
const ALL = Object.entries<Json>(paths).flatMap(([path, methods]) =>
  Object.entries<Json>(methods).map(([method, { operationId, security, "x-drover-access": access }]) => ({
    name: `${operationId}${method === "head" ? " (HEAD)" : ""}`,
    method: method.toUpperCase(),
    path: path.replaceAll(/\{\w+\}/g, "abcdefghij"),
    schemes: security.flatMap(Object.keys),
    access,
  })),
);
/** Every operation that a token may call. */
const OPERATIONS = ALL.filter(({ schemes }) => schemes.includes("bearer"));
/** Every operation for callers with another proof. */
const PROVEN = ALL.filter(({ schemes }) => schemes.length > 0 && !schemes.includes("bearer"));
/** How the document names the proof of each kind of caller without a token of Drover. */
const SCHEME_OF: Json = {
  host: "hostSignature",
  boot: "bootToken",
  attempt: "requestToken",
  issuer: "issuerToken",
};

// The files after this one run in the same process.
afterEach(() => {
  vi.useRealTimers();
});

describe("every operation × every scope (access.md#scopes)", () => {
  test("each operation declares a scope that exists, or that any token will do", () => {
    const declared = new Set(OPERATIONS.map(({ access }) => access));
    expect([...declared].filter((access) => access !== "any_token" && !SCOPES.includes(access))).toEqual([]);
    expect(OPERATIONS.length).toBeGreaterThan(40);
  });

  const tokens = new Map(SCOPES.map((scope) => [scope, makeToken(edge, [scope])]));

  test.each(OPERATIONS)("$name needs $access and nothing else", async ({ method, path, access }) => {
    for (const scope of SCOPES) {
      const answer = await as(edge, tokens.get(scope) ?? "").send(method, path);
      const isRefused = answer.status === 403;
      const mayCall = scope === access || scope === "admin" || access === "any_token";
      expect({ scope, isRefused, status: answer.status }).toMatchObject({ scope, isRefused: !mayCall });
      if (isRefused && method !== "HEAD") {
        const problem: Json = await answer.json();
        expect(problem).toMatchObject({ code: "missing_scope" });
        expect(problem.detail).toContain(`the scope ${access}`);
      }
    }
  });

  test("each other operation is open, or declares whose proof it needs, as a scheme of the document", () => {
    const others = ALL.filter((one) => !OPERATIONS.includes(one));
    const wrong = others.filter(({ access, schemes }) => {
      const wanted = access === "open" ? [] : [SCHEME_OF[access]];
      return schemes.join() !== wanted.join();
    });
    expect(wrong).toEqual([]);
    expect(new Set(PROVEN.map(({ access }) => access))).toEqual(new Set(Object.keys(SCHEME_OF)));
  });

  test.each(PROVEN)("$name takes the proof of its $access, and no token of any scope", async (one) => {
    const texts = [...tokens.values(), TOKEN];
    for (const [index, text] of texts.entries()) {
      const headers = { "cf-connecting-ip": `192.0.2.${index}`, "content-type": "application/json" };
      const body = one.access === "issuer" ? { token: text } : undefined;
      const path = one.access === "attempt" ? `${one.path}?audience=vault` : one.path;
      const answer = await as(edge, text, headers).send(one.method, path, body);
      // A host that signs nothing is refused for the headers that are missing, or because nobody knows it.
      expect(one.access === "host" ? [400, 401, 404] : [401]).toContain(answer.status);
    }
  });

  test.each(OPERATIONS)("$name is closed without a token", async ({ method, path }) => {
    expect((await edge.send(method, path, {})).status).toBe(401);
  });
});

describe("a token that is wrong (access.md#rate-limits)", () => {
  const TEXT = makeToken(edge, ["runs:read"]);

  test.each([
    ["cut short", TEXT.slice(0, -3), "incomplete, or has something added"],
    ["doubled", TEXT + TEXT, "incomplete, or has something added"],
    [
      "with a typing error",
      `${TEXT.slice(0, 20)}${TEXT[20] === "x" ? "y" : "x"}${TEXT.slice(21)}`,
      "typing error",
    ],
    ["of another kind", "hunter2", "may belong to another Drover"],
  ])("%s gets an error that says so, and costs no call to an object", async (_name, text, what) => {
    const before = edge.calls.length;
    for (let tries = 0; tries < 100; tries += 1) {
      const problem = await as(edge, text).json(401, "GET", "/v1/runs");
      expect(problem).toMatchObject({ code: "unauthorized" });
      expect(problem.detail).toContain(what);
    }
    expect(edge.calls.length).toBe(before);
  });

  test("of the right form costs one look-up, and its address is limited after five", async () => {
    const own = createEdge();
    const at = (address: string) => ({ "cf-connecting-ip": address });
    const stranger = () => makeToken(edge, ["runs:read"]); // valid at another Drover
    const first = stranger();
    for (let tries = 0; tries < 3; tries += 1)
      await as(own, first, at("192.0.2.1")).json(401, "GET", "/v1/runs");
    expect(own.calls).toEqual(["registry grant"]);
    for (let tries = 0; tries < 2; tries += 1)
      await as(own, stranger(), at("192.0.2.1")).json(401, "GET", "/v1/runs");
    const limited = await as(own, stranger(), at("192.0.2.1")).send("GET", "/v1/runs");
    expect(limited.status).toBe(429);
    expect(Number(limited.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(own.calls).toEqual(["registry grant", "registry grant", "registry grant"]);
    await as(own, stranger(), at("192.0.2.2")).json(401, "GET", "/v1/runs");
    await as(own, TOKEN, at("192.0.2.1")).json(200, "GET", "/v1/runs");
  });

  test("counts for the whole network of an IPv6 address", async () => {
    const own = createEdge();
    const statuses: number[] = [];
    for (let tries = 1; tries <= 6; tries += 1) {
      const at = { "cf-connecting-ip": `2001:db8:1:2::${tries}` };
      statuses.push((await as(own, makeToken(edge, ["runs:read"]), at).send("GET", "/v1/runs")).status);
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429]);
  });

  test("does not shut out a right one that is in use at the same address", async () => {
    const own = createEdge();
    const at = { "cf-connecting-ip": "192.0.2.1" };
    const used = as(own, makeToken(own, ["runs:read"]), at);
    await used.json(200, "GET", "/v1/runs");
    for (let tries = 0; tries < 6; tries += 1)
      await as(own, makeToken(edge, ["runs:read"]), at).send("GET", "/v1/runs");
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 31_000 });
    await used.json(200, "GET", "/v1/runs");
  });

  test("does not shut out a right one when many tokens end at once by a deleted trust rule", async () => {
    const own = createEdge();
    const at = { "cf-connecting-ip": "192.0.2.1" };
    const used = as(own, makeToken(own, ["runs:read"]), at);
    await used.json(200, "GET", "/v1/runs");
    const rule = {
      issuer: "https://ci.example.com",
      audience: "drover",
      claims: { a: "b" },
      preset: "viewer",
    };
    await own.json(201, "PUT", "/v1/trust-rules/ci", rule);
    for (let tries = 0; tries < 6; tries += 1)
      await as(own, makeToken(edge, ["runs:read"]), at).send("GET", "/v1/runs");
    await own.json(200, "DELETE", "/v1/trust-rules/ci");
    await used.json(200, "GET", "/v1/runs");
  });

  test("of another Drover, a revoked one and an expired one are refused in the same words", async () => {
    const revoked = makeToken(edge, ["runs:read"]);
    edge.tokens.revoke(revoked.slice(4, 14), "admin", false);
    const expired = makeToken(edge, ["runs:read"], {}, { expiresAt: Date.now() - 1 });
    const other = makeToken(createEdge(), ["runs:read"]);
    const details = await Promise.all(
      [revoked, expired, other].map(async (text, index) => {
        const one = as(edge, text, { "cf-connecting-ip": `192.0.2.${10 + index}` });
        return (await one.json(401, "GET", "/v1/runs")).detail;
      }),
    );
    expect(new Set(details).size).toBe(1);
  });
});

describe("a valid token (access.md#cache)", () => {
  test("is looked up once, and answers say how many requests are left (access.md#rate-limits)", async () => {
    // Otherwise the bucket of a slow machine has drained again before the answer.
    vi.useFakeTimers({ toFake: ["Date"] });
    const own = createEdge();
    const token = makeToken(own, ["runs:read"]);
    const first = await as(own, token).send("GET", "/v1/runs");
    const second = await as(own, token).send("GET", "/v1/runs");
    expect(own.calls.filter((call) => call === "registry grant")).toHaveLength(1);
    expect(first.headers.get("ratelimit-policy")).toBe('"requests";q=6000;w=60');
    expect(first.headers.get("ratelimit")).toMatch(/^"requests";r=5999;t=1$/);
    expect(second.headers.get("ratelimit")).toMatch(/^"requests";r=5998;t=1$/);
  });

  test("rotated elsewhere is accepted at once with its new secret (access.md#rotation)", async () => {
    const own = createEdge();
    const token = makeToken(own, ["runs:read"]);
    await as(own, token).json(200, "GET", "/v1/runs");
    const { id, text } = tokenText(
      crypto.getRandomValues(new Uint8Array(TOKEN_RANDOM_BYTES)),
      token.slice(4, 14),
    );
    own.tokens.rotate(id, contentDigest(text), 1_000, "admin"); // as another isolate would
    for (let times = 0; times < 10; times += 1) await as(own, text).json(200, "GET", "/v1/runs");
  });

  test("is refused within 30 s of its revocation, by whichever isolate", async () => {
    const own = createEdge();
    const token = makeToken(own, ["runs:read"]);
    await as(own, token).json(200, "GET", "/v1/runs");
    own.tokens.revoke(token.slice(4, 14), "admin", false); // as another isolate would
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 29_000 });
    await as(own, token).json(200, "GET", "/v1/runs");
    vi.setSystemTime(Date.now() + 1_500);
    await as(own, token).json(401, "GET", "/v1/runs");
  });

  test("is refused at once by the isolate through which it was revoked", async () => {
    const own = createEdge();
    const token = makeToken(own, ["runs:read"]);
    await as(own, token).json(200, "GET", "/v1/runs");
    await own.json(200, "DELETE", `/v1/tokens/${token.slice(4, 14)}`);
    await as(own, token).json(401, "GET", "/v1/runs");
  });

  test("that is limited to networks is not accepted from elsewhere (access.md#limits)", async () => {
    const own = createEdge();
    const token = makeToken(own, ["runs:read"], { sources: ["198.51.100.0/24"] });
    const from = (address: string) => as(own, token, { "cf-connecting-ip": address });
    await from("198.51.100.7").json(200, "GET", "/v1/runs");
    const problem = await from("198.51.101.7").json(403, "GET", "/v1/runs");
    expect(problem).toMatchObject({ code: "beyond_limits" });
    expect(problem.detail).toContain("198.51.101.7");
  });
});

describe("the API of tokens (access.md#tokens)", () => {
  test("creates one that works, shows it once, and lists it without its secret", async () => {
    const own = createEdge();
    const made = await own.json(201, "POST", "/v1/tokens", {
      name: "ci",
      preset: "viewer",
      expiresIn: "90d",
    });
    expect(made).toMatchObject({ name: "ci", scopes: PRESETS.viewer, state: "active", createdBy: "admin" });
    await as(own, made.token).json(200, "GET", "/v1/runs");
    const listed = await own.json(200, "GET", "/v1/tokens");
    expect(listed.items).toMatchObject([{ id: made.id, name: "ci" }]);
    expect(JSON.stringify(listed)).not.toContain(made.token.slice(14));
    const me = await as(own, made.token).json(200, "GET", "/v1/caller");
    const may = { scopes: PRESETS.viewer, limits: {}, expiresAt: made.expiresAt };
    expect(me).toEqual({ by: "token:ci", project: "default", ...may });
  });

  test("rotates: both secrets work during the overlap (access.md#rotation)", async () => {
    const own = createEdge();
    const made = await own.json(201, "POST", "/v1/tokens", { name: "ci", scopes: ["runs:read"] });
    const next = await own.json(200, "POST", `/v1/tokens/${made.id}/rotate`, { overlap: "1h" });
    expect(next.id).toBe(made.id);
    for (const token of [made.token, next.token]) await as(own, token).json(200, "GET", "/v1/runs");
    const last = await own.json(200, "POST", `/v1/tokens/${made.id}/rotate`, { overlap: "0s" });
    for (const token of [made.token, next.token]) await as(own, token).json(401, "GET", "/v1/runs");
    await as(own, last.token).json(200, "GET", "/v1/runs");
  });

  test.each<[string, Json, string, string]>([
    ["no scope", {}, "/scopes", "is empty"],
    [
      "the name that events give to the Worker's secret (access.md#actors)",
      { name: "admin", preset: "viewer" },
      "/name",
      "events name the secret of this Drover so",
    ],
    ["a scope that does not exist", { scopes: ["runs:fly"] }, "/scopes/0", "must be one of runs:read"],
    ["the scope of the Worker's secret", { scopes: ["admin"] }, "/scopes/0", "must be one of runs:read"],
    ["a preset that does not exist", { preset: "root" }, "/preset", "must be one of viewer"],
    [
      "a network that is none",
      { preset: "viewer", limits: { sources: ["home"] } },
      "/limits/sources/0",
      "network",
    ],
    ["a limit to no labels", { preset: "viewer", limits: { labels: {} } }, "/limits/labels", "at least 1"],
    ["no time at all", { preset: "viewer", expiresIn: "0s" }, "/expiresIn", "longer than 0s"],
    [
      "workers, limited to labels",
      { scopes: ["workers:write"], limits: { labels: { a: "b" } } },
      "/scopes",
      "labels",
    ],
    ["tokens, limited to pools", { scopes: ["tokens:write"], limits: { pools: ["a"] } }, "/scopes", "pools"],
  ])("refuses %s, and creates nothing", async (_name, body, pointer, detail) => {
    const own = createEdge();
    const problem = await own.json(400, "POST", "/v1/tokens", { name: "x", ...body });
    expect(problem.errors[0].pointer).toBe(pointer);
    expect(problem.errors[0].detail).toContain(detail);
    expect(own.tokens.list(null)).toEqual([]);
  });

  test("gives a preset with a limit to labels only the scopes of runs (access.md#presets)", async () => {
    const own = createEdge();
    const body = { name: "x", preset: "submitter", limits: { labels: { team: "a" } } };
    const made = await own.json(201, "POST", "/v1/tokens", body);
    expect(made.scopes).toEqual(["runs:read", "runs:logs", "runs:write"]);
  });

  test("names what a revoked token has made, and ends it if asked to (access.md#children)", async () => {
    const own = createEdge();
    const make = (caller: ReturnType<typeof as>, name: string) =>
      caller.json(201, "POST", "/v1/tokens", { name, scopes: ["tokens:write", "runs:read"] });
    const boss = await make(as(own, TOKEN), "boss");
    const leaf = await make(as(own, boss.token), "leaf");
    const rule = {
      issuer: "https://ci.example.com",
      audience: "x",
      claims: { a: "b" },
      scopes: ["runs:read"],
    };
    await as(own, leaf.token).json(201, "PUT", "/v1/trust-rules/ci", rule);
    const children = { tokens: [{ id: leaf.id, name: "leaf" }], trustRules: ["ci"] };
    const first = await own.json(200, "DELETE", `/v1/tokens/${boss.id}`);
    expect(first).toMatchObject({ state: "revoked", children, childrenEnded: false });
    await as(own, leaf.token).json(200, "GET", "/v1/runs");
    const again = await own.json(200, "DELETE", `/v1/tokens/${boss.id}?children=1`);
    expect(again).toMatchObject({ children, childrenEnded: true });
    await as(own, leaf.token).json(401, "GET", "/v1/runs");
    expect(await own.json(200, "GET", "/v1/trust-rules")).toEqual({ items: [], next: null });
  });

  test("refuses a second valid token of one name, and takes the name of an ended one", async () => {
    const own = createEdge();
    const made = await own.json(201, "POST", "/v1/tokens", { name: "x", preset: "viewer" });
    await own.json(409, "POST", "/v1/tokens", { name: "x", preset: "viewer" });
    await own.json(200, "DELETE", `/v1/tokens/${made.id}`);
    await own.json(201, "POST", "/v1/tokens", { name: "x", preset: "viewer" });
    await own.json(409, "POST", `/v1/tokens/${made.id}/rotate`, {});
    await own.json(404, "DELETE", "/v1/tokens/0000000000");
  });

  test("grants nothing that the creator lacks: no scope, no wider limit, no longer life", async () => {
    const own = createEdge();
    const day = Date.now() + 86_400_000;
    const boss = as(
      own,
      makeToken(own, ["tokens:write", "runs:read"], { maxPriority: 50 }, { expiresAt: day }),
    );
    const limits = { maxPriority: 50 };
    const ask = (body: object, status: number) =>
      boss.json(status, "POST", "/v1/tokens", { name: "y", ...body });
    expect((await ask({ scopes: ["runs:logs"], limits }, 400)).errors[0].pointer).toBe("/scopes");
    expect((await ask({ scopes: ["runs:read"] }, 400)).errors[0].pointer).toBe("/limits/maxPriority");
    const made = await ask({ scopes: ["runs:read"], limits: { maxPriority: 20 } }, 201);
    expect(Date.parse(made.expiresAt)).toBe(day);
    expect(made.createdBy).toMatch(/^token:t-/);
    const strong = await own.json(201, "POST", "/v1/tokens", { name: "strong", preset: "operator" });
    const lasting = await own.json(201, "POST", "/v1/tokens", {
      name: "lasting",
      scopes: ["runs:read"],
      limits,
    });
    for (const { id } of [strong, lasting]) {
      expect(await boss.json(403, "POST", `/v1/tokens/${id}/rotate`, {})).toMatchObject({
        code: "beyond_limits",
      });
      expect(await boss.json(403, "DELETE", `/v1/tokens/${id}`)).toMatchObject({ code: "beyond_limits" });
    }
  });
});

test("a token that asks too often learns its limit, and when to return (access.md#rate-limits)", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const own = createEdge();
  const token = makeToken(own, ["runs:read"]);
  const { quota } = REQUEST_RATE;
  for (let count = 0; count < quota; count += 1) await as(own, token).send("GET", "/v1/caller");
  const answer = await as(own, token).send("GET", "/v1/caller");
  expect(answer.status).toBe(429);
  expect(answer.headers.get("retry-after")).toBe("1");
  expect(answer.headers.get("ratelimit-policy")).toBe('"requests";q=6000;w=60');
  expect(answer.headers.get("ratelimit")).toBe('"requests";r=0;t=60');
});

describe("a request that a token may not make (audit.md#denied)", () => {
  test("is told to the audit log at once, then once a minute with its count", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const own = createEdge();
    const refused = as(own, makeToken(own, ["runs:read"], {}, { name: "ann" }));
    for (let tries = 0; tries < 5; tries += 1) await refused.json(403, "GET", "/v1/pools/secret-name");
    const denied = {
      by: "token:ann",
      project: "default",
      code: "missing_scope",
      request: "GET /v1/pools/:name",
    };
    expect(own.denied).toEqual([{ ...denied, count: 1 }]);
    vi.setSystemTime(Date.now() + 60_000);
    await refused.json(403, "GET", "/v1/pools/secret-name");
    expect(own.denied).toEqual([
      { ...denied, count: 1 },
      { ...denied, count: 5 },
    ]);
  });

  test("is told if it comes from a network that the token is not limited to (access.md#limits)", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const own = createEdge();
    const token = makeToken(own, ["runs:read"], { sources: ["198.51.100.0/24"] }, { name: "ann" });
    const elsewhere = as(own, token, { "cf-connecting-ip": "192.0.2.1" });
    for (let tries = 0; tries < 3; tries += 1) await elsewhere.json(403, "GET", "/v1/runs/secret-name");
    const denied = { project: "default", code: "beyond_limits" };
    const read = { ...denied, by: "token:ann", request: "GET /v1/runs/:id" };
    expect(own.denied).toEqual([{ ...read, count: 1 }]);
    const session = { ...denied, by: "session:ann", request: "GET /v1/runs/:id" };
    const there = { "content-type": "application/json", "cf-connecting-ip": "198.51.100.7" };
    const signedIn = await own.send(
      "POST",
      "https://drover.test/ui/session",
      there,
      JSON.stringify({ token }),
    );
    const cookie = signedIn.headers.getSetCookie()[0]?.split(";")[0] ?? "";
    const here = { cookie, "cf-connecting-ip": "192.0.2.1", "sec-fetch-site": "same-origin" };
    expect((await own.send("GET", "https://drover.test/v1/runs/a", here)).status).toBe(403);
    expect(own.denied).toEqual([
      { ...read, count: 1 },
      { ...session, count: 1 },
    ]);
    vi.setSystemTime(Date.now() + 60_000);
    const from = { ...there, "cf-connecting-ip": "192.0.2.1" };
    const answer = await own.send("POST", "https://drover.test/ui/session", from, JSON.stringify({ token }));
    expect(answer.status).toBe(403);
    expect(own.denied.at(-1)).toEqual({ ...read, request: "POST /ui/session", count: 3 });
  });

  test("is not told if it only asks for what does not exist", async () => {
    const own = createEdge();
    await as(own, makeToken(own, ["runs:read"])).json(404, "GET", "/v1/runs/nobody");
    expect(own.denied).toEqual([]);
  });
});
