import { beforeEach, describe, expect, test } from "vitest";
import { newRunId } from "../../client/runs/runs.ts";
import type { PoolApi } from "../../src/objects/rpc.ts";
import { HIDDEN } from "../../src/routes/walls/hidden-values.ts";
import { walledObjects } from "../../src/routes/walls/walls.ts";
import type { AuditEntry } from "../../src/schema/access/audit.ts";
import { PRESETS, type Scope } from "../../src/shared/access/scopes.ts";
import { as, makeToken } from "./support/callers.ts";
import { createEdge, type Edge, type Json } from "./support/edge.ts";
import { addEvents } from "./support/fake-objects.ts";
import {
  expectNobody,
  FOREIGN_CALLS,
  faultsOfTable,
  type Kind,
  LISTS,
  operationsOf,
} from "./support/foreign-calls.ts";
import { workerOf } from "./support/samples.ts";

// A token for one pool and one label: nothing else exists for it.

const RUN_SCOPES: Scope[] = ["runs:read", "runs:logs", "runs:env", "runs:write", "runs:exec"];
const MINE = { team: "mine" };
const OTHERS = ["other-label", "other-pool", "no-label"];
const scopeOf = await operationsOf(createEdge());

let edge: Edge;
let mine: ReturnType<typeof as>;
beforeEach(() => {
  edge = createEdge("default", "private", "both");
  edge.addRun("mine", { labels: MINE });
  edge.addRun("other-label", { labels: { team: "theirs" } });
  edge.addRun("other-pool", { labels: MINE, pool: "private" });
  edge.addRun("no-label");
  for (const run of edge.runs.values()) addEvents(run, 3);
  mine = as(edge, makeToken(edge, RUN_SCOPES, { pools: ["default", "both"], labels: MINE }));
});

describe("a thing beyond a token's limits (access.md#limits)", () => {
  /** What a token that is limited to pools can have at most. */
  const OPERATOR: Scope[] = [
    ...RUN_SCOPES,
    "pools:read",
    "pools:write",
    "workers:write",
    "jobs:write",
    "jobs:trigger",
    "enroll",
    "metrics:read",
    "audit:read",
  ];
  const THEIRS: Record<Kind, string> = {
    run: "other-pool",
    pool: "private",
    worker: "w-private",
    token: "",
    session: "aaaaaaaaaa",
    webhook: "their-hook",
    secret: "their-key",
    trust: "their-rule",
    job: "private-job",
  };
  const OWN: Partial<Record<Kind, string>> = {
    run: "mine",
    pool: "default",
    worker: "w-default",
    job: "own-job",
  };
  const jobIn = (pool: string) => ({
    spec: { argv: ["true"], pool },
    schedule: { cron: "0 2 * * *", zone: "UTC" },
  });
  beforeEach(async () => {
    await edge.json(201, "PUT", "/v1/jobs/private-job", jobIn("private"));
    await edge.json(201, "PUT", "/v1/jobs/own-job", jobIn("default"));
  });

  test("every operation is in the table of what is asked about a thing of others", async () => {
    expect(await faultsOfTable(edge)).toEqual([]);
  });

  test.each(FOREIGN_CALLS)("$operation of a $kind answers as for none: $request", async (call) => {
    edge.workers.set("w-private", workerOf("w-private", "private"));
    const { kind, operation } = call;
    const theirs = kind === "token" ? makeToken(edge, ["runs:read"]).slice(4, 14) : THEIRS[kind];
    const operator = as(edge, makeToken(edge, OPERATOR, { pools: ["default", "both"] }));
    for (const [caller, scopes] of [
      [mine, RUN_SCOPES],
      [operator, OPERATOR],
    ] as const) {
      const has = scopes.some((scope) => scope === scopeOf.get(operation));
      const namesSecret = kind === "secret";
      const expected = has && !namesSecret ? call.expected : "missing_scope";
      const hidden = kind === "run" && caller === mine ? OTHERS : [theirs];
      for (const one of hidden) await expectNobody(edge, caller, call, { theirs: one, expected });
      // No job is within a limit to labels: its parameters may change them.
      const own = kind === "job" && caller === mine ? undefined : OWN[kind];
      if (expected !== call.expected || own === undefined || typeof expected === "number") continue;
      if (operation === "deleteRun") edge.addRun(own, { labels: MINE, state: "complete" });
      const answer = await caller.send(call.method, call.path(own), call.body?.(own));
      expect(answer.status).not.toBe(404);
      await answer.body?.cancel();
    }
  });

  test.each(LISTS)("%s names none of it: %s", async (operation, path) => {
    edge.workers.set("w-private", workerOf("w-private", "private"));
    const operator = as(edge, makeToken(edge, OPERATOR, { pools: ["default", "both"] }));
    for (const [caller, scopes, hidden] of [
      [mine, RUN_SCOPES, /other-|no-label|private/],
      [operator, OPERATOR, /other-pool|private/],
    ] as const) {
      const answer = await caller.send("GET", path);
      const has = scopes.some((scope) => scope === scopeOf.get(operation));
      expect([path, answer.status]).toEqual([path, has ? 200 : 403]);
      expect(await answer.text()).not.toMatch(hidden);
    }
  });
});

