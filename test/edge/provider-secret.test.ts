import { describe, expect, test } from "vitest";
import { createEdge, type Edge, type Json } from "./support/edge.ts";

// Who may name a secret of this Drover as the secret of a pool's provider (secrets.md#providers)?

const config = (secret?: unknown, url = "http://cloud.test/") => ({
  provider: { kind: "http", url, secret },
  instanceTypes: { a: { vcpus: 1, memory: "1GiB" } },
});

/** An edge with one secret, and a token that may do this. */
async function edgeWith(token: object): Promise<{ edge: Edge; headers: Record<string, string> }> {
  const edge = createEdge();
  await edge.json(200, "PUT", "/v1/secrets/cloud", { value: "the-value-of-the-cloud", use: "provider" });
  const made = await edge.json(201, "POST", "/v1/tokens", { name: "t", ...token });
  return { edge, headers: { authorization: `Bearer ${made.token}` } };
}

describe("a pool names a secret", () => {
  const named = { secret: "cloud" };
  test.each<[string, object, unknown, string]>([
    ["with the scope", { scopes: ["pools:write", "secrets:use"] }, named, "201"],
    ["without the scope", { scopes: ["pools:write"] }, named, "403 missing_scope /provider/secret"],
    ["not at all, without the scope", { scopes: ["pools:write"] }, "a-text", "201"],
    [
      "that the token's limits name",
      { scopes: ["pools:write", "secrets:use"], limits: { pools: ["new"], secrets: ["cloud"] } },
      named,
      "201",
    ],
    [
      "that the token's limits do not name",
      { scopes: ["pools:write", "secrets:use"], limits: { pools: ["new"], secrets: ["other"] } },
      named,
      "403 beyond_limits /provider/secret",
    ],
    [
      "with its project",
      { scopes: ["pools:write", "secrets:use"] },
      { ...named, project: "default" },
      "400 invalid_request /provider/secret/project",
    ],
  ])("%s", async (_, token, secret, expected) => {
    const { edge, headers } = await edgeWith(token);
    const answer = await edge.call("PUT", "/v1/pools/new", config(secret), headers);
    const { code, errors } = (await answer.json()) as Json;
    const parts = [answer.status, code, errors?.[0]?.pointer];
    expect(parts.filter((part) => part !== undefined).join(" ")).toBe(expected);
  });

  test("and only the name is stored, with the caller's project", async () => {
    const { edge } = await edgeWith({ preset: "viewer" });
    await edge.json(201, "PUT", "/v1/pools/new", config(named));
    expect(edge.pools.get("new")?.provider).toMatchObject({
      secret: { secret: "cloud", project: "default" },
    });
    await edge.json(200, "PUT", "/v1/pools/new", { ...config(), maxInstances: 3 });
    expect(edge.pools.get("new")?.provider).toMatchObject({
      secret: { secret: "cloud", project: "default" },
    });
  });
});
