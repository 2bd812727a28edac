import { describe, expect, test } from "vitest";
import { encodePosition } from "../../src/routes/query/cursor.ts";
import { faultsOf } from "../core/support/exposition.ts";
import { createEdge } from "./support/edge.ts";

const down = (name: string) => (call: string) => {
  if (call.startsWith(`pool ${name} `)) throw new Error("it is broken");
};

describe("GET /metrics (api.md#metrics)", () => {
  test("takes a token, and is what Prometheus reads", async () => {
    const edge = createEdge("a", "b");
    expect((await edge.send("GET", "/metrics", {})).status).toBe(401);
    const answer = await edge.call("GET", "/metrics");
    expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    const text = await answer.text();
    expect(faultsOf(text)).toEqual([]);
    expect(text).toContain('drover_pool_up{pool="a"} 1\ndrover_pool_up{pool="b"} 1\n');
  });

  test("asks each pool once, or only those that are named", async () => {
    const edge = createEdge("a", "b", "c");
    await edge.call("GET", "/metrics?pool=a&pool=c");
    expect(edge.calls).toEqual(["pool a metrics", "pool c metrics"]);
  });

  test("asks each webhook once, and one that does not answer is down (webhooks.md#metrics)", async () => {
    const edge = createEdge("a");
    for (const name of ["ci", "chat"])
      await edge.json(201, "POST", "/v1/webhooks", { name, url: "https://ci.example.com/hook" });
    const { id } = await edge.json(200, "GET", "/v1/webhooks/chat");
    edge.fault = (call) => {
      if (call === `webhook ${id} metrics`) throw new Error("it is broken");
    };
    const text = await (await edge.call("GET", "/metrics")).text();
    expect(faultsOf(text)).toEqual([]);
    expect(text).toContain('drover_webhook_up{webhook="ci"} 1\n');
    expect(text).toContain('drover_webhook_up{webhook="chat"} 0\n');
  });

  test("a pool that does not answer is down, and hides no other", async () => {
    const edge = createEdge("a", "b");
    edge.fault = down("a");
    const text = await (await edge.call("GET", "/metrics")).text();
    expect(text).toContain('drover_pool_up{pool="a"} 0\ndrover_pool_up{pool="b"} 1\n');
  });
});

describe("DELETE /v1/pools/{name} (api.md#pool-deletion)", () => {
  test.each([
    ["", true],
    ["?drain=0", true],
    ["?drain=1", false],
  ])("with %j it answers whether the pool is gone: %j", async (query, deleted) => {
    const edge = createEdge("a");
    expect(await edge.json(200, "DELETE", `/v1/pools/a${query}`)).toEqual({ name: "a", deleted });
  });

  test("an unknown pool is 404, and any other word 400", async () => {
    const edge = createEdge("a");
    expect((await edge.json(404, "DELETE", "/v1/pools/b")).code).toBe("unknown_pool");
    expect((await edge.json(400, "DELETE", "/v1/pools/a?drain=yes")).errors[0].pointer).toBe("?drain");
  });
});

describe("GET /v1/events (api.md#pool-events)", () => {
  test("is a list, of the pool `default` unless it is said", async () => {
    const edge = createEdge("default", "b");
    expect(await edge.json(200, "GET", "/v1/events")).toMatchObject({ items: [{ number: 7 }], next: 7 });
    expect(await edge.json(200, "GET", "/v1/events?pool=b&after=7")).toEqual({ items: [], next: 7 });
    expect((await edge.json(404, "GET", "/v1/events?pool=c")).code).toBe("unknown_pool");
    await edge.json(400, "GET", "/v1/events?after=-1");
  });

  test("or a stream, whose ids resume it", async () => {
    const edge = createEdge("default");
    const headers = { accept: "text/event-stream", "last-event-id": "6" };
    const answer = await edge.call("GET", "/v1/events", undefined, headers);
    const reader = answer.body?.getReader();
    const first = new TextDecoder().decode((await reader?.read())?.value);
    await reader?.cancel();
    expect(first).toMatch(/^event: worker\ndata: \{"id":"default-w1".*\nid: 7\n\n/);
  });
});

describe("A6 M-queue: GET /v1/pools/{name}/queue", () => {
  test("comes in pages, each by one question to the pool", async () => {
    const edge = createEdge("a", "b");
    const seen: string[] = [];
    let cursor = "";
    for (;;) {
      const { items, next, queued } = await edge.json(200, "GET", `/v1/pools/a/queue?limit=3${cursor}`);
      expect(queued).toBe(4);
      seen.push(...items.map(({ id }: { id: string }) => id));
      if (next === null) break;
      cursor = `&cursor=${next}`;
    }
    expect(seen).toEqual(["waits-1", "waits-2", "waits-3", "waits-4"]);
    expect(edge.calls).toEqual(["pool a queue", "pool a queue"]);
  });

  test("an unknown pool is 404, and the cursor of another list 400", async () => {
    const edge = createEdge("a");
    expect((await edge.json(404, "GET", "/v1/pools/b/queue")).code).toBe("unknown_pool");
    const other = encodePosition({ at: "2026-11-21T08:30:00.000Z", id: "x" });
    const refused = await edge.json(400, "GET", `/v1/pools/a/queue?cursor=${other}`);
    expect(refused.errors).toMatchObject([{ pointer: "?cursor" }]);
  });
});
