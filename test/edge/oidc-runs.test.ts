import { createRemoteJWKSet, decodeJwt, type JWTPayload, jwtVerify } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "./support/edge.ts";
import { DISCOVERY, Issuer, JWKS } from "./support/issuer.ts";
import { type Server, startServer } from "./support/server.ts";

// Tokens in and out with the real Worker, a real machine and a real issuer: a CI job submits a run, and the
// run proves to others who it is.

let server: Server;
let issuer: Issuer;
beforeAll(async () => {
  server = await startServer({ allowLocalIssuers: true });
  issuer = await Issuer.start();
});
afterAll(async () => {
  await issuer.stop();
  await server.stop();
});

/** What a command does that asks for a token, as a script of Node: this machine may have no curl. */
const ASK = (audience: string) => `
  const { DROVER_OIDC_URL: url, DROVER_OIDC_REQUEST_TOKEN: token } = process.env;
  const headers = { authorization: "Bearer " + token };
  const answer = await fetch(url + "?audience=${audience}", { headers });
  // Its output masks the token, in every usual form, but not backwards.
  const backwards = [...token].reverse().join("");
  console.log(JSON.stringify({ status: answer.status, body: await answer.json(), url, backwards }));
`;
const script = (code: string) => [process.execPath, "--input-type=module", "-e", code];

/** Runs a command to its end, and returns what it said on its output. */
async function said(spec: object, headers: Record<string, string> = {}): Promise<{ run: Json; out: string }> {
  const { id } = await server.json(201, "POST", "/v1/runs", spec, headers);
  const run = await server.json(200, "GET", `/v1/runs/${id}?wait=60s&state=done`);
  expect(run).toMatchObject({ state: "complete" });
  const out = await (await server.call("GET", `/v1/runs/${id}/logs/main/stdout`)).text();
  return { run, out };
}

/** Verifies a token as a cloud does: with nothing but the name of the issuer. */
async function verified(token: string, audience: string): Promise<JWTPayload> {
  const document: Json = await (await fetch(`${server.url}${DISCOVERY}`)).json();
  expect(document.issuer).toBe(server.url);
  const keys = createRemoteJWKSet(new URL(document.jwks_uri));
  const options = {
    issuer: server.url,
    audience,
    algorithms: document.id_token_signing_alg_values_supported,
  };
  return (await jwtVerify(token, keys, options)).payload;
}

describe("a run with `identity` (oidc.md#out)", () => {
  test("gets a token that others can verify, for one audience, with what it is", async () => {
    const labels = { team: "x" };
    const { run, out } = await said({ argv: script(ASK("sts.amazonaws.com")), identity: true, labels });
    const { status, body, url } = JSON.parse(out);
    expect({ status, body }).toMatchObject({ status: 200 });
    expect(url).toBe(`${server.url}/v1/oidc/token`);
    const claims = await verified(body.value, "sts.amazonaws.com");
    expect(claims).toEqual({
      iss: server.url,
      sub: `pool:default:run:${run.id}`,
      aud: "sts.amazonaws.com",
      iat: expect.any(Number),
      nbf: claims.iat,
      exp: (claims.iat ?? 0) + 600,
      jti: expect.any(String),
      run: run.id,
      project: "default",
      pool: "default",
      worker: run.placements[0].worker,
      task: "main",
      attempt: `${run.id}/main/1.1`,
      labels,
    });
    expect(Date.parse(body.expiresAt)).toBe((claims.exp ?? 0) * 1_000);
    await expect(verified(body.value, "vault")).rejects.toThrow(/aud/);
  });

  test("gets no more tokens once it is over, nor does anybody who changes its request token", async () => {
    const { out } = await said({ argv: script(ASK("vault")), identity: true });
    const token = [...JSON.parse(out).backwards].reverse().join("");
    const ask = async (text: string) => {
      const answer = await server.send("GET", "/v1/oidc/token?audience=vault", {
        authorization: `Bearer ${text}`,
      });
      return { status: answer.status, ...((await answer.json()) as Json) };
    };
    await expect.poll(async () => (await ask(token)).detail).toContain("is over, or is being stopped");
    const other = token.replace("/main/1.1", "/main/1.2");
    expect(await ask(other)).toMatchObject({
      status: 401,
      detail: expect.stringContaining("not the request token"),
    });
    expect(await ask("drvr_nobody")).toMatchObject({ status: 401, code: "unauthorized" });
  });

  test("without it a command has neither the URL nor the request token", async () => {
    const { out } = await said({ argv: ["sh", "-c", "env"] });
    expect(out).not.toContain("DROVER_OIDC");
  });

  test("only those tasks of a group ask that may", async () => {
    const show = ["sh", "-c", 'echo "$DROVER_TASK_NAME ${DROVER_OIDC_REQUEST_TOKEN:+asks}"'];
    const tasks = [
      { name: "main", argv: show, leader: true },
      { name: "first", argv: show, lifecycle: { hook: "prestart" }, identity: false },
    ];
    const { run, out } = await said({ tasks, identity: true });
    expect(out).toBe("main asks\n");
    const first = await server.call("GET", `/v1/runs/${run.id}/logs/first/stdout`);
    expect(await first.text()).toBe("first \n");
  });
});

