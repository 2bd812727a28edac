import { createHmac, type webcrypto } from "node:crypto";
import { exportSPKI, importJWK } from "jose";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { as } from "./support/callers.ts";
import { createEdge, type Edge, type Json } from "./support/edge.ts";
import { DISCOVERY, Issuer, JWKS } from "./support/issuer.ts";

// The exchange of an issuer's token for one of this Drover, with a real issuer on loopback.

const URL_HERE = "http://127.0.0.1:8788";
const MINUTE = 60_000;

let issuer: Issuer;
let edge: Edge;
beforeEach(async () => {
  issuer = await Issuer.start();
  edge = createEdge();
  edge.url = URL_HERE;
});
afterEach(async () => {
  vi.useRealTimers();
  await issuer.stop();
});

const LABELS = { "gh.repo": "repository", "gh.sha": "sha", "gh.run": "run_id" };
const trust = (more: object = {}, name = "ci") =>
  edge.json(201, "PUT", `/v1/trust-rules/${name}`, {
    issuer: issuer.url,
    claims: { repository: "octo/*", ref: "refs/heads/main" },
    preset: "submitter",
    labels: LABELS,
    ...more,
  });

/** Sends a token for exchange, from an address of its own. */
let address = 0;
async function send(token: string, more: object = {}): Promise<{ status: number; body: Json }> {
  address += 1;
  const headers = {
    "content-type": "application/json",
    "cf-connecting-ip": `10.1.${address >> 8}.${address & 255}`,
  };
  const answer = await edge.send("POST", "/v1/oidc/exchange", headers, JSON.stringify({ token, ...more }));
  return { status: answer.status, body: await answer.json() };
}
const exchange = async (claims: object = {}, header: object = {}) =>
  send(await issuer.token(URL_HERE, claims as Json, header));

/** Drover's clock from now on; timers stay real. */
const at = (ms: number) => vi.useFakeTimers({ toFake: ["Date"], now: ms });

/** Ways in which an issuer misbehaves, each for the answer at one path. */
type Misbehave = (one: Issuer, path: string) => void;
const html: Misbehave = (one, path) =>
  one.instead.set(path, (_, res) => res.setHeader("content-type", "text/html; charset=utf-8").end("<html>"));
const redirect: Misbehave = (one, path) =>
  one.instead.set(path, (_, res) => res.writeHead(302, { location: `${one.url}/elsewhere` }).end());
const status =
  (code: number): Misbehave =>
  (one, path) =>
    one.instead.set(path, (_, res) => res.writeHead(code).end());
const silent: Misbehave = (one, path) => one.instead.set(path, () => undefined);
const stuck: Misbehave = (one, path) =>
  one.instead.set(path, (_, res) => res.writeHead(200).write('{"keys":['));
const saying =
  (body: (one: Issuer) => object): Misbehave =>
  (one, path) =>
    one.instead.set(path, (_, res) => res.end(JSON.stringify(body(one))));
/** Sends as much as is taken, for ever. */
const endless: Misbehave = (one, path) =>
  one.instead.set(path, (_, res) => {
    const chunk = "x".repeat(64 * 1024);
    const more = () => {
      while (!res.destroyed && res.write(chunk));
      if (!res.destroyed) res.once("drain", more);
    };
    more();
  });

