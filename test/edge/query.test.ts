import { describe, expect, test } from "vitest";
import { RUN_STATES } from "../../src/shared/run-state.ts";

import { createEdge, type Edge, type Json } from "./support/edge.ts";
import { changed } from "./support/samples.ts";

/** One run in each state, with the state's name as id, each a second newer than the one before. */
function edgeWithAllStates(): Edge {
  const edge = createEdge();
  for (const [bit, state] of RUN_STATES.entries()) {
    edge.addRun(state, { state, submittedAt: `2026-11-21T08:30:0${bit}.000Z` });
  }
  return edge;
}

async function idsOf(edge: Edge, path: string): Promise<string[]> {
  return (await edge.json(200, "GET", path)).items.map((run: { id: string }) => run.id);
}

describe("the state filter (api.md#state-filter)", () => {
  const cases: [string, string[]][] = [
    ["state=unknown", ["unknown"]],
    ["state=pending", ["pending"]],
    ["state=done", ["timedout", "aborted", "failed", "complete", "unknown"]],
    ["state=all", [...RUN_STATES].reverse()],
    ["", [...RUN_STATES].reverse()],
    ["state=121", ["timedout", "aborted", "failed", "complete", "unknown"]],
    ["state=1", ["unknown"]],
    ["state=2", ["pending"]],
    ["state=64", ["timedout"]],
    ["state=127", [...RUN_STATES].reverse()],
    ["state=0", []],
    ["state=6", ["running", "pending"]],
    ["state=pending&state=complete", ["complete", "pending"]],
    ["state=2&state=done", ["timedout", "aborted", "failed", "complete", "pending", "unknown"]],
  ];
  test.each(cases)("%s", async (query, expected) => {
    expect(await idsOf(edgeWithAllStates(), `/v1/runs?${query}`)).toEqual(expected);
  });

  test("the body of a query takes names and numbers alike", async () => {
    const body = { allRuns: true, states: ["pending", 64] };
    const { items } = await edgeWithAllStates().json(200, "POST", "/v1/runs/query", body);
    expect(items.map((run: Json) => run.id)).toEqual(["timedout", "pending"]);
  });
});

describe("the runs of an array (api.md#arrays)", () => {
  function edgeWithArrays(state: "running" | "complete" = "complete"): Edge {
    const edge = createEdge();
    for (const [id, index] of [
      ["a", 0],
      ["a", 1],
      ["b", 0],
    ] as const) {
      const { status } = edge.addRun(`${id}-${index}`, { state });
      Object.assign(status.spec, { array: { id, index, size: 2 } });
    }
    edge.addRun("lone", { state });
    return edge;
  }

  test.each([
    ["/v1/runs?array=a", ["a-1", "a-0"]],
    ["/v1/runs?array=a&state=done&all=1&wait=60s", ["a-1", "a-0"]],
    ["/v1/runs?array=a&id=b-0&id=a-0", ["a-0"]],
    ["/v1/runs?array=other", []],
  ])("%s", async (path, expected) => {
    expect(await idsOf(edgeWithArrays(), path)).toEqual(expected);
  });

  test("are aborted by its id, and no others", async () => {
    const edge = edgeWithArrays("running");
    const { items } = await edge.json(200, "POST", "/v1/runs/abort", { array: "a" });
    expect(items.map(({ id }: Json) => id).sort()).toEqual(["a-0", "a-1"]);
  });
});

