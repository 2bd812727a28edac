import { describe, expect, test } from "vitest";
import { createEdge, type Edge, type Json } from "./support/edge.ts";

// Who may name a secret in a run, and set one (secrets.md#use).

const argv = ["true"];
const secrets = { KEY: { secret: "team-key" } };
/** The credentials of a registry are sent to whatever host the image names, so they count like any secret. */
const container = { image: "registry.attacker.example/x", auth: "team-key" };

/** An edge with one secret, and a token that may do this. */
async function edgeWith(token: object): Promise<{ edge: Edge; headers: Record<string, string> }> {
  const edge = createEdge();
  await edge.json(200, "PUT", "/v1/secrets/team-key", { value: "a value of the team" });
  await edge.json(200, "PUT", "/v1/secrets/cloud", { value: "a value of the cloud", use: "provider" });
  const made = await edge.json(201, "POST", "/v1/tokens", { name: "t", ...token });
  return { edge, headers: { authorization: `Bearer ${made.token}` } };
}

async function outcome(edge: Edge, body: Json, headers: Record<string, string>): Promise<string> {
  const answer = await edge.call("POST", "/v1/runs", body, headers);
  const { code, errors } = (await answer.json()) as Json;
  return [answer.status, code, errors?.[0]?.pointer].filter((part) => part !== undefined).join(" ");
}

describe("a run names a secret", () => {
  const labels = { team: "x" };
  test.each<[string, object, object, string]>([
    ["with the scope", { preset: "submitter" }, { secrets }, "201"],
    ["without it", { scopes: ["runs:write"] }, { secrets }, "403 missing_scope /secrets/KEY"],
    [
      "in a task, without it",
      { scopes: ["runs:write"] },
      { argv: undefined, tasks: [{ name: "a", argv, secrets }] },
      "403 missing_scope /tasks/0/secrets/KEY",
    ],
    [
      "with a preset that is limited to a label",
      { preset: "submitter", limits: { labels } },
      { secrets },
      "403 missing_scope /secrets/KEY",
    ],
    [
      "that its limits name",
      { preset: "submitter", limits: { labels, secrets: ["team-key"] } },
      { secrets },
      "201",
    ],
    [
      "that its limits do not name",
      { preset: "submitter", limits: { labels, secrets: ["other"] } },
      { secrets },
      "403 beyond_limits /secrets/KEY",
    ],
    [
      "that is for providers",
      { preset: "submitter" },
      { secrets: { A: { secret: "cloud" } } },
      "404 unknown_secret /secrets/A",
    ],
    ["for a registry, with the scope", { preset: "submitter" }, { container }, "201"],
    [
      "for a registry, without it",
      { scopes: ["runs:write"] },
      { container },
      "403 missing_scope /container/auth",
    ],
    [
      "for a registry of a task, without it",
      { scopes: ["runs:write"] },
      { argv: undefined, tasks: [{ name: "a", argv, container }] },
      "403 missing_scope /tasks/0/container/auth",
    ],
    [
      "for a registry, that its limits do not name",
      { preset: "submitter", limits: { labels, secrets: ["other"] } },
      { container },
      "403 beyond_limits /container/auth",
    ],
    [
      "for a registry, that is for providers",
      { preset: "submitter" },
      { container: { ...container, auth: "cloud" } },
      "404 unknown_secret /container/auth",
    ],
    [
      "that does not exist",
      { preset: "submitter" },
      { secrets: { A: { secret: "no" } } },
      "404 unknown_secret /secrets/A",
    ],
  ])("%s", async (_, token, spec, expected) => {
    const { edge, headers } = await edgeWith(token);
    expect(await outcome(edge, { argv, ...spec }, headers)).toBe(expected);
  });

  test.each<[string, object, object, string]>([
    ["with the scope", { scopes: ["runs:write", "secrets:use"] }, { secrets }, "200"],
    ["without it", { scopes: ["runs:write"] }, { secrets }, "403 missing_scope /spec/secrets/KEY"],
    [
      "in a task, without it",
      { scopes: ["runs:write"] },
      { argv: undefined, tasks: [{ name: "a", argv, secrets }] },
      "403 missing_scope /spec/tasks/0/secrets/KEY",
    ],
    [
      "that its limits do not name",
      { preset: "submitter", limits: { labels, secrets: ["other"] } },
      { secrets },
      "403 beyond_limits /spec/secrets/KEY",
    ],
    [
      "for a registry, without it",
      { scopes: ["runs:write"] },
      { container },
      "403 missing_scope /spec/container/auth",
    ],
  ])("in an update, %s", async (_, token, spec, expected) => {
    const { edge, headers } = await edgeWith(token);
    const { status } = edge.addRun("mine", { labels });
    const body = { specIndex: 1, spec: { argv, labels, ...spec } };
    const answer = await edge.call("PATCH", "/v1/runs/mine", body, headers);
    const { code, errors } = (await answer.json()) as Json;
    const shown = [answer.status, code, errors?.[0]?.pointer].filter((part) => part !== undefined);
    expect(shown.join(" ")).toBe(expected);
    const isChanged = edge.runs.get("mine")?.status.spec.secrets !== status.spec.secrets;
    if (expected !== "200") expect(isChanged).toBe(false);
  });

  test("the advice names the use: whoever follows it replaces no secret for providers", async () => {
    const { edge, headers } = await edgeWith({ preset: "submitter" });
    const answer = await edge.call(
      "POST",
      "/v1/runs",
      { argv, secrets: { A: { secret: "cloud" } } },
      headers,
    );
    const { errors } = (await answer.json()) as Json;
    expect(errors[0].detail).toContain("`drover secrets set cloud - --use run`");
  });

  test.each<[string, object, string]>([
    [
      "all secrets, with a limit to pools",
      { scopes: ["secrets:use"], limits: { pools: ["default"] } },
      "/scopes",
    ],
    [
      "a limit to secrets without the scope",
      { scopes: ["runs:read"], limits: { secrets: ["a"] } },
      "/limits/secrets",
    ],
    [
      "to set secrets, with a limit to pools",
      { scopes: ["secrets:write"], limits: { pools: ["default"] } },
      "/scopes",
    ],
  ])("no token is made for %s", async (_, token, pointer) => {
    const answer = await createEdge().call("POST", "/v1/tokens", { name: "t", ...token });
    expect(((await answer.json()) as Json).errors).toMatchObject([{ pointer }]);
  });
});