describe("a token of a trusted issuer (oidc.md#exchange)", () => {
  test("is exchanged for a token with the scopes of the rule and labels from the claims", async () => {
    await trust();
    const { status, body } = await exchange();
    const labels = { "gh.repo": "octo/app", "gh.sha": "c0ffee", "gh.run": "4711" };
    expect({ status, body }).toMatchObject({
      status: 200,
      body: {
        token: expect.stringMatching(/^drv_[0-9A-Za-z]{48}$/),
        by: "oidc:ci/job-7",
        rule: "ci",
        scopes: ["runs:read", "runs:logs", "runs:write"],
        limits: { labels },
      },
    });
    const caller = await as(edge, body.token).json(200, "GET", "/v1/caller");
    expect(caller).toMatchObject({ by: "oidc:ci/job-7", limits: { labels }, expiresAt: body.expiresAt });
    const lifeMs = Date.parse(body.expiresAt) - Date.now();
    expect(lifeMs).toBeGreaterThan(14 * MINUTE);
    expect(lifeMs).toBeLessThanOrEqual(15 * MINUTE);
  });

  test("gives runs its labels, and shows no others", async () => {
    await trust();
    edge.addRun("other");
    const mine = as(edge, (await exchange()).body.token);
    const run = await mine.json(201, "POST", "/v1/runs", { argv: ["true"], labels: { "gh.sha": "c0ffee" } });
    expect(run.spec.labels).toEqual({ "gh.repo": "octo/app", "gh.sha": "c0ffee", "gh.run": "4711" });
    await mine.json(404, "GET", "/v1/runs/other");
    expect(
      (await mine.send("POST", "/v1/runs", { argv: ["true"], labels: { "gh.sha": "else" } })).status,
    ).toBe(403);
  });

  test("is good for one exchange, by its `jti`, whatever else is different", async () => {
    await trust();
    const claims = { jti: "once" };
    expect((await exchange(claims)).status).toBe(200);
    const again = await exchange({ ...claims, sub: "other" });
    expect(again).toMatchObject({ status: 401, body: { code: "unauthorized" } });
    expect(again.body.detail).toContain("was exchanged before");
  });

  test("may have its audience in a list of one", async () => {
    await trust();
    expect((await exchange({ aud: [URL_HERE] })).status).toBe(200);
  });

  test("without a `jti` is good for one exchange, by what is signed", async () => {
    await trust();
    const token = await issuer.token(URL_HERE, { jti: undefined } as Json);
    expect((await send(token)).status).toBe(200);
    expect((await send(token)).body.detail).toContain("was exchanged before");
    expect((await exchange({ jti: undefined, sub: "job-8" })).status).toBe(200);
  });

  test("cannot be exchanged again as long as it is valid, even when the given token is not", async () => {
    await trust({ lifetime: "1m" });
    const now = Date.now();
    const claims = { jti: "long", exp: Math.floor(now / 1_000) + 3_600 };
    expect((await exchange(claims)).status).toBe(200);
    at(now + 59 * MINUTE);
    expect((await exchange(claims)).body.detail).toContain("was exchanged before");
    expect(await edge.json(200, "GET", "/v1/tokens")).toEqual({ items: [], next: null });
  });

  test("is not valid after the end of the given token, and leaves no row behind", async () => {
    await trust();
    const now = Date.now();
    const { token } = (await exchange()).body;
    expect((await edge.json(200, "GET", "/v1/tokens")).items).toMatchObject([
      { name: "oidc:ci/job-7", rule: "ci" },
    ]);
    at(now + 15 * MINUTE + 1_000);
    await as(edge, token).json(401, "GET", "/v1/caller");
    expect((await edge.json(200, "GET", "/v1/tokens")).items).toEqual([]);
  });

  test("many tokens of one job are valid at the same time", async () => {
    await trust();
    const tokens = await Promise.all([1, 2, 3].map(async () => (await exchange()).body.token));
    for (const token of tokens) await as(edge, token).json(200, "GET", "/v1/caller");
    expect((await edge.json(200, "GET", "/v1/tokens")).items).toHaveLength(3);
  });

  test("needs a rule by name if several accept it", async () => {
    await trust();
    await trust({ labels: {}, preset: "viewer" }, "watch");
    const token = await issuer.token(URL_HERE);
    expect(await send(token)).toMatchObject({ status: 400, body: { errors: [{ pointer: "/rule" }] } });
    expect((await send(token, { rule: "watch" })).body).toMatchObject({ rule: "watch", limits: {} });
  });

  test("that is sent twice at the same instant is exchanged once", async () => {
    await trust();
    const token = await issuer.token(URL_HERE);
    const answers = await Promise.all(Array.from({ length: 5 }, () => send(token)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401, 401]);
    const refused = answers.filter(({ status }) => status === 401);
    for (const { body } of refused) expect(body.detail).toContain("was exchanged before");
    expect((await edge.json(200, "GET", "/v1/tokens")).items).toHaveLength(1);
  });

  test("that names no key is judged by the only one of its kind", async () => {
    await trust();
    await issuer.add("second", "ES256");
    expect((await exchange({}, { kid: undefined })).status).toBe(200);
  });

  test.each(["ES256", "PS256", "EdDSA"])("may be signed with %s", async (alg) => {
    await trust();
    await issuer.rotate("other", alg);
    expect((await exchange({}, { alg })).status).toBe(200);
  });

  test("a deleted rule ends the tokens that it gave (oidc.md#trust-rules)", async () => {
    await trust();
    const { token } = (await exchange()).body;
    await edge.json(200, "DELETE", "/v1/trust-rules/ci");
    await as(edge, token).json(401, "GET", "/v1/caller");
    expect((await exchange()).body.detail).toContain("no trust rule names");
  });

  test("can be revoked by its id, and cannot be rotated", async () => {
    await trust();
    const { token } = (await exchange()).body;
    const id = token.slice(4, 14);
    await edge.json(409, "POST", `/v1/tokens/${id}/rotate`, {});
    await edge.json(200, "DELETE", `/v1/tokens/${id}`);
    await as(edge, token).json(401, "GET", "/v1/caller");
  });
});