describe("a job beyond a token's limits (access.md#limits)", () => {
  const jobIn = (pool: string, priority = 50) => ({ spec: { argv: ["true"], pool, priority } });
  const author = (limits: object) => as(edge, makeToken(edge, ["jobs:write", "jobs:trigger"], limits));

  test("keeps its name: a put of another one says that it is taken, and replaces nothing", async () => {
    await edge.json(201, "PUT", "/v1/jobs/nightly", jobIn("private"));
    const caller = author({ pools: ["default"] });
    const problem = await caller.json(403, "PUT", "/v1/jobs/nightly", jobIn("default"));
    expect(problem).toMatchObject({ code: "beyond_limits", errors: [{ pointer: "/name" }] });
    expect(await edge.json(200, "GET", "/v1/jobs/nightly")).toMatchObject({ pool: "private", version: 1 });
    await caller.json(201, "PUT", "/v1/jobs/weekly", jobIn("default"));
    await caller.json(200, "PUT", "/v1/jobs/weekly", jobIn("default"));
  });

  test("asks for no pool that is hidden: for it there is none", async () => {
    const problem = await author({ pools: ["default"] }).json(
      404,
      "PUT",
      "/v1/jobs/weekly",
      jobIn("private"),
    );
    expect(problem).toMatchObject({ code: "unknown_pool" });
  });

  test("runs with no priority beyond them, whether it is the job's or asked for", async () => {
    await edge.json(201, "PUT", "/v1/jobs/urgent", jobIn("default", 80));
    const caller = author({ maxPriority: 50 });
    for (const body of [{}, { priority: 51 }]) {
      const problem = await caller.json(403, "POST", "/v1/jobs/urgent/trigger", body);
      expect(problem).toMatchObject({ code: "beyond_limits", errors: [{ pointer: "/priority" }] });
    }
    await caller.json(201, "POST", "/v1/jobs/urgent/trigger", { priority: 50 });
  });

  test("with a key that is taken tells no values to whoever may not read them (access.md#ids)", async () => {
    const job = {
      spec: { argv: ["true"], env: { TARGET: "${param.target}" } },
      params: { target: { type: "string" } },
    };
    await edge.json(201, "PUT", "/v1/jobs/deploy", job);
    const asked = (target: string) => ({ params: { target }, key: "first" });
    await edge.json(201, "POST", "/v1/jobs/deploy/trigger", asked("hidden"));
    const problem = await author({}).json(409, "POST", "/v1/jobs/deploy/trigger", asked("other"));
    expect(problem).toMatchObject({ code: "run_exists", detail: expect.stringContaining("of this key") });
    expect(JSON.stringify(problem)).not.toMatch(/hidden|TARGET/);
  });

  test("has no parked run of too high a priority run again", async () => {
    await edge.json(201, "PUT", "/v1/jobs/urgent", jobIn("default", 80));
    const { spec } = await edge.json(201, "POST", "/v1/jobs/urgent/trigger", { key: "first" });
    const parked = { since: "2026-11-21T08:30:00.000Z", reason: "ended with exit code 2" };
    edge.addRun("old", { labels: spec.labels, spec, state: "failed", parked });
    const redrive = (limits: object) =>
      author(limits).json(200, "POST", "/v1/jobs/urgent/redrive", { runs: ["old"] });
    expect((await redrive({ maxPriority: 50 })).failed).toMatchObject([{ id: "old", code: "beyond_limits" }]);
    expect((await redrive({ maxPriority: 80 })).items).toMatchObject([{ run: "old", created: true }]);
  });
});

