import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { DroverError } from "../../src/shared/errors.ts";
import { as } from "./support/callers.ts";
import { createEdge, type Edge, type Json } from "./support/edge.ts";
import { Issuer } from "./support/issuer.ts";

// What an exchange does when trust rules change at another isolate: here that is another edge over the same
// tables, so this one still remembers the rules as they were (oidc.md#exchange).

const HERE = "http://127.0.0.1:8788";

let issuer: Issuer;
let edge: Edge;
let elsewhere: Edge;
beforeEach(async () => {
  issuer = await Issuer.start();
  edge = createEdge();
  edge.url = HERE;
  elsewhere = createEdge();
  elsewhere.url = HERE;
  elsewhere.objects.registry = edge.objects.registry;
});
afterEach(async () => {
  vi.useRealTimers();
  await issuer.stop();
});

const put = (more: object = {}, name = "ci", project = "default") =>
  elsewhere.call(
    "PUT",
    `/v1/trust-rules/${name}`,
    { issuer: issuer.url, claims: { repository: "octo/*" }, preset: "viewer", ...more },
    { "drover-project": project },
  );
const remove = (name: string) => elsewhere.json(200, "DELETE", `/v1/trust-rules/${name}`);

async function exchange(more: object = {}): Promise<{ status: number; body: Json }> {
  const token = await issuer.token(HERE, {} as Json);
  const headers = { "content-type": "application/json" };
  const answer = await edge.send("POST", "/v1/oidc/exchange", headers, JSON.stringify({ token, ...more }));
  return { status: answer.status, body: await answer.json() };
}
const asked = () => edge.calls.filter((call) => call === "registry trustRulesOf").length;

describe("a remembered rule (oidc.md#exchange)", () => {
  test("that was changed elsewhere gives at once what it says now", async () => {
    await put();
    expect(await exchange()).toMatchObject({ status: 200 });
    await put({ preset: "submitter" });
    const { status, body } = await exchange();
    expect({ status, body }).toMatchObject({ status: 200, body: { rule: "ci" } });
    expect(body.scopes).toContain("runs:write");
    await as(edge, body.token).json(200, "GET", "/v1/caller");
    const before = asked();
    expect(await exchange()).toMatchObject({ status: 200 });
    expect(asked()).toBe(before);
  });

  test("that does not accept the token any more refuses it for good", async () => {
    await put();
    await exchange();
    await put({ claims: { repository: "other/*" } });
    expect(await exchange()).toMatchObject({ status: 403, body: { code: "not_trusted" } });
  });

  test("that was deleted elsewhere is not used, and the token is not called temporary", async () => {
    await put();
    await exchange();
    await remove("ci");
    const { status, body } = await exchange();
    expect({ status, body }).toMatchObject({ status: 401, body: { temporary: false } });
    expect(body.detail).toContain("no trust rule names");
  });

  test("that was deleted elsewhere gives way to another one that accepts the token", async () => {
    await put();
    await exchange();
    await put({}, "new");
    await remove("ci");
    expect(await exchange()).toMatchObject({ status: 200, body: { rule: "new" } });
  });

  test("that was deleted elsewhere does not make a token ambiguous", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    await put();
    await put({}, "two");
    expect(await exchange()).toMatchObject({ status: 400 });
    await remove("two");
    vi.setSystemTime(Date.now() + 6_000);
    expect(await exchange()).toMatchObject({ status: 200, body: { rule: "ci" } });
  });

  test("of another project does not hide the first one of a project", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    await elsewhere.json(201, "POST", "/v1/projects", { name: "team" });
    await put();
    await exchange();
    vi.setSystemTime(Date.now() + 6_000);
    expect((await put({}, "ci", "team")).status).toBe(201);
    expect(await exchange({ project: "team" })).toMatchObject({ status: 200, body: { project: "team" } });
  });

  const changed = new DroverError("unavailable", "the trust rule was changed at this very moment");
  const reset = Object.assign(new Error("reset"), { retryable: true });
  test.each([
    ["that changes again and again is asked for once more", changed, { asked: 1, tries: 2 }],
    ["is not asked for again because the registry cannot be reached", reset, { asked: 0, tries: 1 }],
  ])("%s, and the token can be sent again", async (_, error, cost) => {
    await put();
    await exchange();
    const before = asked();
    let tries = 0;
    const { registry } = edge.objects;
    edge.objects.registry = () =>
      new Proxy(registry(), {
        get(target, name) {
          if (name !== "exchange") return Reflect.get(target, name);
          return async () => {
            tries += 1;
            throw error;
          };
        },
      });
    expect(await exchange()).toMatchObject({ status: 503, body: { code: "unavailable" } });
    expect({ asked: asked() - before, tries }).toEqual(cost);
  });
});