describe("a bad token is refused, with what is wrong (oidc.md#verification)", () => {
  const seconds = (ms = 0) => Math.floor((Date.now() + ms) / 1_000);
  const unsigned = (header: object) => (token: string) => {
    const [, payload = ""] = token.split(".");
    return `${Buffer.from(JSON.stringify(header)).toString("base64url")}.${payload}.`;
  };

  test.each<[string, number, string, () => Promise<string> | string]>([
    ["no JWT", 401, "is not a JWT", () => "hello"],
    ["two parts", 401, "is not a JWT", () => "e30.e30"],
    ["parts that are no JSON", 401, "is not a JWT", () => "AAAA.AAAA.AAAA"],
    ["alg none", 401, "is not signed", async () => unsigned({ alg: "none" })(await issuer.token(URL_HERE))],
    ["alg NoNe", 401, "is not signed", async () => unsigned({ alg: "NoNe" })(await issuer.token(URL_HERE))],
    [
      "HS256 with the public key",
      401,
      "signed with a shared secret (HS256)",
      async () => {
        const [key = {}] = issuer.keys;
        const spki = await exportSPKI(
          (await importJWK(key, "RS256", { extractable: true })) as webcrypto.CryptoKey,
        );
        const body = unsigned({ alg: "HS256", kid: "first" })(await issuer.token(URL_HERE)).slice(0, -1);
        return `${body}.${createHmac("sha256", spki).update(body).digest("base64url")}`;
      },
    ],
    [
      "another signature",
      401,
      "is not genuine",
      async () => {
        const [one, other] = [await issuer.token(URL_HERE), await issuer.token(URL_HERE)];
        return `${one.slice(0, one.lastIndexOf("."))}${other.slice(other.lastIndexOf("."))}`;
      },
    ],
    [
      "claims that were changed",
      401,
      "is not genuine",
      async () => {
        const [header, payload = "", signature] = (await issuer.token(URL_HERE)).split(".");
        const claims = JSON.parse(Buffer.from(payload, "base64url").toString());
        const other = Buffer.from(JSON.stringify({ ...claims, repository: "octo/evil" })).toString(
          "base64url",
        );
        return `${header}.${other}.${signature}`;
      },
    ],
    [
      "another audience",
      401,
      `ask its issuer for one for ${URL_HERE}`,
      () => issuer.token("sts.amazonaws.com"),
    ],
    ["no audience", 401, "has no `aud`", () => issuer.token(URL_HERE, { aud: undefined } as Json)],
    ["an audience that is a number", 401, "is no text", () => issuer.token(URL_HERE, { aud: 5 } as Json)],
    [
      "an audience that is an object",
      401,
      "is no text",
      () => issuer.token(URL_HERE, { aud: { a: 1 } } as Json),
    ],
    ["no audience in a list", 401, "has no `aud`", () => issuer.token(URL_HERE, { aud: [] })],
    [
      "an audience of somebody else besides",
      401,
      "is for several audiences",
      () => issuer.token(URL_HERE, { aud: [URL_HERE, "sts.amazonaws.com"] }),
    ],
    ["an audience with a slash more", 401, "is for another audience", () => issuer.token(`${URL_HERE}/`)],
    ["no issuer", 401, "has no issuer", () => issuer.token(URL_HERE, { iss: undefined } as Json)],
    [
      "an unknown issuer",
      401,
      "which no trust rule names",
      () => issuer.token(URL_HERE, { iss: "https://e.vil" }),
    ],
    [
      "an issuer with a slash more",
      401,
      "which no trust rule names",
      () => issuer.token(URL_HERE, { iss: `${issuer.url}/` }),
    ],
    ["expired", 401, "has expired", () => issuer.token(URL_HERE, { exp: seconds(-61_000) })],
    ["no end", 401, "has no `exp`", () => issuer.token(URL_HERE, { exp: undefined } as Json)],
    [
      "an end that is a text",
      401,
      "has a `exp` of the wrong kind",
      () => issuer.token(URL_HERE, { exp: "1" } as Json),
    ],
    [
      "an end in years",
      401,
      "is valid for more than 24 h",
      () => issuer.token(URL_HERE, { exp: seconds(25 * 3_600_000) }),
    ],
    ["not valid yet", 401, "is not valid yet", () => issuer.token(URL_HERE, { nbf: seconds(63_000) })],
    ["from the future", 401, "is from the future", () => issuer.token(URL_HERE, { iat: seconds(63_000) })],
    ["no time of issue", 401, "has no `iat`", () => issuer.token(URL_HERE, { iat: undefined } as Json)],
    [
      "a key that is not published",
      401,
      "names a key that http://127.0.0.1",
      () => issuer.token(URL_HERE, {}, { key: "first", kid: "second" }),
    ],
    [
      "no key named, of an issuer with several",
      401,
      "does not say which key signed it (`kid`)",
      async () => {
        await issuer.add("second");
        return issuer.token(URL_HERE, {}, { kid: undefined } as Json);
      },
    ],
    [
      "a critical extension",
      401,
      "has a form that is not accepted",
      async () => {
        const header = { alg: "RS256", kid: "first", crit: ["x"], x: 1 };
        return `${unsigned(header)(await issuer.token(URL_HERE))}AAAA`;
      },
    ],
    [
      "claims that no rule has",
      403,
      'repository "octo/app"',
      () => issuer.token(URL_HERE, { ref: "refs/heads/x" }),
    ],
    [
      "a claim that begins right",
      403,
      "no trust rule accepts",
      () => issuer.token(URL_HERE, { ref: "refs/heads/main2" }),
    ],
    [
      "no claim for a label",
      403,
      'needs the claim "sha"',
      () => issuer.token(URL_HERE, { sha: undefined } as Json),
    ],
    ["a label that is an object", 403, 'needs the claim "sha"', () => issuer.token(URL_HERE, { sha: {} })],
    ["a label that is too long", 403, "do not fit", () => issuer.token(URL_HERE, { sha: "x".repeat(1_025) })],
  ])("%s", async (_, status, text, make) => {
    await trust();
    const token = await make();
    const answer = await send(token);
    expect(answer).toMatchObject({ status, body: { code: status === 401 ? "unauthorized" : "not_trusted" } });
    expect(answer.body.detail).toContain(text);
    expect(JSON.stringify(answer.body)).not.toContain(token);
    expect(edge.runs.size).toBe(0);
  });

  test("a body that no token needs is refused before it is read as one", async () => {
    const body = JSON.stringify({ token: "x".repeat(64 * 1024) });
    const answer = await edge.send("POST", "/v1/oidc/exchange", { "content-type": "application/json" }, body);
    expect(answer.status).toBe(413);
  });

  test("a clock that is off by less than a minute is forgiven", async () => {
    await trust();
    expect((await exchange({ exp: seconds(-50_000) })).status).toBe(200);
    expect((await exchange({ iat: seconds(50_000), nbf: seconds(50_000) })).status).toBe(200);
  });

  test("bad tokens from one address are slowed down, and good ones from there are not", async () => {
    await trust();
    const headers = { "content-type": "application/json", "cf-connecting-ip": "192.0.2.1" };
    const from = (token: string) =>
      edge.send("POST", "/v1/oidc/exchange", headers, JSON.stringify({ token }));
    for (let n = 0; n < 20; n += 1) expect((await from(await issuer.token(URL_HERE))).status).toBe(200);
    at(Date.now()); // or one would be free again before all are sent
    const calls = () => edge.calls.length;
    const before = calls();
    const seen = [];
    for (let n = 0; n < 12; n += 1) seen.push((await from("hello")).status);
    expect(seen).toEqual([...Array(10).fill(401), 429, 429]);
    const { headers: told } = await from("hello");
    expect(told.get("ratelimit-policy")).toBe('"requests";q=10;w=60');
    expect(told.get("ratelimit")).toBe('"requests";r=0;t=60');
    expect(calls()).toBe(before);
  });

  describe("of 50 tokens that come at once from one address", () => {
    const headers = { "content-type": "application/json", "cf-connecting-ip": "192.0.2.1" };
    const from = (token: string) =>
      edge.send("POST", "/v1/oidc/exchange", headers, JSON.stringify({ token }));
    const tokens = (claims: object) =>
      Promise.all(Array.from({ length: 50 }, () => issuer.token(URL_HERE, claims as Json)));
    const statuses = (answers: Response[]) => answers.map(({ status }) => status).sort();

    test("ten bad ones are looked at, and the others are turned away (access.md#rate-limits)", async () => {
      await trust();
      const bad = await tokens({ ref: "refs/heads/other" });
      at(Date.now());
      const answers = await Promise.all(bad.map(from));
      expect(statuses(answers)).toEqual([...Array(10).fill(403), ...Array(40).fill(429)]);
      const [good = ""] = await tokens({});
      expect((await from(good)).status).toBe(429);
    });

    test("good ones are all exchanged, ten at a time: the others may come again in a second", async () => {
      await trust();
      let left = await tokens({});
      at(Date.now());
      for (let tries = 0; left.length > 0 && tries < 5; tries += 1) {
        const answers = await Promise.all(left.map(from));
        const refused = answers.filter(({ status }) => status !== 200);
        expect(refused.map((one) => [one.status, one.headers.get("retry-after")])).toEqual(
          refused.map(() => [429, "1"]),
        );
        left = left.filter((_, index) => answers[index]?.status !== 200);
      }
      expect(left).toEqual([]);
    });
  });
});