describe("a job of a trusted issuer", () => {
  const trust = (name: string, more: object = {}) =>
    server.json(201, "PUT", `/v1/trust-rules/${name}`, {
      issuer: issuer.url,
      claims: { repository: "octo/app" },
      preset: "submitter",
      labels: { "gh.repo": "repository", "gh.sha": "sha" },
      ...more,
    });
  const send = async (token: string) => {
    const body = JSON.stringify({ token });
    const answer = await server.send(
      "POST",
      "/v1/oidc/exchange",
      { "content-type": "application/json" },
      body,
    );
    return { status: answer.status, body: (await answer.json()) as Json };
  };

  test("submits a run with the labels of its commit, which asks for a token with them", async () => {
    await trust("ci");
    const jwt = await issuer.token(server.url);
    const { status, body } = await send(jwt);
    expect({ status, body }).toMatchObject({ status: 200, body: { by: "oidc:ci/job-7" } });
    const { run, out } = await said(
      { argv: script(ASK("vault")), identity: true },
      { authorization: `Bearer ${body.token}` },
    );
    const labels = { "gh.repo": "octo/app", "gh.sha": "c0ffee" };
    expect(run.labels).toEqual(labels);
    expect(decodeJwt(JSON.parse(out).body.value)).toMatchObject({ labels });
    expect((await send(jwt)).body.detail).toContain("was exchanged before");
    await server.json(200, "DELETE", "/v1/trust-rules/ci");
    const mine = { authorization: `Bearer ${body.token}` };
    expect((await server.call("GET", "/v1/caller", undefined, mine)).status).toBe(401);
  });

  test("whose command prints its request token shows stars instead (redaction.md#secrets)", async () => {
    const print = 'printf "<%s>" "$DROVER_OIDC_REQUEST_TOKEN"';
    const { out } = await said({ argv: ["sh", "-c", print], identity: true });
    expect(out).toMatch(/^<\*{40,}>$/);
  });

  test.each<[string, string, (one: Issuer) => void]>([
    ["HTML instead of keys", "is not JSON", (one) => one.instead.set(JWKS, (_, res) => res.end("<html>"))],
    [
      "a redirect",
      "redirects",
      (one) => one.instead.set(DISCOVERY, (_, res) => res.writeHead(302, { location: one.url }).end()),
    ],
    ["silence", "did not answer within 5 s", (one) => one.instead.set(JWKS, () => undefined)],
    [
      "2 GB",
      "more than 256KiB",
      (one) =>
        one.instead.set(JWKS, (_, res) => {
          const more = () => {
            while (!res.destroyed && res.write("x".repeat(65_536)));
            if (!res.destroyed) res.once("drain", more);
          };
          more();
        }),
    ],
  ])("whose issuer answers with %s waits, and nothing else does", async (_, text, misbehave) => {
    const bad = await Issuer.start();
    try {
      misbehave(bad);
      await trust("bad", { issuer: bad.url });
      const { status, body } = await send(await bad.token(server.url));
      expect({ status, body }).toMatchObject({ status: 503, body: { code: "issuer_unavailable" } });
      expect(body.detail).toContain(text);
      await said({ argv: ["true"] });
    } finally {
      await server.json(200, "DELETE", "/v1/trust-rules/bad");
      await bad.stop();
    }
  });
});