describe("a query by ids (api.md#query)", () => {
  test("1: any id that does not exist fails the whole query, and all such ids are named", async () => {
    const edge = createEdge();
    edge.addRun("a");
    const problem = await edge.json(404, "GET", "/v1/runs?id=x&id=a&id=y&state=pending");
    expect(problem).toMatchObject({ code: "unknown_run", runs: ["x", "y"], temporary: false });
    const one = await edge.json(404, "POST", "/v1/runs/query", { runs: ["x"] });
    expect(one).toMatchObject({ code: "unknown_run", runs: ["x"] });
  });

  test("2: matches come at once, in the order of the ids, as often as named (api.md#query-2)", async () => {
    const edge = edgeWithAllStates();
    const ids = await idsOf(edge, "/v1/runs?id=failed&id=running&id=complete&id=failed&state=done&wait=60s");
    expect(ids).toEqual(["failed", "complete", "failed"]);
  });

  test("4: a wait of 0 means now, in both forms", async () => {
    const edge = createEdge();
    edge.addRun("a");
    expect(await idsOf(edge, "/v1/runs?id=a&state=done&wait=0")).toEqual([]);
    const body = { runs: ["a"], states: ["done"], wait: "0" };
    expect(await edge.json(200, "POST", "/v1/runs/query", body)).toMatchObject({ items: [] });
  });

  test("3: otherwise it waits, and answers with all matches of that moment", async () => {
    const edge = createEdge();
    for (const id of ["a", "b", "c"]) edge.addRun(id);
    const answer = idsOf(edge, "/v1/runs?id=a&id=b&id=c&state=done&wait=60s");
    await expect.poll(() => edge.calls.filter((call) => call === "pool default wait")).toHaveLength(1);
    edge.setState("b", "running");
    edge.setState("c", "complete");
    expect(await answer).toEqual(["c"]);
  });

  test("3: at the time-out the list is empty, and that is no error", async () => {
    const edge = createEdge();
    edge.addRun("a");
    edge.addRun("b");
    expect(await idsOf(edge, "/v1/runs?id=a&id=b&state=done&wait=20ms")).toEqual([]);
    expect(await idsOf(edge, "/v1/runs?id=a&state=done&wait=20ms")).toEqual([]);
  });

  test("4: no ids and not `allRuns` matches nothing", async () => {
    const edge = edgeWithAllStates();
    expect(await edge.json(200, "POST", "/v1/runs/query", {})).toEqual({
      items: [],
      next: null,
      service: [],
    });
    expect((await edge.json(200, "POST", "/v1/runs/query", { allRuns: true })).items).toHaveLength(7);
  });

  const hopeless: [string, string][] = [
    ["an end that is another", "id=complete&state=failed"],
    ["pending, of a run that runs", "id=running&state=pending"],
    ["a label that the run has not", "id=pending&label=a:b"],
    ["another pool", "id=pending&pool=other&state=done"],
    ["nothing at all", "id=pending&state=0"],
    ["nothing at all, of all runs", "state=0"],
  ];
  test.each(hopeless)("4: waiting for what can no longer come returns at once: %s", async (_name, query) => {
    const edge = edgeWithAllStates();
    edge.pools.set("other", undefined);
    expect(await idsOf(edge, `/v1/runs?${query}&wait=60s`)).toEqual([]);
    expect(edge.calls.filter((call) => call.endsWith(" wait"))).toEqual([]);
  });

  test("5: an id that the pool lacks is asked of its allocation", async () => {
    const edge = createEdge();
    edge.addRun("late", { state: "running" }).row = undefined;
    expect(await idsOf(edge, "/v1/runs?id=late")).toEqual(["late"]);
  });

  test("5: an id that the pool has in a state that does not match is asked of its allocation", async () => {
    const edge = createEdge();
    const run = edge.addRun("lagging");
    run.status = changed(run.status, { state: "complete", exitCode: 3 });
    const { items } = await edge.json(200, "GET", "/v1/runs?id=lagging&state=done");
    expect(items).toMatchObject([{ id: "lagging", state: "complete", exitCode: 3 }]);
  });

  // All rows of the pool say `running`. The first `ended` runs have ended meanwhile.
  test.each([
    ["none has ended: a few are asked", 0, "done&all=1", 32, { holds: false, open: 100 }, 0],
    ["some have ended: until one has not", 40, "done&all=1", 64, { holds: false, open: 60 }, 40],
    ["all have ended: each is asked", 100, "done&all=1", 100, { holds: true, open: 0 }, 100],
    ["the first match is wanted: each is asked", 40, "done", 100, undefined, 40],
    ["not every end matches: each is asked", 40, "failed&all=1", 100, { possible: false }, 0],
    ["one that is not selected decides nothing", 40, "done&all=1&label=set:b", 64, { open: 30 }, 20],
  ])("5: of a hundred runs that the pool calls running, %s", async (...row) => {
    const [, ended, wanted, asked, all, items] = row;
    const edge = createEdge();
    const ids = Array.from({ length: 100 }, (_one, n) => `r${n}`);
    for (const [n, id] of ids.entries()) {
      const isOther = n % 2 === 0 && wanted.includes("label");
      const run = edge.addRun(id, { state: "running", labels: { set: isOther ? "a" : "b" } });
      if (n < ended && !isOther) run.status = changed(run.status, { state: "complete", exitCode: 0 });
    }
    const named = ids.map((id) => `id=${id}`).join("&");
    const answer = await edge.json(200, "GET", `/v1/runs?${named}&state=${wanted}`);
    expect(edge.calls.filter((call) => call.endsWith(" summary"))).toHaveLength(asked);
    if (all !== undefined) expect(answer.all).toMatchObject(all);
    expect(answer.items).toHaveLength(items);
  });

  test("more ids than a call to a pool takes are all found", async () => {
    const edge = createEdge();
    const runs = Array.from({ length: 2_500 }, (_, index) => `r${index}`);
    for (const id of runs) edge.addRun(id);
    const { items } = await edge.json(200, "POST", "/v1/runs/query", { runs });
    expect(items.map((run: Json) => run.id)).toEqual(runs);
  });

  test("no more than 32 allocations are asked at a time", async () => {
    const edge = createEdge();
    const runs = Array.from({ length: 200 }, (_, index) => `r${index}`);
    let now = 0;
    let most = 0;
    for (const id of runs) edge.addRun(id).row = undefined;
    const { allocation } = edge.objects;
    edge.objects.allocation = (id) => {
      const real = allocation(id);
      return {
        ...real,
        summary: async () => {
          now += 1;
          most = Math.max(most, now);
          await new Promise((resolve) => setImmediate(resolve));
          now -= 1;
          return real.summary();
        },
      };
    };
    expect((await edge.json(200, "POST", "/v1/runs/query", { runs })).items).toHaveLength(200);
    expect(most).toBe(32);
  });
});

