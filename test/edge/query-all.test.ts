import { describe, expect, test } from "vitest";
import { createEdge } from "./support/edge.ts";

const STATES = [
  ["wait", "pending"],
  ["run", "running"],
  ["end", "complete"],
] as const;

describe("a wait for all says that it holds only if it does (api.md#wait-for-all)", () => {
  const path = "/v1/runs?label=set:x&state=complete&all=1&wait=60s";
  const labels = { set: "x" };
  const still = { holds: false, open: 1, possible: true };
  const missed = { holds: false, open: 0, possible: false };

  test("the last one fails between the look at what has ended and the wait", async () => {
    const edge = createEdge();
    edge.addRun("a", { state: "running", labels });
    edge.fault = (call) => {
      if (call === "pool default wait") edge.setState("a", "failed");
    };
    expect(await edge.json(200, "GET", path)).toMatchObject({ items: [], all: missed });
  });

  test("the pool that has the failed one does not answer for a while", async () => {
    const edge = createEdge("default", "other");
    edge.addRun("a", { state: "complete", labels });
    edge.addRun("b", { pool: "other", state: "failed", labels });
    let faults = 3;
    edge.fault = (call) => {
      if (call !== "pool other list" || faults === 0) return;
      faults -= 1;
      throw Object.assign(new Error("x"), { durableObjectReset: true });
    };
    expect((await edge.json(200, "GET", path)).all).toEqual(missed);
    expect(faults).toBe(0);
  });

  test("and as long as it does not, nobody can say", async () => {
    const edge = createEdge("default", "other");
    edge.addRun("a", { state: "complete", labels });
    edge.fault = (call) => {
      if (call === "pool other list") throw Object.assign(new Error("x"), { durableObjectReset: true });
    };
    const { all, service } = await edge.json(200, "GET", path.replace("60s", "20ms"));
    expect(all).toEqual({ holds: false, open: 0, possible: true });
    expect(service).toMatchObject([{ healthy: true }, { pool: "other", healthy: false }]);
  });

  test("a pool that is not made yet has no runs", async () => {
    const edge = createEdge("default", "other");
    edge.addRun("a", { state: "complete", labels });
    await edge.json(200, "GET", "/v1/runs");
    edge.pools.delete("other");
    expect((await edge.json(200, "GET", path)).all).toEqual({ holds: true, open: 0, possible: true });
  });

  const inNone: [string, string, object][] = [
    ["one runs, and pending was asked for", "id=run&state=pending", missed],
    ["no state was asked for", "id=run&state=0", missed],
    ["one ended otherwise", "id=end&state=failed", missed],
    ["one runs, and one is pending as asked", "id=wait&id=run&state=pending", missed],
    ["all are in one of the states", "id=wait&id=run&state=6", { holds: true, open: 0, possible: true }],
    ["one can still come", "id=wait&id=end&state=running&state=complete&wait=0", still],
  ];
  test.each(inNone)("by ids: %s", async (_what, query, expected) => {
    const edge = createEdge();
    for (const [id, state] of STATES) edge.addRun(id, { state });
    expect((await edge.json(200, "GET", `/v1/runs?${query}&all=1`)).all).toEqual(expected);
  });
});