describe("the use of a secret (secrets.md#uses)", () => {
  const use = async (edge: Edge, body: object) => {
    const answer = await edge.call("PUT", "/v1/secrets/a", { value: "correct-horse", ...body });
    const { use: is, version, code } = (await answer.json()) as Json;
    return [answer.status, code, is, version].filter((part) => part !== undefined).join(" ");
  };
  test.each([
    ["run", undefined, "200 run 1"],
    ["provider", "provider", "200 provider 1"],
  ])(
    "is %s if %s is wanted, stays with another value, and cannot become another one",
    async (is, wanted, first) => {
      const edge = createEdge();
      const other = is === "run" ? "provider" : "run";
      expect(await use(edge, wanted === undefined ? {} : { use: wanted })).toBe(first);
      expect(await use(edge, {})).toBe(`200 ${is} 2`);
      expect(await use(edge, { use: is })).toBe(`200 ${is} 3`);
      expect(await use(edge, { use: other })).toBe("409 secret_exists");
      await edge.call("DELETE", "/v1/secrets/a");
      expect(await use(edge, { use: other })).toBe(`200 ${other} 1`);
    },
  );
});

describe("the API of secrets (secrets.md#api)", () => {
  test.each([
    ["empty", { value: "" }],
    ["nothing", {}],
    ["both", { value: "a", base64: "YQ==" }],
    ["no base64", { base64: "?" }],
    ["64 KiB and a byte", { value: "x".repeat(64 * 1024 + 1) }],
    ["the same as base64", { base64: Buffer.alloc(64 * 1024 + 1).toString("base64") }],
  ])("%s is refused, and no answer has the value", async (_, body) => {
    const answer = await createEdge().call("PUT", "/v1/secrets/a", body);
    const text = await answer.text();
    expect(answer.status).toBe(400);
    expect(text).not.toContain("xxxx");
  });

  test("64 KiB fit, and a list shows everything but values", async () => {
    const edge = createEdge();
    await edge.json(200, "PUT", "/v1/secrets/a", { value: "x".repeat(64 * 1024) });
    const list = await edge.json(200, "GET", "/v1/secrets");
    expect(list).toMatchObject({
      items: [{ name: "a", version: 1 }],
      wrappingKeys: [{ number: 1, state: "in_use" }],
    });
    expect(JSON.stringify(list)).not.toContain("xxxx");
    expect((await edge.call("DELETE", "/v1/secrets/a")).status).toBe(204);
    expect((await edge.json(200, "GET", "/v1/secrets")).items).toEqual([]);
  });
});
