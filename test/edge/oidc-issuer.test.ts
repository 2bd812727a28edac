import { createLocalJWKSet, jwtVerify } from "jose";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { KeyCalls } from "../../src/objects/registry/key-calls.ts";
import { requestToken } from "../../src/signing/attempt-token.ts";
import { registryOf } from "../core/support/registry.ts";
import { createEdge, DROVER_URL, type Edge, type Json } from "./support/edge.ts";

// Drover as an issuer, over tables in memory: its routes, the rotation of its keys, and who gets no token.

const DAY = 24 * 3_600_000;
const T0 = Date.now();
const at = (ms: number) => vi.useFakeTimers({ toFake: ["Date"], now: ms });

let edge: Edge;
beforeEach(() => {
  edge = createEdge();
  edge.addRun("build-17");
  edge.live.add("build-17/main/1.1");
});
afterEach(() => {
  vi.useRealTimers();
});

const setIdentity = (identity: boolean | undefined) => {
  const run = edge.runs.get("build-17");
  if (run !== undefined) run.status = { ...run.status, spec: { ...run.status.spec, identity } };
};
const TOKEN = requestToken(new Uint8Array(32), "w1", "build-17/main/1.1");

/** Asks as a command does. */
async function ask(query = "?audience=vault", token = TOKEN): Promise<{ status: number; body: Json }> {
  const headers = { authorization: `Bearer ${token}`, "cf-connecting-ip": "192.0.2.7" };
  const answer = await edge.send("GET", `/v1/oidc/token${query}`, headers);
  return { status: answer.status, body: await answer.json() };
}
const keySet = async (): Promise<Json> => (await edge.send("GET", "/.well-known/jwks.json", {})).json();
const kids = async () => (await keySet()).keys.map(({ kid }: Json) => kid);
/** Verifies with a key set that was read at some time. */
const verified = async (value: string, keys: Json) =>
  jwtVerify(value, createLocalJWKSet(keys), {
    issuer: DROVER_URL,
    audience: "vault",
    currentDate: new Date(Date.now()),
  });