describe("a list of all runs", () => {
  test("waits until something matches", async () => {
    const edge = createEdge("default", "other");
    const answer = idsOf(edge, "/v1/runs?state=done&wait=60s");
    await expect.poll(() => edge.calls.filter((call) => call.endsWith(" wait"))).toHaveLength(2);
    edge.addRun("new", { pool: "other" });
    edge.setState("new", "failed");
    expect(await answer).toEqual(["new"]);
  });

  test("answers a wait with all that match then, of all pools, newest first", async () => {
    const edge = createEdge("default", "other");
    const at = (second: number) => ({ submittedAt: `2026-11-21T08:30:0${second}.000Z` });
    edge.addRun("old", at(1));
    edge.addRun("new", at(3));
    edge.addRun("middle", { ...at(2), pool: "other" });
    const answer = idsOf(edge, "/v1/runs?state=done&wait=60s");
    await expect.poll(() => edge.calls.filter((call) => call.endsWith(" wait"))).toHaveLength(2);
    for (const id of ["old", "new", "middle"]) edge.setState(id, "complete");
    expect(await answer).toEqual(["new", "middle", "old"]);
  });

  test("has the runs of one pool, or with a label, if asked for", async () => {
    const edge = createEdge("default", "other");
    edge.addRun("a", { labels: { team: "x", zone: "1" } });
    edge.addRun("b", { labels: { team: "x" } });
    edge.addRun("c", { pool: "other" });
    expect(await idsOf(edge, "/v1/runs?pool=other")).toEqual(["c"]);
    expect(await idsOf(edge, "/v1/runs?label=team:x")).toEqual(["b", "a"]);
    expect(await idsOf(edge, "/v1/runs?label=team:x&label=zone:1")).toEqual(["a"]);
    expect(await idsOf(edge, "/v1/runs?id=a&id=b&label=zone:1")).toEqual(["a"]);
  });

  test.each([1, 2, 3, 7, 1_000])(
    "in pages of %i neither repeats nor skips a run of several pools",
    async (limit) => {
      const edge = createEdge("one", "three", "two");
      const at = (second: number) => `2026-11-21T08:30:${String(second).padStart(2, "0")}.000Z`;
      const pools = ["one", "two", "one", "three", "two", "one", "one", "two", "two", "three", "one"];
      // Pairs share an instant, so that the id has to decide.
      for (const [index, pool] of pools.entries()) {
        edge.addRun(`r${String(index).padStart(2, "0")}`, { pool, submittedAt: at(index >> 1) });
      }
      const seen: string[] = [];
      let cursor = "";
      do {
        const page = await edge.json(200, "GET", `/v1/runs?limit=${limit}${cursor}`);
        expect(page.items.length).toBeLessThanOrEqual(limit);
        seen.push(...page.items.map((run: Json) => run.id));
        cursor = page.next === null ? "" : `&cursor=${page.next}`;
        // A run that comes in meanwhile is newer than any page to come.
        edge.addRun(`new${seen.length}`, { pool: "two", submittedAt: at(50) });
      } while (cursor !== "");
      const old = seen.filter((id) => !id.startsWith("new"));
      expect(old).toEqual(pools.map((_, index) => `r${String(index).padStart(2, "0")}`).reverse());
      expect(new Set(seen).size).toBe(seen.length);
    },
  );

  test("the list of pools is asked for once in a while, and again after a pool was put here", async () => {
    const edge = createEdge();
    const asked = () => edge.calls.filter((call) => call === "registry pools").length;
    await idsOf(edge, "/v1/runs");
    await idsOf(edge, "/v1/runs");
    expect(asked()).toBe(1);
    const config = {
      provider: { kind: "http", url: "http://x", secret: "s" },
      instanceTypes: { a: { vcpus: 1, memory: 1 } },
    };
    await edge.json(201, "PUT", "/v1/pools/second", config);
    const { service } = await edge.json(200, "GET", "/v1/runs");
    expect(service.map((one: Json) => one.pool)).toEqual(["default", "second"]);
    expect(asked()).toBe(2);
  });
});

