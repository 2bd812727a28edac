import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { describe, expect, test, vi } from "vitest";
import { meter } from "../../src/objects/meter.ts";
import { Registry } from "../../src/objects/registry.ts";
import { ADMIN, openEdge } from "./support/edge.ts";
import { bindings, freshWorld, makePool, submit } from "./support/world.ts";

freshWorld();

const edge = openEdge();

/** Sends a request through the edge to the real objects, with a token. */
function send(token: string, method: string, path: string, body?: unknown): Promise<Response> {
  return edge.as(token).send(method, path, body);
}

async function json<Answer>(status: number, answer: Promise<Response>): Promise<Answer> {
  const { status: was } = await answer;
  const text = await (await answer).text();
  expect([was, text]).toEqual([status, text]);
  return JSON.parse(text) as Answer; // what the route declares
}

const registry = () => bindings.REGISTRY.getByName("registry");
const create = (body: object) =>
  json<{ id: string; token: string }>(201, send(ADMIN, "POST", "/v1/tokens", body));

describe("a token in real storage (access.md#tokens)", () => {
  test("outlives the registry's process, and so does its end", async () => {
    const { id, token } = await create({ name: "kept", preset: "viewer" });
    await evictDurableObject(registry());
    await json(200, send(token, "GET", "/v1/caller"));
    await json(200, send(ADMIN, "DELETE", `/v1/tokens/${id}`));
    await evictDurableObject(registry());
    await json(401, send(token, "GET", "/v1/caller"));
    const { items } = await json<{ items: object[] }>(200, send(ADMIN, "GET", "/v1/tokens"));
    expect(items).toMatchObject([{ id, state: "revoked", revokedBy: "admin" }]);
  });

  test("costs a row when created, and no request while it is warm (access.md#cache)", async () => {
    await create({ name: "first", preset: "viewer" }); // makes the table
    const before = { ...meter };
    const { token } = await create({ name: "second", preset: "viewer" });
    expect(meter.rowsWritten - before.rowsWritten).toBeLessThanOrEqual(2); // the row, and an alarm at most
    await json(200, send(token, "GET", "/v1/caller"));
    const warm = { ...meter };
    for (let times = 0; times < 20; times += 1) await json(200, send(token, "GET", "/v1/caller"));
    expect(meter).toEqual(warm);
  });

  test("that is warm adds no object request to a submission (budgets.md#budgets)", async () => {
    await makePool();
    await submit("warm-up");
    const { token } = await create({ name: "ci", preset: "submitter" });
    const costOf = async (by: string) => {
      await json(201, send(by, "POST", "/v1/runs", { argv: ["true"] }));
      const before = meter.requests;
      for (let times = 0; times < 5; times += 1)
        await json(201, send(by, "POST", "/v1/runs", { argv: ["true"] }));
      return meter.requests - before;
    };
    const asked = vi.spyOn(Registry.prototype, "call");
    const cost = await costOf(ADMIN);
    asked.mockClear();
    await json(200, send(token, "GET", "/v1/caller"));
    expect(asked).toHaveBeenCalled(); // so the registry is seen when it is asked
    asked.mockClear();
    expect(await costOf(token)).toBe(cost);
    expect(asked).not.toHaveBeenCalled();
  });

  test("that expires is ended by the registry's own alarm", async () => {
    const { id } = await create({ name: "short", preset: "viewer", expiresIn: "1ms" });
    await evictDurableObject(registry());
    await runDurableObjectAlarm(registry());
    const { items } = await json<{ items: { id: string; state: string }[] }>(
      200,
      send(ADMIN, "GET", "/v1/tokens"),
    );
    expect(items.find((one) => one.id === id)?.state).toBe("expired");
  });
});

describe("a browser session in real storage (sessions.md#life)", () => {
  const signIn = async (body: object) => {
    const answer = await send("", "POST", "/ui/session", body);
    expect(answer.status).toBe(204);
    return answer.headers.getSetCookie()[0]?.split(";")[0] ?? "";
  };
  const callerOf = (cookie: string) => edge.fetchFrom("http://localhost/v1/caller", { headers: { cookie } });

  test("started by a code outlives the registry's process, and ends with its token", async () => {
    const { id, token } = await create({ name: "ann", preset: "viewer" });
    const { code } = await json<{ code: string }>(201, send(token, "POST", "/v1/sessions"));
    await evictDurableObject(registry());
    const cookie = await signIn({ code });
    await evictDurableObject(registry());
    expect(await json(200, callerOf(cookie))).toMatchObject({ by: "session:ann" });
    await json(200, send(ADMIN, "DELETE", `/v1/tokens/${id}`));
    expect(await json(200, send(ADMIN, "GET", "/v1/sessions"))).toMatchObject({ items: [] });
  });

  test("costs two rows to start, and nothing while it is warm", async () => {
    await signIn({ token: ADMIN }); // makes the table
    const before = meter.rowsWritten;
    const cookie = await signIn({ token: ADMIN });
    expect(meter.rowsWritten - before).toBeLessThanOrEqual(2); // the row, and an alarm at most
    await json(200, callerOf(cookie));
    const warm = { ...meter };
    for (let times = 0; times < 20; times += 1) await json(200, callerOf(cookie));
    expect(meter).toEqual(warm);
  });
});