describe("Drover as an issuer (oidc.md#out)", () => {
  test("says where its keys are, to anybody, and for how long that may be kept", async () => {
    const answer = await edge.send("GET", "/.well-known/openid-configuration", {});
    expect(answer.headers.get("cache-control")).toBe("public, max-age=300");
    expect(await answer.json()).toMatchObject({
      issuer: DROVER_URL,
      jwks_uri: `${DROVER_URL}/.well-known/jwks.json`,
      id_token_signing_alg_values_supported: ["RS256"],
    });
    const keys = await edge.send("GET", "/.well-known/jwks.json", {});
    expect(keys.headers.get("cache-control")).toBe("public, max-age=300");
    const shown = { kty: "RSA", use: "sig", alg: "RS256", e: "AQAB" };
    expect(await keys.json()).toEqual({
      keys: [{ ...shown, kid: expect.any(String), n: expect.stringMatching(/^[\w-]{342}$/) }],
    });
  });

  test.each([
    ["default", "build-18", "pool:shared:run:build-18"],
    ["ml", "ml.build-18", "project:ml:pool:shared:run:ml.build-18"],
  ])(
    "names a run of the project %s by a subject that is no other's (projects.md#runs)",
    async (project, id, sub) => {
      const { status } = edge.addRun(id, { project, pool: "shared" });
      const run = edge.runs.get(id);
      if (run !== undefined) run.status = { ...status, spec: { ...status.spec, identity: true } };
      edge.live.add(`${id}/main/1.1`);
      const { body } = await ask("?audience=vault", requestToken(new Uint8Array(32), "w1", `${id}/main/1.1`));
      const { payload } = await verified(body.value, await keySet());
      expect(payload).toMatchObject({ sub, project, run: id, pool: "shared" });
    },
  );

  test("that does not know its URL is none", async () => {
    edge.url = "";
    expect((await edge.send("GET", "/.well-known/openid-configuration", {})).status).toBe(404);
  });

  test("signs nothing without a key that seals its own, and says how to make one", async () => {
    const keys = new KeyCalls({ enter: () => registryOf(null), now: () => T0 }, {});
    await expect(keys.keys()).rejects.toMatchObject({
      code: "no_wrapping_key",
      message: expect.stringContaining("npx wrangler secret put DROVER_KEK_1"),
    });
  });

  test("changes its key after 30 days, and tokens of both are verified (oidc.md#rotation)", async () => {
    setIdentity(true);
    const first = await ask();
    const [old] = await kids();
    await verified(first.body.value, await keySet());
    at(T0 + 29 * DAY + 60_000);
    const [next, stays] = await kids();
    expect(stays).toBe(old);
    const early = await keySet();
    expect((await verified((await ask()).body.value, early)).protectedHeader.kid).toBe(old);
    at(T0 + 30 * DAY + 60_000);
    expect((await verified((await ask()).body.value, early)).protectedHeader.kid).toBe(next);
    expect(await kids()).toEqual([next, old]);
    at(T0 + 30 * DAY + 3 * 3_600_000);
    expect(await kids()).toEqual([next]);
  });

  test("replaces its keys at once, and nobody verifies its former tokens (oidc.md#replacement)", async () => {
    setIdentity(true);
    const first = await ask();
    const [old] = await kids();
    const replaced = await edge.json(200, "POST", "/v1/issuer/keys/replace");
    expect(replaced.kid).not.toBe(old);
    expect(await kids()).toEqual([replaced.kid]);
    await expect(verified(first.body.value, await keySet())).rejects.toThrow("no applicable key");
    expect((await verified((await ask()).body.value, await keySet())).protectedHeader.kid).toBe(replaced.kid);
  });

  test("asks the registry for its keys once in 5 min", async () => {
    setIdentity(true);
    for (let n = 0; n < 5; n += 1) await ask();
    await keySet();
    expect(edge.calls.filter((call) => call === "registry signingKeys")).toHaveLength(1);
  });
});

describe("a command gets no token (oidc.md#request-tokens)", () => {
  test.each<[string, () => void, string]>([
    ["without `identity`", () => setIdentity(undefined), "does not ask for tokens"],
    ["with `identity: false`", () => setIdentity(false), "does not ask for tokens"],
    ["of a run that has ended", () => edge.setState("build-17", "complete"), "has ended"],
    ["whose attempt is over", () => edge.live.clear(), "not the request token"],
  ])("%s", async (_, change, text) => {
    setIdentity(true);
    expect((await ask()).status).toBe(200);
    change();
    const { status, body } = await ask();
    expect({ status, body }).toMatchObject({ status: 401, body: { code: "unauthorized" } });
    expect(body.detail).toContain(text);
  });

  test("without an audience, or for two", async () => {
    setIdentity(true);
    expect(await ask("")).toMatchObject({ status: 400, body: { errors: [{ pointer: "?audience" }] } });
    expect((await ask("?audience=")).status).toBe(400);
    expect((await ask("?audience=a&audience=b")).status).toBe(400);
  });

  test("by a token of the API, not even the admin's", async () => {
    setIdentity(true);
    expect((await ask("?audience=vault", "drv_token_of_these_tests")).status).toBe(401);
  });

  test("more than 60 times a minute, and another attempt still does", async () => {
    setIdentity(true);
    at(Date.now()); // or some would be free again before all are sent
    const seen = new Set<number>();
    for (let n = 0; n < 61; n += 1) seen.add((await ask()).status);
    expect(seen).toEqual(new Set([200, 429]));
    edge.live.add("build-17/main/1.2");
    const other = requestToken(new Uint8Array(32), "w1", "build-17/main/1.2");
    expect((await ask("?audience=vault", other)).status).toBe(200);
  });
});