describe("a wait outlives the object that holds it (api.md#waiting)", () => {
  /** What it is, its path, the call that fails three times, and how often that is made: mostly once more. */
  const waits: [string, string, string, number?][] = [
    ["for the first of many", "/v1/runs?state=done&wait=60s", "pool default wait"],
    ["for the first of some ids", "/v1/runs?id=a&id=b&state=done&wait=60s", "pool default wait"],
    ["for all", "/v1/runs?state=done&all=1&wait=60s", "pool default wait"],
    ["for all of some ids", "/v1/runs?id=a&id=b&state=done&all=1&wait=60s", "pool default wait"],
    ["by one id", "/v1/runs?id=a&state=done&wait=60s", "allocation a summary", 5],
    ["for one run", "/v1/runs/a?state=done&wait=60s", "allocation a wait"],
  ];

  test.each(waits)("%s: it is asked again, until it is over", async (_what, path, call, calls = 4) => {
    const edge = createEdge();
    edge.addRun("a");
    edge.addRun("b");
    let resets = 3;
    edge.fault = (made) => {
      if (made !== call || resets === 0) return;
      resets -= 1;
      throw Object.assign(new Error("Durable Object reset"), { durableObjectReset: true });
    };
    const answer = edge.json(200, "GET", path);
    await expect.poll(() => edge.calls.filter((made) => made === call).length).toBe(calls);
    edge.setState("a", "complete");
    edge.setState("b", "complete");
    const { items, state } = await answer;
    expect(items?.length ?? state).toBeTruthy();
    expect(resets).toBe(0);
  });

  test("what stays unreachable is a 503, once the time is over", async () => {
    const edge = createEdge();
    edge.addRun("a");
    edge.fault = (made) => {
      if (made.endsWith("wait")) throw Object.assign(new Error("x"), { retryable: true });
    };
    expect(await edge.json(503, "GET", "/v1/runs/a?wait=10ms")).toMatchObject({ code: "unavailable" });
  });
});