describe("a run beyond a token's limits (access.md#limits)", () => {
  test("is in no list, whatever is asked for, and in no page of another's cursor", async () => {
    const ids = async (path: string) => (await mine.json(200, "GET", path)).items.map(({ id }: Json) => id);
    expect(await ids("/v1/runs")).toEqual(["mine"]);
    expect(await ids("/v1/runs?label=team:mine")).toEqual(["mine"]);
    expect(await ids("/v1/runs?label=team:theirs")).toEqual([]);
    expect(await ids("/v1/runs?state=all&limit=1000")).toEqual(["mine"]);
    // The cursor of another who has read one run: "other-pool" is the first of all, and "mine" comes behind.
    const { items, next } = await edge.json(200, "GET", "/v1/runs?limit=1");
    expect(items.map(({ id }: Json) => id)).toEqual(["other-pool"]);
    expect(await ids(`/v1/runs?cursor=${next}`)).toEqual(["mine"]);
    await mine.json(404, "GET", "/v1/runs?pool=private");
    await mine.json(404, "GET", "/v1/events?pool=private");
  });

  test("is in no cursor, and judges no wait for all", async () => {
    edge.addRun("mine-too", { labels: MINE });
    const first = await mine.json(200, "GET", "/v1/runs?limit=1");
    expect(Object.keys(JSON.parse(Buffer.from(first.next, "base64url").toString()))).toEqual(["at", "id"]);
    const rest = await mine.json(200, "GET", `/v1/runs?limit=1&cursor=${first.next}`);
    expect([...first.items, ...rest.items].map(({ id }: Json) => id).sort()).toEqual(["mine", "mine-too"]);
    const none = await mine.json(200, "GET", "/v1/runs?label=team:theirs&all=1&state=done");
    expect(none.all).toMatchObject({ holds: true });
  });

  test("is not aborted with all, nor by its label", async () => {
    const all = await mine.json(200, "POST", "/v1/runs/abort", { all: true });
    expect(all.items.map(({ id }: Json) => id)).toEqual(["mine"]);
    const theirs = await mine.json(200, "POST", "/v1/runs/abort", { labels: { team: "theirs" } });
    expect(theirs.items).toEqual([]);
  });

  test("is in no event of its pool, and ends no wait for one", async () => {
    const run = (number: number, id: string, labels: object) => ({
      number,
      run: { id, pool: "default", labels },
    });
    const worker = { number: 4, worker: { id: "w" } };
    const batches = [
      [run(1, "other-label", { team: "theirs" }), worker],
      [run(5, "no-label", {}), run(6, "mine", MINE)],
    ];
    const asked: (number | null)[] = [];
    const events = async (after: number | null) => {
      asked.push(after);
      return { items: batches.shift() ?? [], next: 10 * asked.length };
    };
    const pool = { events } as unknown as PoolApi; // all that is called, with all that is looked at
    const objects = { ...edge.objects, pool: () => pool };
    const caller = {
      by: "token:x",
      project: "default",
      budget: null,
      scopes: RUN_SCOPES,
      limits: { labels: MINE },
      expiresAt: null,
      secret: "",
    };
    const walled = walledObjects(
      objects,
      caller,
      async () => "own",
      async () => undefined,
    );
    const found = await walled.pool("default").events(null, 60_000);
    expect(found.items.map(({ run }) => run?.id)).toEqual(["mine"]);
    expect(found.next).toBe(20);
    expect(asked).toEqual([null, 10]);
  });
});