describe("a token that brings its own key (oidc.md#verification)", () => {
  test.each<[string, (evil: Issuer) => object]>([
    ["as `jwk`", ({ keys: [jwk] }) => ({ jwk })],
    ["as `jku`", ({ url }) => ({ jku: `${url}${JWKS}` })],
    ["as `x5u`", ({ url }) => ({ x5u: `${url}${JWKS}` })],
    ["as `x5c`", () => ({ x5c: ["AAAA"] })],
    ["by a name that is an address", ({ url }) => ({ kid: `${url}${JWKS}` })],
  ])("%s is judged by the keys of its issuer, and nobody else is asked", async (_, header) => {
    const evil = await Issuer.start();
    onTestFinished(() => evil.stop());
    await trust();
    const forged = await evil.token(URL_HERE, { iss: issuer.url }, { key: "first", ...header(evil) });
    expect(await send(forged)).toMatchObject({ status: 401, body: { code: "unauthorized" } });
    expect(evil.asked).toEqual([]);
    const odd = await issuer.token(URL_HERE, {}, { ...header(evil), kid: "first" });
    expect((await send(odd)).status).toBe(200);
    expect(evil.asked).toEqual([]);
  });
});

describe("an issuer (oidc.md#keys)", () => {
  const failing = async () => {
    const { status, body } = await exchange();
    expect({ status, body }).toMatchObject({
      status: 503,
      body: { code: "issuer_unavailable", temporary: true },
    });
    return body.detail;
  };

  test("on a local address is not asked without leave for that (webhooks.md#addresses)", async () => {
    await trust();
    edge.allowsLocalIssuers = false;
    expect(await failing()).toContain("the URL of the issuer must have a name, and not an IP address");
    expect(issuer.asked).toEqual([]);
    const answer = await edge.call("PUT", "/v1/trust-rules/two", {
      issuer: issuer.url,
      claims: { sub: "x" },
      preset: "viewer",
    });
    expect(answer.status).toBe(400);
  });

  test("is asked once in 10 min", async () => {
    await trust();
    const now = Date.now();
    for (let n = 0; n < 3; n += 1) expect((await exchange()).status).toBe(200);
    expect(issuer.asked).toEqual([DISCOVERY, JWKS]);
    at(now + 10 * MINUTE + 1_000);
    expect((await exchange()).status).toBe(200);
    expect(issuer.asked).toHaveLength(4);
  });

  test("that has another key is asked again for it, once a minute at most", async () => {
    await trust();
    const now = Date.now();
    await exchange();
    await issuer.rotate("second");
    expect((await exchange()).body.detail).toContain("does not publish");
    expect(issuer.asked).toHaveLength(2);
    at(now + MINUTE + 1_000);
    expect((await exchange()).status).toBe(200);
    expect((await exchange({}, { key: "first" })).body.detail).toContain("does not publish");
    expect(issuer.asked).toHaveLength(4);
  });

  const elsewhere = saying(({ url }) => ({ issuer: "https://e.vil", jwks_uri: `${url}${JWKS}` }));
  const nowhere = saying(({ url }) => ({ issuer: url }));
  const byHttp = saying(({ url }) => ({ issuer: url, jwks_uri: "http://e.vil/keys" }));
  const byAddress = saying(({ url }) => ({ issuer: url, jwks_uri: "https://8.8.8.8/keys" }));
  test.each<[string, string, string, Misbehave]>([
    ["a document that is HTML", DISCOVERY, "is not JSON, but text/html", html],
    ["a key set that is HTML", JWKS, "is not JSON, but text/html", html],
    ["a redirect of the document", DISCOVERY, "redirects", redirect],
    ["a redirect of the keys", JWKS, "redirects", redirect],
    ["an error", JWKS, "has status 500", status(500)],
    ["a document without end", DISCOVERY, "more than 256KiB", endless],
    ["a key set without end", JWKS, "more than 256KiB", endless],
    ["an answer that never comes", DISCOVERY, "did not answer within 5 s", silent],
    ["an answer that never ends", JWKS, "did not answer within 5 s", stuck],
    ["a document about another issuer", DISCOVERY, "is about another issuer", elsewhere],
    ["a document without keys", DISCOVERY, "names no", nowhere],
    ["keys that are elsewhere by http", DISCOVERY, "must be an https URL", byHttp],
    ["keys at an address without a name", DISCOVERY, "not an IP address", byAddress],
    ["an empty key set", JWKS, "has no set of keys", saying(() => ({ keys: [] }))],
    ["a list instead of a key set", JWKS, "has no set of keys", saying(() => [])],
  ])("that has %s is unavailable, and says why", async (_, path, text, misbehave) => {
    await trust();
    misbehave(issuer, path);
    const detail = await failing();
    expect(detail).toContain(path);
    expect(detail).toContain(text);
    expect(edge.runs.size).toBe(0);
  });

  test("that is away is not asked for each token, and is used when it is back", async () => {
    await trust();
    const now = Date.now();
    issuer.instead.set(DISCOVERY, (_, res) => void res.writeHead(503).end());
    await failing();
    await failing();
    expect(issuer.asked).toEqual([DISCOVERY]);
    issuer.instead.clear();
    at(now + 11_000);
    expect((await exchange()).status).toBe(200);
  });

  test("that is away for a key that nobody knows is still good by the keys that are remembered", async () => {
    await trust();
    const now = Date.now();
    await exchange();
    at(now + MINUTE + 1_000);
    issuer.instead.set(DISCOVERY, (_, res) => void res.writeHead(503).end());
    const madeUp = () => exchange({}, { key: "first", kid: "made-up" });
    for (let tries = 0; tries < 3; tries += 1) {
      expect(await madeUp()).toMatchObject({ status: 503, body: { code: "issuer_unavailable" } });
      expect(await exchange()).toMatchObject({ status: 200 });
    }
    expect(issuer.asked).toEqual([DISCOVERY, JWKS, DISCOVERY]);
    at(now + 10 * MINUTE + 1_000);
    expect(await exchange()).toMatchObject({ status: 503, body: { code: "issuer_unavailable" } });
    issuer.instead.clear();
    at(now + 11 * MINUTE);
    expect(await exchange()).toMatchObject({ status: 200 });
  });

  test("that does not listen is unavailable", async () => {
    await trust();
    const token = await issuer.token(URL_HERE);
    await issuer.stop();
    expect(await send(token)).toMatchObject({ status: 503, body: { code: "issuer_unavailable" } });
  });
});
