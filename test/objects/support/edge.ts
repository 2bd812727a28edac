import { runInDurableObject } from "cloudflare:test";
import { expect } from "vitest";
import { type Via, viaOf } from "../../../src/core/audit/via.ts";
import { droverNow } from "../../../src/objects/clock.ts";
import { objectsOf } from "../../../src/objects/messages/stubs.ts";
import type { Objects, PoolApi } from "../../../src/objects/rpc.ts";
import { createApp } from "../../../src/routes/app.ts";
import type { EdgeBindings } from "../../../src/routes/edge.ts";
import { bindings } from "./world.ts";

// The edge over the real objects: what the Worker does with a request, without its network.

/** The break-glass secret of these edges. */
export const ADMIN = "drv_admin_token_of_the_object_tests";
const AGENT = { version: "0", sha256: "", installer: "" };

/** The JSON of an answer. Tests read the fields that they know to exist. */
// biome-ignore lint/suspicious/noExplicitAny: a test asserts on the value itself; types would only repeat it
export type Json = any;

/**
 * The objects, as the edge reaches them. The plugin of these tests takes `queue` of an object for a handler,
 * and refuses to call it, so that one call goes around it.
 */
function objectsVia(via: Via): Objects {
  const objects = objectsOf(bindings, via);
  const queueOf = (name: string): PoolApi["queue"] => {
    const stub = bindings.POOL.getByName(name);
    // The class has what its interface says, and the page is data.
    return (page) => runInDurableObject(stub, (pool) => (pool as unknown as PoolApi).queue(page));
  };
  const poolOf = (name: string) =>
    new Proxy(objects.pool(name), {
      get(target, method) {
        if (method === "queue") return queueOf(name);
        const call: unknown = Reflect.get(target, method);
        return typeof call === "function" ? (...args: unknown[]) => Reflect.apply(call, target, args) : call;
      },
    });
  return { ...objects, pool: poolOf };
}

/** What a request brings along. `bound`: what a test wants otherwise. */
function bindingsOf(headers: Headers, bound: Partial<EdgeBindings>): EdgeBindings {
  const via = viaOf(crypto.randomUUID(), (name) => headers.get(name));
  return {
    adminToken: ADMIN,
    signingKey: "key",
    wrappingKeys: {},
    issuers: { allowsLocal: false, ask: fetch },
    url: "http://drover.test",
    objects: objectsVia(via),
    hasBucket: true,
    deployed: { bucketName: null, domains: [] },
    assets: { fetch: async () => new Response() },
    now: droverNow,
    requestId: via.requestId,
    ...bound,
  };
}

/** An isolate of the edge, with caches of its own. */
export function openEdge(bound: Partial<EdgeBindings> = {}) {
  const app = createApp(AGENT);

  /** Sends a request as it is. */
  const fetchFrom = async (path: string, init: RequestInit = {}): Promise<Response> =>
    app.request(path, init, bindingsOf(new Headers(init.headers), bound));

  /** Sends requests with this token, and these headers. */
  const as = (token: string, more: Record<string, string> = {}) => {
    const send = (method: string, path: string, body?: unknown, extra: Record<string, string> = {}) => {
      const auth = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      const init = { method, headers: { ...auth, ...more, ...extra } };
      return fetchFrom(path, body === undefined ? init : { ...init, body: JSON.stringify(body) });
    };
    /** The JSON of an answer that must have this status. */
    const json = async (status: number, method: string, path: string, body?: unknown): Promise<Json> => {
      const answer = await send(method, path, body);
      const text = await answer.text();
      expect({ status: answer.status, text }).toMatchObject({ status });
      return text === "" ? undefined : JSON.parse(text);
    };
    return { token, send, json };
  };

  const admin = as(ADMIN);

  /** A new token, made by the break-glass secret in a project. */
  const newToken = async (body: object, project = "default") =>
    as((await as(ADMIN, { "drover-project": project }).json(201, "POST", "/v1/tokens", body)).token);

  return { fetchFrom, as, admin, newToken };
}

/** Sends requests as somebody. */
export type Caller = ReturnType<ReturnType<typeof openEdge>["as"]>;

/** The events of a stream, one after the other: their name, and the value. Heartbeats are left out. */
export async function* eventsIn(answer: Response): AsyncGenerator<{ event: string; data: Json }> {
  expect(answer.status).toBe(200);
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of answer.body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
      const lines = text.slice(0, end).split("\n");
      text = text.slice(end + 2);
      const field = (name: string) =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      const data = field("data");
      if (data !== undefined) yield { event: field("event") ?? "", data: JSON.parse(data) };
    }
  }
}