describe("what a limited token submits (access.md#limits)", () => {
  test("gets its labels, and goes to its pools only", async () => {
    const run = await mine.json(201, "POST", "/v1/runs", { argv: ["true"] });
    expect(run.labels).toEqual(MINE);
    const refused = await mine.json(404, "POST", "/v1/runs", { argv: ["true"], pool: "private" });
    const unknown = await mine.json(404, "POST", "/v1/runs", { argv: ["true"], pool: "nowhere" });
    expect(refused.detail.replace("private", "nowhere")).toBe(unknown.detail);
  });

  test("cannot have other values of its labels, nor too high a priority", async () => {
    const other = await mine.json(403, "POST", "/v1/runs", { argv: ["true"], labels: { team: "theirs" } });
    expect(other).toMatchObject({ code: "beyond_limits", errors: [{ pointer: "/labels/team" }] });
    const modest = as(edge, makeToken(edge, RUN_SCOPES, { maxPriority: 50 }));
    await modest.json(201, "POST", "/v1/runs", { argv: ["true"], priority: 50 });
    const high = await modest.json(403, "POST", "/v1/runs", { argv: ["true"], priority: 51 });
    expect(high).toMatchObject({ code: "beyond_limits", errors: [{ pointer: "/priority" }] });
  });

  test("has no name of its choice: an answer would tell which ids are taken (access.md#ids)", async () => {
    for (const id of ["mine", "no-label", "free"]) {
      const problem = await mine.json(403, "POST", "/v1/runs", { id, argv: ["true"] });
      expect(problem).toMatchObject({ code: "beyond_limits", errors: [{ pointer: "/id" }] });
    }
    await mine.json(201, "POST", "/v1/runs", { id: newRunId(), argv: ["true"] });
    await mine.json(201, "POST", "/v1/runs", { id: `${newRunId()}-7`, argv: ["true"] });
    const array = { id: "guess", index: 0, size: 1 };
    const problem = await mine.json(403, "POST", "/v1/runs", { argv: ["true"], array });
    expect(problem).toMatchObject({ code: "beyond_limits", errors: [{ pointer: "/array/id" }] });
    await mine.json(201, "POST", "/v1/runs", { argv: ["true"], array: { ...array, id: newRunId() } });
  });

  test("has no key that might end a hidden run (pool.md#replacing)", async () => {
    const problem = await mine.json(403, "POST", "/v1/runs", { argv: ["true"], replace: "deploy" });
    expect(problem).toMatchObject({ code: "beyond_limits", errors: [{ pointer: "/replace" }] });
  });

  test("has no key that hidden runs may hold (pool.md#concurrency-keys)", async () => {
    const body = { argv: ["true"], concurrency: { key: "deploy" } };
    const problem = await mine.json(403, "POST", "/v1/runs", body);
    expect(problem).toMatchObject({ code: "beyond_limits", errors: [{ pointer: "/concurrency" }] });
  });

  test("follows no hidden run: for it there is none (api.md#after)", async () => {
    const hidden = newRunId();
    await edge.json(201, "POST", "/v1/runs", { id: hidden, argv: ["true"] });
    const problem = await mine.json(404, "POST", "/v1/runs", { argv: ["true"], after: [hidden] });
    expect(problem).toMatchObject({ code: "unknown_run", errors: [{ pointer: "/after/0" }] });
    await mine.json(201, "POST", "/v1/runs", { argv: ["true"], after: ["mine"] });
  });

  test("follows no array of hidden runs: for it there is none (api.md#after)", async () => {
    const id = newRunId();
    const array = { id, index: 0, size: 1 };
    await edge.json(201, "POST", "/v1/runs", { argv: ["true"], array });
    const after = [{ array: id, on: "any" }];
    const problem = await mine.json(404, "POST", "/v1/runs", { argv: ["true"], after });
    expect(problem).toMatchObject({ code: "unknown_run", errors: [{ pointer: "/after/0" }] });
    expect(problem.detail).toContain("has no run");
    const own = { id: newRunId(), index: 0, size: 1 };
    const runs = [
      { argv: ["true"], array: own },
      { argv: ["true"], after: [{ array: own.id }] },
    ];
    await mine.json(201, "POST", "/v1/runs", { runs });
  });

  test("with the id of a hidden run tells nothing of that run (access.md#ids)", async () => {
    const id = newRunId();
    await edge.json(201, "POST", "/v1/runs", { id, argv: ["secret"], env: { A: "1" } });
    const same = await mine.json(409, "POST", "/v1/runs", { id, argv: ["secret"], env: { A: "1" } });
    const other = await mine.json(409, "POST", "/v1/runs", { id, argv: ["other"] });
    for (const problem of [same, other]) {
      expect(problem).toMatchObject({ code: "run_exists" });
      expect(problem.errors).toBeUndefined();
    }
    expect(same.detail).toBe(other.detail);
  });

  test("is stored whole or not at all, as every batch", async () => {
    const before = edge.runs.size;
    const runs = [{ argv: ["true"] }, { argv: ["true"], labels: { team: "theirs" } }];
    const problem = await mine.json(403, "POST", "/v1/runs", { runs });
    expect(problem.errors[0].pointer).toBe("/runs/1/labels/team");
    expect(edge.runs.size).toBe(before);
  });

  test("has keys of its own: the key of another finds nothing (access.md#ids)", async () => {
    const submit = (of: ReturnType<typeof as>) => of.send("POST", "/v1/runs", { argv: ["true"] });
    const other = as(edge, makeToken(edge, RUN_SCOPES, { labels: { team: "theirs" } }), {
      "idempotency-key": "k",
    });
    const keyed = as(edge, makeToken(edge, RUN_SCOPES, { labels: MINE }), { "idempotency-key": "k" });
    const first: Json = await (await submit(other)).json();
    const second: Json = await (await submit(keyed)).json();
    expect(second.id).not.toBe(first.id);
    expect((await submit(keyed)).headers.get("idempotency-replayed")).toBe("true");
  });
});

