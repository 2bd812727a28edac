import { describe, expect, test } from "vitest";
import { as, makeToken } from "./support/callers.ts";
import { createEdge, DROVER_URL } from "./support/edge.ts";

// Who may make, change and delete trust rules, and which rules make no sense.

const GITHUB = "https://token.actions.githubusercontent.com";
const RULE = { issuer: GITHUB, claims: { repository_id: "1296269" }, preset: "submitter" };
const MINUTE = 60_000;

const put = (edge: ReturnType<typeof createEdge>, token: string, body: object, name = "ci") =>
  as(edge, token).send("PUT", `/v1/trust-rules/${name}`, body);

describe("a trust rule (oidc.md#trust-rules)", () => {
  test("is created with what fits its issuer, changed, shown and deleted", async () => {
    const edge = createEdge();
    const created = await edge.json(201, "PUT", "/v1/trust-rules/ci", RULE);
    expect(created).toMatchObject({
      name: "ci",
      issuer: GITHUB,
      audience: DROVER_URL,
      scopes: ["runs:read", "runs:logs", "runs:write"],
      limits: {},
      labels: { "gh.repo": "repository", "gh.sha": "sha", "gh.run": "run_id" },
      lifetime: "15m",
      createdBy: "admin",
      expiresAt: null,
    });
    expect(created).not.toHaveProperty("version");
    const more = { ...RULE, audience: "drover", labels: {}, preset: "operator", lifetime: "1h" };
    const changed = await edge.json(200, "PUT", "/v1/trust-rules/ci", more);
    expect(changed).toMatchObject({ audience: "drover", labels: {}, lifetime: "1h" });
    expect(changed.scopes).toContain("workers:write");
    expect(await edge.json(200, "GET", "/v1/trust-rules")).toEqual({ items: [changed], next: null });
    expect(await edge.json(200, "GET", "/v1/trust-rules/ci")).toEqual(changed);
    await edge.json(200, "DELETE", "/v1/trust-rules/ci");
    await edge.json(404, "DELETE", "/v1/trust-rules/ci");
    await edge.json(404, "GET", "/v1/trust-rules/ci");
  });

  test.each<[string, object, string, string]>([
    [
      "of all of GitHub",
      { claims: { ref: "refs/heads/main" } },
      "/claims",
      "anybody can get tokens of GitHub",
    ],
    ["without claims", { claims: {} }, "/claims", "at least 1 entry"],
    ["by `sub` of GitHub", { claims: { repository_id: "1", sub: "x" } }, "/claims/sub", "several formats"],
    ["of an issuer by http", { issuer: "http://ci.example.com" }, "/issuer", "must be an https URL"],
    ["of an issuer with a query", { issuer: `${GITHUB}?x` }, "/issuer", "without user name, query"],
    ["without scopes", { preset: undefined }, "/scopes", "is empty"],
    [
      "with scopes that labels do not confine",
      { scopes: ["enroll"] },
      "/scopes",
      "no limit to labels confines",
    ],
    [
      "with scopes that pools do not confine",
      { labels: {}, scopes: ["tokens:write"], limits: { pools: ["default"] } },
      "/scopes",
      "no limit to pools confines",
    ],
    [
      "with a label that is fixed and from a claim",
      { limits: { labels: { "gh.sha": "x" } } },
      "/labels/gh.sha",
      "has a fixed value",
    ],
    ["of seconds", { lifetime: "10s" }, "/lifetime", "must be from 1m to 1d"],
    ["of days", { lifetime: "25h" }, "/lifetime", "must be from 1m to 1d"],
    ["with the scope that cannot be granted", { scopes: ["admin"] }, "/scopes/0", "must be one of"],
  ])("%s is refused", async (_, more, pointer, detail) => {
    const edge = createEdge();
    const body = await edge.json(400, "PUT", "/v1/trust-rules/ci", { ...RULE, ...more });
    expect(body.errors).toMatchObject([{ pointer, detail: expect.stringContaining(detail) }]);
    expect((await edge.json(200, "GET", "/v1/trust-rules")).items).toEqual([]);
  });

  test("needs an audience if this Drover does not know its URL", async () => {
    const edge = createEdge();
    edge.url = "";
    const body = await edge.json(400, "PUT", "/v1/trust-rules/ci", RULE);
    expect(body.errors).toMatchObject([{ pointer: "/audience" }]);
    await edge.json(201, "PUT", "/v1/trust-rules/ci", { ...RULE, audience: "drover" });
  });
});

describe("nobody grants by a rule what they lack (access.md#tokens)", () => {
  const boss = ["tokens:write", "runs:read", "runs:logs", "runs:write"] as const;

  test("neither scopes nor limits", async () => {
    const edge = createEdge();
    const low = makeToken(edge, boss, { maxPriority: 50 });
    const wide = await put(edge, low, { ...RULE, preset: undefined, scopes: ["runs:env"] });
    expect(wide.status).toBe(400);
    expect(JSON.stringify(await wide.json())).toContain("does not have");
    expect((await put(edge, low, RULE)).status).toBe(400);
    expect((await put(edge, low, { ...RULE, limits: { maxPriority: 50 } })).status).toBe(201);
  });

  test("nor time: a rule ends with the token of its creator", async () => {
    const edge = createEdge();
    const expiresAt = Date.now() + MINUTE;
    const short = makeToken(edge, boss, {}, { expiresAt });
    const rule = await (await put(edge, short, RULE)).json();
    expect(rule).toMatchObject({ expiresAt: new Date(expiresAt).toISOString() });
  });

  test("and who may do less than a rule can neither change nor delete it", async () => {
    const edge = createEdge();
    await edge.json(201, "PUT", "/v1/trust-rules/ops", { ...RULE, labels: {}, preset: "operator" });
    const low = makeToken(edge, boss);
    expect((await put(edge, low, RULE, "ops")).status).toBe(403);
    expect((await as(edge, low).send("DELETE", "/v1/trust-rules/ops")).status).toBe(403);
    const brief = makeToken(edge, boss, {}, { expiresAt: Date.now() + MINUTE });
    await edge.json(201, "PUT", "/v1/trust-rules/ci", RULE);
    expect((await put(edge, brief, RULE)).status).toBe(403);
    expect((await edge.json(200, "GET", "/v1/trust-rules")).items).toHaveLength(2);
  });
});