describe("what a wait costs (api.md#waiting)", () => {
  const list = "pool default list";
  const wait = "pool default wait";
  const summary = (id: string) => `allocation ${id} summary`;
  const cases: [string, string, string[]][] = [
    ["for the first of all", "state=done", [list, wait]],
    ["for the first of two ids", "id=a&id=b&state=done", [list, summary("a"), summary("b"), wait]],
    ["for one id", "id=a&state=done", [list, summary("a"), summary("a")]],
    ["for all to end", "state=done&all=1", [wait, list]],
    ["for all to succeed", "state=complete&all=1", [list, wait, list]],
    ["for both ids to end", "id=a&id=b&state=done&all=1", [list, summary("a"), summary("b"), wait, list]],
  ];
  test.each(cases)("%s: so many calls to objects", async (_what, query, expected) => {
    const edge = createEdge();
    for (const id of ["a", "b"]) edge.addRun(id, { state: "running" });
    await edge.json(200, "GET", "/v1/runs");
    edge.calls.length = 0;
    const answer = idsOf(edge, `/v1/runs?${query}&wait=60s`);
    const isHeld = () => edge.longestWaitMs > 50_000;
    await expect.poll(isHeld).toBe(true);
    for (const id of ["a", "b"]) edge.setState(id, "complete");
    expect((await answer).length).toBeGreaterThan(0);
    expect(edge.calls).toEqual(expected);
  });

  test("without a pool there is nothing to wait for", async () => {
    const edge = createEdge();
    edge.pools.clear();
    for (const all of ["", "&all=1"]) {
      expect(await idsOf(edge, `/v1/runs?state=done&wait=60s${all}`)).toEqual([]);
    }
  });

  test("of more ids than a page has runs, all that match are answered", async () => {
    const edge = createEdge();
    const ids = Array.from({ length: 150 }, (_, index) => `r${index}`);
    for (const id of ids) edge.addRun(id);
    const answer = idsOf(edge, `/v1/runs?${ids.map((id) => `id=${id}`).join("&")}&state=running&wait=60s`);
    await expect.poll(() => edge.longestWaitMs).toBeGreaterThan(50_000);
    for (const id of ids) {
      const run = edge.runs.get(id);
      if (run !== undefined) run.row = run.status = changed(run.status, { state: "running" });
    }
    edge.wake();
    expect(await answer).toEqual(ids);
  });
});

describe("service: how each pool that was asked is (api.md#query-service)", () => {
  test("a pool that fails hides no other, and says so", async () => {
    const edge = createEdge("broken", "default");
    edge.addRun("a");
    edge.fault = (call) => {
      if (call.startsWith("pool broken")) throw Object.assign(new Error("x"), { durableObjectReset: true });
    };
    const { items, service } = await edge.json(200, "GET", "/v1/runs");
    expect(items).toHaveLength(1);
    expect(service).toMatchObject([
      { pool: "broken", initialized: true, healthy: false, error: expect.stringMatching(/\S/) },
      { pool: "default", initialized: true, healthy: true },
    ]);
    expect((await edge.json(200, "GET", "/v1/workers")).service).toEqual(service);
    expect((await edge.json(200, "GET", "/v1/pools")).service).toEqual(service);
  });

  test("if all pools fail, so does the query", async () => {
    const edge = createEdge();
    edge.fault = (call) => {
      if (call.startsWith("pool")) throw Object.assign(new Error("x"), { overloaded: true });
    };
    expect(await edge.json(503, "GET", "/v1/runs")).toMatchObject({ code: "unavailable", temporary: true });
  });
});

test("`wait` is cut to 60 s", async () => {
  const edge = createEdge();
  edge.addRun("a", { state: "complete" });
  await edge.json(200, "GET", "/v1/runs/a?wait=2h");
  await edge.json(200, "POST", "/v1/runs/a/abort?wait=1d");
  await edge.json(200, "GET", "/v1/runs/a/events?wait=61s");
  expect(edge.longestWaitMs).toBe(60_000);
});

describe("GET /v1/runs/{id}", () => {
  test("waits for an end if no state is named", async () => {
    const edge = createEdge();
    edge.addRun("a");
    const answer = edge.json(200, "GET", "/v1/runs/a?wait=60s");
    await expect.poll(() => edge.calls).toContain("allocation a wait");
    edge.setState("a", "running");
    edge.setState("a", "complete");
    expect(await answer).toMatchObject({ id: "a", state: "complete" });
  });

  test("waits for the state that is named, and `0` means now", async () => {
    const edge = createEdge();
    edge.addRun("a");
    expect(await edge.json(200, "GET", "/v1/runs/a?wait=0&state=running")).toMatchObject({
      state: "pending",
    });
    const answer = edge.json(200, "GET", "/v1/runs/a?wait=60s&state=running");
    await expect.poll(() => edge.calls).toContain("allocation a wait");
    edge.setState("a", "running");
    expect(await answer).toMatchObject({ state: "running" });
  });
});