describe("the audit log of a token that is limited to a pool (audit.md#reading)", () => {
  const entry = (id: string, pool: string | null): AuditEntry => ({
    id,
    at: "2026-11-21T08:30:00.000Z",
    recordedAt: "2026-11-21T08:30:00.000Z",
    actor: { kind: "token", name: "ci" },
    action: pool === null ? "token.create" : "run.abort",
    target: { kind: pool === null ? "token" : "run", id },
    pool,
    project: "default",
    run: null,
    result: "ok",
    reason: null,
    diff: null,
    via: null,
  });
  const ids = ({ items }: Json) => items.map(({ id }: AuditEntry) => id);

  test("has what concerns that pool, and nothing of tokens or of other pools", async () => {
    edge.audited.push(entry("a", "default"), entry("b", "private"), entry("c", null));
    const all = as(edge, makeToken(edge, ["audit:read"]));
    expect(ids(await all.json(200, "GET", "/v1/audit"))).toEqual(["c", "b", "a"]);
    const own = as(edge, makeToken(edge, ["audit:read"], { pools: ["default"] }));
    const list = await own.json(200, "GET", "/v1/audit");
    expect(ids(list)).toEqual(["a"]);
    expect(ids(await own.json(200, "GET", "/v1/audit?pool=private"))).toEqual([]);
    edge.audited.push(entry("d", "private"), entry("e", null), entry("f", "default"));
    expect(ids(await own.json(200, "GET", `/v1/audit?after=${list.follow}`))).toEqual(["f"]);
  });

  test("cannot be had with a limit to labels, nor by a viewer", async () => {
    const labeled = as(edge, makeToken(edge, ["audit:read"], { labels: MINE }));
    edge.audited.push(entry("a", "default"));
    expect(ids(await labeled.json(200, "GET", "/v1/audit"))).toEqual([]);
    const viewer = as(edge, makeToken(edge, PRESETS.viewer));
    expect(await viewer.json(403, "GET", "/v1/audit")).toMatchObject({ code: "missing_scope" });
  });
});

test("a token without pools:read sees no worker in the changes of a pool (access.md#scopes)", async () => {
  const kinds = async (scopes: Scope[]) =>
    (await as(edge, makeToken(edge, scopes)).json(200, "GET", "/v1/events")).items.map(
      (one: Json) => Object.keys(one)[1],
    );
  expect(await kinds(["runs:read", "pools:read"])).toEqual(["worker"]);
  expect(await kinds(["runs:read"])).toEqual([]);
});

