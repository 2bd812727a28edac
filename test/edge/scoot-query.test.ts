import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient } from "../../client/client.ts";
import { RUN_STATES } from "../../src/shared/run-state.ts";
import { until } from "../local/support/scratch.ts";
import { endDrover, makeHome, poolConfigOf, type RunningDrover, startDrover } from "./support/drover.ts";
import type { Json } from "./support/edge.ts";

// What docs/design/api.md says of querying, waiting, polling and history, row by row over HTTP on a real
// `drover up`. The rows are those of an older system with the same calls: "there" is that system, and a row
// that has no counterpart here has its reason in place of a test.

let home: string;
let up: RunningDrover;
beforeAll(async () => {
  home = makeHome("scoot-query");
  up = await startDrover(home);
  const { provider, instanceTypes, ...config } = await poolConfigOf(up);
  const more = { allowFakeDriver: true, retention: { runs: "7d" } };
  await up.json(200, "PUT", "/v1/pools/default", { ...config, provider, instanceTypes, ...more });
  // No machine comes there: what waits there waits until it is aborted.
  await up.json(201, "PUT", "/v1/pools/patient", { provider, instanceTypes, maxInstances: 0 });
  await makeOneOfEach();
});
afterAll(async () => {
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

const submit = (spec: object): Promise<Json> => up.json(201, "POST", "/v1/runs", spec);
const abort = (id: string): Promise<Json> => up.json(200, "POST", `/v1/runs/${id}/abort?wait=30s`, {});
const get = (query: string): Promise<Json> => up.json(200, "GET", `/v1/runs?${query}`);
const post = (body: object): Promise<Json> => up.json(200, "POST", "/v1/runs/query", body);
const idsOf = ({ items }: Json): string[] => items.map((run: Json) => run.id);

/** The runs that are there, by state, oldest first. */
const MADE = ["timedout", "failed", "complete", "running", "pending", "aborted"];

/** A run in each state that can be had at will; its name is its id. */
async function makeOneOfEach(): Promise<void> {
  const labels = { made: "here" };
  await submit({ id: "timedout", labels, argv: ["sleep", "600"], timeout: "1s", killTimeout: "1s" });
  await submit({ id: "failed", labels, argv: ["no-such-command"] });
  await submit({ id: "complete", labels, argv: ["sh", "-c", "exit 9"] });
  for (const id of ["timedout", "failed", "complete"]) await inState(id, id);
  await submit({ id: "running", labels, argv: ["sleep", "600"] });
  await inState("running", "running");
  await submit({ id: "pending", labels, argv: ["true"], pool: "patient" });
  await submit({ id: "aborted", labels, argv: ["true"], pool: "patient" });
  await abort("aborted");
  await inState("aborted", "aborted");
}

/** Waits until its pool knows the run in this state, too: lists may lag. */
async function inState(id: string, state: string): Promise<void> {
  await until(`${id} is ${state}`, async () => {
    const { items } = await get(`label=made:here&state=${state}&wait=20s`);
    return items.some((run: Json) => run.id === id) || undefined;
  });
}

const NEWEST_FIRST = [...MADE].reverse();

describe("matching (api.md#state-filter, api.md#query-4): id, or all, and state", () => {
  const masks: [string, string, string[]][] = [
    ["UNKNOWN_MASK, there 2 by mistake", "1", []],
    ["PENDING_MASK, there 1 by mistake", "2", ["pending"]],
    ["RUNNING_MASK", "4", ["running"]],
    ["COMPLETE_MASK", "8", ["complete"]],
    ["FAILED_MASK", "16", ["failed"]],
    ["ABORTED_MASK", "32", ["aborted"]],
    ["TIMEDOUT_MASK", "64", ["timedout"]],
    ["DONE_MASK", "121", ["aborted", "complete", "failed", "timedout"]],
    ["ALL_MASK", "127", NEWEST_FIRST],
    ["two of them", "24", ["complete", "failed"]],
    ["done by name", "done", ["aborted", "complete", "failed", "timedout"]],
    ["all by name", "all", NEWEST_FIRST],
    ["an empty mask matches nothing", "0", []],
    ...RUN_STATES.map((state): [string, string, string[]] => [
      `${state} by name`,
      state,
      NEWEST_FIRST.filter((id) => id === state),
    ]),
  ];
  test.each(masks)("%s", async (_what, state, expected) => {
    expect(idsOf(await get(`state=${state}&label=made:here`))).toEqual(expected);
    const states = [/^\d+$/.test(state) ? Number(state) : state];
    const all = idsOf(await post({ allRuns: true, states }));
    expect(all.filter((id) => MADE.includes(id))).toEqual(expected);
    // By ids it is the order of the ids.
    expect(idsOf(await post({ runs: MADE, states }))).toEqual(MADE.filter((id) => expected.includes(id)));
  });

  test("AllRuns ignores Runs", async () => {
    expect(idsOf(await post({ allRuns: true, runs: ["pending"] })).length).toBeGreaterThan(1);
  });

  test("an empty list of runs without AllRuns matches nothing, and is no error", async () => {
    expect(await post({ runs: [] })).toMatchObject({ items: [], next: null });
    expect(await post({})).toMatchObject({ items: [], next: null });
  });
});

describe("order of evaluation (api.md#query)", () => {
  test("1: any unknown id fails the whole query, which names all such", async () => {
    const body = { runs: ["pending", "nobody", "complete", "none"] };
    const problem = await up.json(404, "POST", "/v1/runs/query", body);
    expect(problem).toMatchObject({ code: "unknown_run", runs: ["nobody", "none"] });
    expect(problem).not.toHaveProperty("items");
  });

  test("2: all current matches at once, in the order of Runs, and duplicates yield duplicates", async () => {
    const runs = ["timedout", "pending", "complete", "timedout"];
    const answer = await post({ runs, states: ["done"], wait: "60s" });
    expect(idsOf(answer)).toEqual(["timedout", "complete", "timedout"]);
  });

  test("3: time-out 0 returns at once, empty, without an error", async () => {
    expect(await get("id=pending&state=done&wait=0")).toMatchObject({ items: [] });
    expect(await get("id=pending&state=done")).toMatchObject({ items: [] });
  });

  test("3: time-out > 0 waits; on expiry it is empty, without an error, with the service", async () => {
    const service = [
      { pool: "default", initialized: true, healthy: true },
      { pool: "patient", initialized: true, healthy: true },
    ];
    const queries = ["id=pending&state=done", "id=pending&id=running&state=done", "label=made:none"];
    for (const query of queries) {
      expect(await get(`${query}&wait=300ms`)).toEqual({ items: [], next: null, service });
    }
  });

  test("3: the first update that matches ends it", async () => {
    await submit({ id: "first-1", labels: { first: "x" }, argv: ["true"], pool: "patient" });
    await submit({ id: "first-2", labels: { first: "x" }, argv: ["true"], pool: "patient" });
    const waits = [
      get("id=first-1&id=first-2&state=done&wait=60s"),
      get("label=first:x&state=done&wait=60s"),
      get("id=first-2&state=done&wait=60s"),
      post({ runs: ["first-1", "first-2"], states: ["aborted"], wait: "60s" }),
    ];
    await abort("first-2");
    for (const answer of await Promise.all(waits)) expect(idsOf(answer)).toEqual(["first-2"]);
  });

  test("3: a negative time-out (there: no limit) is a mistake; the server has the longest", async () => {
    expect(await up.json(400, "GET", "/v1/runs?wait=-1s")).toMatchObject({ code: "invalid_request" });
    expect(idsOf(await get("id=complete&wait=2h"))).toEqual(["complete"]);
  });

  test("4: a client that goes away ends only its own wait, and no run looks aborted", async () => {
    const gone = new AbortController();
    const headers = { authorization: `Bearer ${up.token}` };
    const url = `${up.url}/v1/runs?id=pending&id=running&state=done&wait=60s`;
    const cut = fetch(url, { headers, signal: gone.signal });
    gone.abort();
    await expect(cut).rejects.toThrow();
    expect(await get("id=pending&id=running&state=all")).toMatchObject({
      items: [
        { id: "pending", state: "pending" },
        { id: "running", state: "running" },
      ],
    });
  });

  test("what can no longer come is not waited for (quirk: there it hangs)", async () => {
    // If it were waited for, these together would take longer than a test may.
    const hopeless = [
      "id=complete&state=running",
      "id=running&state=pending",
      "id=complete&id=failed&state=aborted",
    ];
    for (const query of hopeless) expect(await get(`${query}&wait=60s`)).toMatchObject({ items: [] });
    await submit({ id: "other-1", argv: ["true"], pool: "patient" });
    await submit({ id: "other-2", argv: ["true"], pool: "patient" });
    const wait = get("id=other-1&id=other-2&state=failed&wait=60s");
    await abort("other-1");
    await abort("other-2");
    expect(await wait).toMatchObject({ items: [] });
  });

  test("a run that is deleted while it is waited for: 410, and not a wait without end (quirk)", async () => {
    await submit({ id: "deleted", argv: ["true"], pool: "patient" });
    await abort("deleted");
    await until("it is deleted", async () => {
      return (await up.call("DELETE", "/v1/runs/deleted")).status === 204 || undefined;
    });
    const problem = await up.json(410, "GET", "/v1/runs?id=deleted&id=pending&state=done&wait=60s");
    expect(problem).toMatchObject({ code: "expired_run", runs: ["deleted"] });
  });
});

describe("all of them (api.md#wait-for-all)", () => {
  test("is held until the last, counts what is open, and has each that is there", async () => {
    for (const id of ["all-1", "all-2"]) {
      await submit({ id, labels: { all: "x" }, argv: ["true"], pool: "patient" });
    }
    const byLabel = get("label=all:x&state=done&all=1&wait=60s");
    const byId = post({ runs: ["all-2", "all-1"], states: ["done"], all: true, wait: "60s" });
    await abort("all-1");
    await inAll("all-1");
    const part = await get("label=all:x&state=done&all=1&wait=100ms");
    expect([idsOf(part), part.all]).toEqual([["all-1"], { holds: false, open: 1, possible: true }]);
    await abort("all-2");
    const holds = { holds: true, open: 0, possible: true };
    expect([idsOf(await byLabel), (await byLabel).all]).toEqual([["all-2", "all-1"], holds]);
    expect([idsOf(await byId), (await byId).all]).toEqual([["all-2", "all-1"], holds]);
  });

  /** Waits until its pool knows that it has ended. */
  async function inAll(id: string): Promise<void> {
    await until(
      `${id} has ended`,
      async () => idsOf(await get("label=all:x&state=done&wait=20s")).includes(id) || undefined,
    );
  }

  test("is over at once when one has ended otherwise", async () => {
    const answer = await get("id=complete&id=pending&state=aborted&all=1&wait=60s");
    expect(answer.all).toEqual({ holds: false, open: 1, possible: false });
    const labeled = await get("label=made:here&state=complete&all=1&wait=60s");
    expect(labeled.all).toMatchObject({ holds: false, possible: false });
  });

  test("of nothing, nothing is missing", async () => {
    expect((await get("label=all:nothing&state=done&all=1&wait=60s")).all).toMatchObject({ holds: true });
    expect((await post({ runs: [], states: ["done"], all: true })).all).toMatchObject({ holds: true });
  });
});

describe("convenience calls (api.md#query), by the client", () => {
  const client = () => createClient({ url: up.url, token: up.token });

  test("StatusNow: the run, and an unknown id is an error and never an empty list", async () => {
    expect(await client().runs.get("complete")).toMatchObject({ state: "complete", exitCode: 9 });
    await expect(client().runs.get("nobody")).rejects.toMatchObject({ code: "unknown_run", status: 404 });
  });

  test("FinalStatus: however long it takes; an unknown id is an error at once", async () => {
    await submit({ id: "final", argv: ["true"], pool: "patient" });
    const final = client().runs.wait("final");
    await abort("final");
    expect(await final).toMatchObject({ state: "aborted" });
    await expect(client().runs.wait("nobody")).rejects.toMatchObject({ code: "unknown_run" });
  });

  test("WaitForState: returns, too, when the run ends by another path (quirk: there it hangs)", async () => {
    const passed = await client().runs.get("complete", { until: "running", waitMs: 60_000 });
    expect(passed.state).toBe("complete");
  });

  test("SingleStatus of an empty list has no counterpart: one run is a route of its own", async () => {
    expect(await up.json(200, "GET", "/v1/runs/pending")).toMatchObject({ id: "pending" });
  });

  test("StatusAll: all runs in all states", async () => {
    expect(idsOf(await client().runs.list({ labels: { made: "here" } }))).toEqual(NEWEST_FIRST);
  });
});

describe("polling (api.md#query-1, api.md#query-service)", () => {
  test("is not needed: an unknown id is no empty list, and a pool without runs is healthy", async () => {
    expect(await up.json(404, "GET", "/v1/runs?id=nobody&wait=1s")).toMatchObject({ runs: ["nobody"] });
    const { service, items } = await get("pool=patient&label=made:none");
    expect([items, service]).toEqual([[], [{ pool: "patient", initialized: true, healthy: true }]]);
    expect(await up.json(404, "GET", "/v1/runs?pool=nowhere")).toMatchObject({ code: "unknown_pool" });
  });
});

describe("history (api.md#history)", () => {
  test("ended runs are kept until their time is over or they are deleted; then 410, not 404", async () => {
    await submit({ id: "old", argv: ["true"], pool: "patient" });
    await abort("old");
    await submit({ id: "newer", argv: ["true"], pool: "patient" });
    expect(idsOf(await get("id=old&state=aborted&wait=20s"))).toEqual(["old"]);
    await until("it is deleted", async () => {
      return (await up.call("DELETE", "/v1/runs/old")).status === 204 || undefined;
    });
    expect(await up.json(410, "GET", "/v1/runs/old")).toMatchObject({ code: "expired_run" });
    expect(await up.json(410, "GET", "/v1/runs?id=old&id=newer")).toMatchObject({ runs: ["old"] });
    expect(await up.json(410, "POST", "/v1/runs", { id: "old", argv: ["true"] })).toMatchObject({
      code: "expired_run",
    });
  });

  // That the pool lets go by itself when its retention is over: test/objects/forget.test.ts.
});

test("10,000 ids in one query, with duplicates, in the order of the ids (api.md#query-ids)", async () => {
  const runs = Array.from({ length: 10_000 }, (_, index) => MADE[(index * 7) % MADE.length] ?? "");
  const beganAt = performance.now();
  const { items } = await post({ runs, states: ["all"] });
  console.info(`10,000 ids of 6 runs: ${Math.round(performance.now() - beganAt)} ms`);
  expect(items.map((run: Json) => run.id)).toEqual(runs);
});