describe("values that need a scope of their own (access.md#hidden-values)", () => {
  const spec = { argv: ["true"], env: { PASSWORD: "hunter2" }, stdin: "secret input" };
  const reader = () => as(edge, makeToken(edge, ["runs:read", "runs:write"]));
  beforeEach(async () => {
    await edge.json(201, "POST", "/v1/runs", { id: "secretive", ...spec });
  });

  test("are hidden from a token without runs:env, in each answer that has a spec", async () => {
    const answers = [
      await reader().json(200, "GET", "/v1/runs/secretive"),
      await reader().json(200, "POST", "/v1/runs/secretive/signal", { signal: "SIGHUP" }),
      await reader().json(200, "POST", "/v1/runs/secretive/abort", {}),
      await reader().json(201, "POST", "/v1/runs", spec),
    ];
    for (const { spec: shown } of answers) {
      expect(shown.env).toEqual({ PASSWORD: HIDDEN });
      expect(shown.stdin).toBe(HIDDEN);
      expect(JSON.stringify(shown)).not.toContain("hunter2");
    }
    const full = await as(edge, makeToken(edge, ["runs:read", "runs:env"])).json(
      200,
      "GET",
      "/v1/runs/secretive",
    );
    expect(full.spec).toMatchObject(spec);
  });

  /** Specs that have values in each place that can have some. */
  const SPECS: [string, Json][] = [
    ["of the run itself", spec],
    ["of a task", { tasks: [{ name: "main", argv: ["true"], env: spec.env, stdin: spec.stdin }] }],
  ];
  /** Each answer that has the statuses of runs. */
  const ANSWERS: [string, (sent: Json) => Promise<Json[]>][] = [
    ["a read", async () => [await reader().json(200, "GET", "/v1/runs/held")]],
    ["a wait", async () => [await reader().json(200, "GET", "/v1/runs/held?wait=10ms&state=done")]],
    ["an abort", async () => [await reader().json(200, "POST", "/v1/runs/held/abort", {})]],
    ["a restart", async () => [await reader().json(200, "POST", "/v1/runs/held/restart", {})]],
    [
      "a signal",
      async () => [await reader().json(200, "POST", "/v1/runs/held/signal", { signal: "SIGHUP" })],
    ],
    [
      "an update",
      async (sent) => [await reader().json(200, "PATCH", "/v1/runs/held", { specIndex: 1, spec: sent })],
    ],
    ["a submission", async (sent) => [await reader().json(201, "POST", "/v1/runs", sent)]],
    ["a batch", async (sent) => (await reader().json(201, "POST", "/v1/runs", { runs: [sent, sent] })).items],
  ];
  const SHOWN = ANSWERS.flatMap(([answer, ask]) =>
    SPECS.map(([place, sent]) => [answer, place, ask, sent] as const),
  );

  test.each(SHOWN)("are hidden in the answer to %s: those %s", async (_answer, _place, ask, sent) => {
    await edge.json(201, "POST", "/v1/runs", { id: "held", ...sent });
    const answers = await ask(sent);
    expect(answers).not.toEqual([]);
    for (const { spec: shown } of answers) {
      const { env, stdin } = shown.tasks?.[0] ?? shown;
      expect({ env, stdin }).toEqual({ env: { PASSWORD: HIDDEN }, stdin: HIDDEN });
      expect(JSON.stringify(answers)).not.toMatch(/hunter2|secret input/);
    }
  });

  test("are not replaced by their placeholder", async () => {
    const { spec: shown } = await reader().json(200, "GET", "/v1/runs/secretive");
    const { id: _, ...update } = shown;
    const refused = await reader().json(400, "PATCH", "/v1/runs/secretive", { spec: update, specIndex: 1 });
    expect(refused.errors.map(({ pointer }: Json) => pointer)).toEqual(["/spec/env/PASSWORD", "/spec/stdin"]);
  });
});

describe("a token for one pool (access.md#limits)", () => {
  const operator: Scope[] = [
    "pools:read",
    "pools:write",
    "workers:write",
    "enroll",
    "metrics:read",
    "runs:read",
  ];

  test("sees and changes that pool and its machines, and no other", async () => {
    const own = as(edge, makeToken(edge, operator, { pools: ["private"] }));
    const names = (await own.json(200, "GET", "/v1/pools")).items.map(({ name }: Json) => name);
    expect(names).toEqual(["private"]);
    const workers = (await own.json(200, "GET", "/v1/workers")).items;
    expect(workers.every(({ pool }: Json) => pool === "private")).toBe(true);
    for (const path of ["/v1/pools/default", "/v1/pools/default/queue", "/v1/workers?pool=default"])
      await own.json(404, "GET", path);
    await own.json(404, "DELETE", "/v1/pools/default");
    await own.json(404, "POST", "/v1/enrollments", { pool: "default" });
    const config = {
      provider: { kind: "http", url: "http://c.test", secret: "s" },
      instanceTypes: { a: { vcpus: 1, memory: "1GiB" } },
    };
    expect(await own.json(403, "PUT", "/v1/pools/third", config)).toMatchObject({ code: "beyond_limits" });
    expect(edge.pools.has("third")).toBe(false);
    const metrics = await (await own.send("GET", "/metrics")).text();
    expect(metrics).not.toContain('pool="default"');
  });
});
