import { describe, expect, test } from "vitest";
import { NAME_PATTERN } from "../../src/schema/common.ts";
import { DroverError } from "../../src/shared/errors.ts";
import { MAX_BATCH_RUNS, MAX_SPEC_BYTES } from "../../src/shared/limits.ts";
import { createEdge, type Edge, type Json } from "./support/edge.ts";

const argv = ["true"];
const SPEC = { argv };

function post(edge: Edge, body: unknown, key?: string): Promise<Response> {
  return edge.call("POST", "/v1/runs", body, key === undefined ? {} : { "idempotency-key": key });
}

describe("one run", () => {
  test("is answered with 201 and its status", async () => {
    const edge = createEdge();
    const answer = await post(edge, { argv, labels: { team: "x" } });
    expect(answer.status).toBe(201);
    expect(answer.headers.get("idempotency-replayed")).toBeNull();
    const status: Json = await answer.json();
    expect(status).toMatchObject({ state: "pending", labels: { team: "x" }, spec: { argv, priority: 50 } });
    expect(edge.runs.has(status.id)).toBe(true);
  });

  test("gets an id that is a name and sorts by time", async () => {
    const edge = createEdge();
    const ids: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      ids.push((await edge.json(201, "POST", "/v1/runs", SPEC)).id);
      // Ids of one millisecond have no order.
      const now = Date.now();
      await expect.poll(() => Date.now(), { interval: 1 }).toBeGreaterThan(now);
    }
    expect(ids).toEqual([...ids].sort());
    for (const id of ids) expect(id).toMatch(NAME_PATTERN);
  });

  test("under a chosen id is found again, and clashes with another (409)", async () => {
    const edge = createEdge();
    expect((await post(edge, { argv, id: "mine" })).status).toBe(201);
    edge.setState("mine", "running");
    // The same, with the fields in another order.
    const again = await post(edge, { id: "mine", argv });
    expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([200, "true"]);
    expect(await again.json()).toMatchObject({ id: "mine", state: "running" });
    expect(await edge.json(409, "POST", "/v1/runs", { argv: ["false"], id: "mine" })).toMatchObject({
      code: "run_exists",
    });
    // What is sent counts, not what it means: the default written out is another submission.
    await edge.json(409, "POST", "/v1/runs", { argv, id: "mine", priority: 50 });
    expect(edge.runs.size).toBe(1);
  });

  test("whose job to follow has no run is found, and is not made if it was refused meanwhile", async () => {
    const edge = createEdge();
    await edge.json(201, "PUT", "/v1/jobs/etl", { spec: SPEC });
    const follows = { ...SPEC, id: "mine", after: [{ job: "etl" }] };
    const made = await edge.json(201, "POST", "/v1/jobs/etl/trigger", { key: "one" });
    await edge.json(201, "POST", "/v1/runs", follows);
    edge.runs.delete(made.id);
    expect(await edge.json(200, "POST", "/v1/runs", follows)).toMatchObject({
      spec: { after: [{ run: made.id }] },
    });
    edge.fault = (call) => {
      if (call.endsWith("mine submit")) edge.runs.delete("mine");
    };
    const refused = { code: "unknown_run", errors: [{ pointer: "/after/0" }] };
    expect(await edge.json(404, "POST", "/v1/runs", follows)).toMatchObject(refused);
    expect(edge.runs.has("mine"), "it would follow nothing").toBe(false);
  });

  test("of a batch whose job to follow has no run is found, or named with its own field", async () => {
    const edge = createEdge();
    await edge.json(201, "PUT", "/v1/jobs/etl", { spec: SPEC });
    const made = await edge.json(201, "POST", "/v1/jobs/etl/trigger", { key: "one" });
    const runs = ["mine", "other"].map((id) => ({ ...SPEC, id, after: [{ job: "etl" }] }));
    await edge.json(201, "POST", "/v1/runs", { runs });
    edge.runs.delete(made.id);
    await edge.json(200, "POST", "/v1/runs", { runs });
    const deleteMineAt = (call: string) => {
      edge.fault = (now) => {
        if (now.endsWith(call)) edge.runs.delete("mine");
      };
    };
    deleteMineAt("mine submit");
    const refused = { code: "unknown_run", errors: [{ pointer: "/runs/0/after/0" }] };
    expect(await edge.json(404, "POST", "/v1/runs", { runs })).toMatchObject(refused);
    // Of a run that was never there the refusal comes first, and says what is stored of the others.
    const more = [...runs, { ...SPEC, id: "new", after: [{ job: "etl" }] }];
    const problem = await edge.json(404, "POST", "/v1/runs", { runs: more });
    expect(problem).toMatchObject({
      code: "unknown_run",
      errors: [{ pointer: "/runs/0/after/0" }, { pointer: "/runs/2/after/0" }],
      stored: ["other"],
    });
    expect([...edge.runs.keys()]).toEqual(["other"]);
  });

  test("under a key is found again by the same body, and clashes with another (422)", async () => {
    const edge = createEdge();
    const first: Json = await (await post(edge, SPEC, "key 1")).json();
    expect(first.id).toMatch(/^k-[0-9a-f]{32}$/);
    const again = await post(edge, SPEC, "key 1");
    expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([200, "true"]);
    expect(await again.json()).toMatchObject({ id: first.id });
    const other = await post(edge, { argv: ["false"] }, "key 1");
    expect([other.status, await other.json()]).toMatchObject([422, { code: "idempotency_mismatch" }]);
    expect((await post(edge, SPEC, "key 2")).status).toBe(201);
    expect(edge.runs.size).toBe(2);
  });

  test("may have a spec of exactly 256 KiB as canonical JSON", async () => {
    const edge = createEdge();
    const empty = JSON.stringify({ argv: [""] }).length;
    await edge.json(201, "POST", "/v1/runs", { argv: ["x".repeat(MAX_SPEC_BYTES - empty)] });
    await edge.json(400, "POST", "/v1/runs", { argv: ["x".repeat(MAX_SPEC_BYTES - empty + 1)] });
    // Bytes count, not characters.
    await edge.json(400, "POST", "/v1/runs", { argv: ["ü".repeat((MAX_SPEC_BYTES - empty) / 2 + 1)] });
  });

  test("is taken with any parameter in its content type", async () => {
    const edge = createEdge();
    const headers = { "content-type": "application/json; charset=utf-8" };
    expect((await edge.call("POST", "/v1/runs", SPEC, headers)).status).toBe(201);
  });
});

describe("a run that follows others (api.md#after)", () => {
  test("is taken if they exist for the caller, and has their ids", async () => {
    const edge = createEdge();
    edge.addRun("a");
    edge.addRun("b", { state: "complete" });
    const run = await edge.json(201, "POST", "/v1/runs", { argv, after: ["a", "b"] });
    expect(run.spec.after).toEqual(["a", "b"]);
  });

  test.each([
    ["is unknown", "/after/1", { argv, after: ["a", "nobody"] }],
    ["is unknown, and is to fail", "/after/0", { argv, after: [{ run: "nobody", on: "failure" }] }],
    [
      "is of a submission that has no such run",
      "/runs/1/after/0",
      {
        runs: [
          { argv, id: "x" },
          { argv, after: ["y"] },
        ],
      },
    ],
    ["is an array that does not exist", "/after/0", { argv, after: [{ array: "nobody" }] }],
  ])("is refused, and nothing is stored, if one of them %s", async (_what, pointer, body) => {
    const edge = createEdge();
    edge.addRun("a");
    const problem = await edge.json(404, "POST", "/v1/runs", body);
    expect(problem).toMatchObject({ code: "unknown_run", errors: [{ pointer }] });
    expect(problem.detail).toContain("submit it first");
    expect(edge.runs.size).toBe(1);
  });

  test("may follow runs and arrays of its own submission, which are stored before it", async () => {
    const edge = createEdge();
    const part = (index: number) => ({ argv, id: `p-${index}`, array: { id: "p", index, size: 2 } });
    const runs = [
      { argv, id: "clean", after: [{ run: "join", on: "any" }] },
      { argv, id: "join", after: [{ array: "p" }] },
      part(0),
      part(1),
    ];
    const { items } = await edge.json(201, "POST", "/v1/runs", { runs });
    expect(items.map((run: Json) => run.id)).toEqual(["clean", "join", "p-0", "p-1"]);
    expect([...edge.runs.keys()]).toEqual(["p-0", "p-1", "join", "clean"]);
    expect(
      (await edge.json(201, "POST", "/v1/runs", { argv, after: [{ array: "p", on: "any" }] })).spec,
    ).toEqual(expect.objectContaining({ after: [{ array: "p", on: "any" }] }));
  });

  test("is refused while its array has not all its runs, and says how many there are", async () => {
    const edge = createEdge();
    const runs = [0, 1].map((index) => ({ argv, id: `p-${index}`, array: { id: "p", index, size: 3 } }));
    await edge.json(201, "POST", "/v1/runs", { runs });
    const problem = await edge.json(404, "POST", "/v1/runs", { argv, after: [{ array: "p" }] });
    expect(problem).toMatchObject({ code: "unknown_run", errors: [{ pointer: "/after/0" }], runs: [] });
    expect(problem.detail).toContain('array "p", of which pool "default" has 2 of 3 runs');
    const last = { argv, id: "p-2", array: { id: "p", index: 2, size: 3 } };
    await edge.json(201, "POST", "/v1/runs", { runs: [{ argv, id: "join", after: [{ array: "p" }] }, last] });
  });

  test("is not stored if what it follows in its submission could not be", async () => {
    const edge = createEdge();
    edge.addRun("b", { spec: { argv: ["other"] } } as never);
    const runs = [
      { argv, id: "c", after: ["b"] },
      { argv, id: "a" },
      { argv, id: "b" },
    ];
    const problem = await edge.json(409, "POST", "/v1/runs", { runs });
    expect(problem).toMatchObject({ code: "run_exists", stored: ["a"] });
    expect([...edge.runs.keys()]).toEqual(["b", "a"]);
  });

  test.each<[string, string, object, string]>([
    ["itself", "/after", { argv, id: "x", after: ["x"] }, "x after x"],
    [
      "what follows it",
      "/runs/1/after",
      {
        runs: [
          { argv, id: "z", after: ["x"] },
          { argv, id: "x", after: ["y"] },
          { argv, id: "y", after: [{ run: "x", on: "any" }] },
        ],
      },
      "x after y after x",
    ],
    [
      "its own array",
      "/runs/0/after",
      { runs: [{ argv, id: "p-0", array: { id: "p", index: 0, size: 1 }, after: [{ array: "p" }] }] },
      "p-0 after array p after p-0",
    ],
  ])("is refused if it follows %s, and the circle is spelled out", async (_what, pointer, body, circle) => {
    const edge = createEdge();
    const problem = await edge.json(400, "POST", "/v1/runs", body);
    expect(problem).toMatchObject({ code: "invalid_request", errors: [{ pointer }] });
    expect(problem.detail).toContain(`in a circle: ${circle};`);
    expect(edge.runs.size).toBe(0);
  });

  test("comes behind the first run of a submission with a key, which stands for the key", async () => {
    const edge = createEdge();
    const part = { argv, array: { id: "p", index: 0, size: 1 } };
    const join = { argv, after: [{ array: "p" }] };
    const key = { "idempotency-key": "k" };
    const problem = await edge.json(400, "POST", "/v1/runs", { runs: [join, part] }, key);
    expect(problem.detail).toContain("put that before it");
    await edge.json(201, "POST", "/v1/runs", { runs: [part, join] }, key);
    await edge.json(200, "POST", "/v1/runs", { runs: [part, join] }, key);
  });

  test("is found again by its id when they have been deleted", async () => {
    const edge = createEdge();
    edge.addRun("a");
    const spec = { argv, id: "b", after: ["a"] };
    await edge.json(201, "POST", "/v1/runs", spec);
    edge.runs.delete("a");
    expect((await edge.json(200, "POST", "/v1/runs", spec)).id).toBe("b");
  });
});

describe("a batch", () => {
  test("is answered in its order", async () => {
    const edge = createEdge();
    const runs = Array.from({ length: 100 }, (_, index) => ({ argv, id: `r${index}` }));
    const { items } = await edge.json(201, "POST", "/v1/runs", { runs });
    expect(items.map((run: Json) => run.id)).toEqual(runs.map((run) => run.id));
  });

  test("may have 1,000 runs, whose ids sort by their order", async () => {
    const edge = createEdge();
    const { items } = await edge.json(201, "POST", "/v1/runs", { runs: Array(MAX_BATCH_RUNS).fill(SPEC) });
    const ids = items.map((run: Json) => run.id);
    expect(new Set(ids).size).toBe(MAX_BATCH_RUNS);
    expect(ids).toEqual([...ids].sort());
  });

  test("of one is a batch", async () => {
    expect((await createEdge().json(201, "POST", "/v1/runs", { runs: [SPEC] })).items).toHaveLength(1);
  });

  test("is found again under its key, and another batch under it is 422", async () => {
    const edge = createEdge();
    const runs = [SPEC, { argv: ["false"] }, SPEC];
    const first: Json = await (await post(edge, { runs }, "key")).json();
    const again = await post(edge, { runs }, "key");
    expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([200, "true"]);
    expect(await again.json()).toEqual(first);
    for (const other of [{ runs: runs.slice(0, 2) }, { runs: [...runs, SPEC] }, SPEC]) {
      expect((await post(edge, other, "key")).status).toBe(422);
    }
    expect(edge.runs.size).toBe(3);
  });

  test("of which a part was stored names it, too, if a snapshot is deleted before the rest is", async () => {
    const edge = createEdge();
    const snapshot = `sha256:${"a".repeat(64)}`;
    edge.snapshots.set(snapshot, new Uint8Array(1));
    const runs = [SPEC, { ...SPEC, snapshot }, { ...SPEC, snapshot }];
    let submits = 0;
    edge.fault = (call) => {
      if (!call.endsWith("submit")) return;
      submits += 1;
      if (submits === 3) throw new DroverError("not_acknowledged", "the pool was silent");
    };
    const { stored }: Json = await (await post(edge, { runs }, "key")).json();
    expect(stored).toHaveLength(2);
    edge.snapshots.delete(snapshot);
    const problem: Json = await (await post(edge, { runs }, "key")).json();
    expect(problem).toMatchObject({
      code: "unknown_snapshot",
      stored,
      errors: [{ pointer: "/runs/2/snapshot" }],
    });
    expect(edge.runs.size).toBe(2);
    const other: Json = await (await post(edge, { runs: runs.slice(1) }, "key")).json();
    expect(other, "it is another submission").not.toHaveProperty("stored");
  });

  test("of which only a part could be stored is 503, and the same key completes it", async () => {
    const edge = createEdge();
    const runs = Array(50).fill(SPEC);
    let submits = 0;
    edge.fault = (call) => {
      if (!call.endsWith("submit")) return;
      submits += 1;
      if (submits % 5 === 0)
        throw new DroverError("not_acknowledged", "the pool was silent", { retryAfterMs: 2_000 });
    };
    const partly = await post(edge, { runs }, "key");
    expect([partly.status, partly.headers.get("retry-after")]).toEqual([503, "2"]);
    const problem: Json = await partly.json();
    expect(problem).toMatchObject({ code: "not_acknowledged", temporary: true });
    expect(problem.detail).toContain("40 of 50 runs are stored");
    expect(problem.stored).toHaveLength(40);
    expect(problem.errors).toHaveLength(10);
    expect(problem.errors[0]).toMatchObject({ pointer: expect.stringMatching(/^\/runs\/\d+$/) });
    edge.fault = () => undefined;
    const complete = await post(edge, { runs }, "key");
    expect(complete.status).toBe(201);
    const { items }: Json = await complete.json();
    expect(items).toHaveLength(50);
    expect(edge.runs.size).toBe(50);
  });

  test("that is refused in the middle stops there, and says what is stored", async () => {
    const edge = createEdge();
    const runs = Array.from({ length: 1_000 }, (_, index) => ({
      argv,
      pool: index === 40 ? "nowhere" : "default",
    }));
    const problem = await edge.json(404, "POST", "/v1/runs", { runs });
    expect(problem).toMatchObject({ code: "unknown_pool", temporary: false });
    expect(problem.errors).toMatchObject([{ pointer: "/runs/40" }]);
    expect(problem.stored.sort()).toEqual([...edge.runs.keys()].sort());
    expect(edge.runs.size).toBeLessThan(100);
  });

  test("that is refused stops at once and names the run", async () => {
    const edge = createEdge();
    const runs = Array.from({ length: 1_000 }, () => ({ argv, pool: "nowhere" }));
    const problem = await edge.json(404, "POST", "/v1/runs", { runs });
    expect(problem).toMatchObject({ code: "unknown_pool", temporary: false });
    expect(problem.errors[0].pointer).toBe("/runs/0");
    expect(edge.calls.filter((call) => call.endsWith("submit"))).toHaveLength(1);
    expect(edge.runs.size).toBe(0);
  });

  test("that meets a full queue is 429 if nothing is stored, with Retry-After", async () => {
    const edge = createEdge();
    edge.fault = (call) => {
      if (call.endsWith("submit"))
        throw new DroverError("busy", "the queue is full", { retryAfterMs: 1_500 });
    };
    const answer = await post(edge, { runs: [SPEC, SPEC] });
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([429, "2"]);
    expect(await answer.json()).toMatchObject({ code: "busy", temporary: true, retryAfterMs: 1_500 });
  });
});

describe("a run that names a snapshot (api.md#refused-specs)", () => {
  const [here, gone] = [`sha256:${"a".repeat(64)}`, `sha256:${"b".repeat(64)}`];
  const looks = ({ calls }: Edge) => calls.filter((call) => call === "snapshots size");
  const edgeWith = (id: string) => {
    const edge = createEdge();
    edge.snapshots.set(id, new Uint8Array(1));
    return edge;
  };
  const tasks = [
    { name: "a", argv, snapshot: here, leader: true },
    { name: "b", argv, snapshot: gone },
  ];

  test("is taken if it is there, and each one is looked for once", async () => {
    const edge = edgeWith(here);
    const runs = Array(50).fill({ argv, snapshot: here, outputs: ["*"] });
    await edge.json(201, "POST", "/v1/runs", { runs });
    expect(looks(edge)).toHaveLength(1);
    expect(edge.runs.size).toBe(50);
  });

  test("costs nothing for a run that names none", async () => {
    const edge = createEdge();
    await edge.json(201, "POST", "/v1/runs", SPEC);
    expect(edge.calls.filter((call) => call.startsWith("snapshots"))).toEqual([]);
  });

  test.each<[string, object, string[]]>([
    ["one run", { argv, snapshot: gone }, ["/snapshot"]],
    ["a task", { tasks }, ["/tasks/1/snapshot"]],
    [
      "a batch",
      { runs: [SPEC, { argv, snapshot: gone }, { tasks }] },
      ["/runs/1/snapshot", "/runs/2/tasks/1/snapshot"],
    ],
  ])(
    "%s is refused whose snapshot is not there, by field, and nothing is stored",
    async (_what, body, where) => {
      const edge = edgeWith(here);
      const { code, errors, temporary } = await edge.json(404, "POST", "/v1/runs", body);
      expect([code, temporary]).toEqual(["unknown_snapshot", false]);
      expect(errors.map((one: Json) => one.pointer)).toEqual(where);
      expect(errors[0].detail).toContain(gone);
      expect(edge.runs.size).toBe(0);
    },
  );

  test.each<[string, object, string?]>([
    ["a chosen id", { argv, id: "mine", snapshot: here }],
    ["a key", { argv, snapshot: here }, "key"],
  ])("is found again by %s when the snapshot has been deleted since", async (_what, body, key) => {
    const edge = edgeWith(here);
    const first: Json = await (await post(edge, body, key)).json();
    edge.snapshots.clear();
    const again = await post(edge, body, key);
    expect([again.status, await again.json()]).toMatchObject([200, { id: first.id }]);
    const other = await post(edge, { ...body, argv: ["false"] }, key);
    expect(other.status).toBe(key === undefined ? 409 : 422);
    expect((await post(edge, { argv, snapshot: here })).status).toBe(404);
  });

  test.each(["snapshot", "outputs"])("is refused where there is no bucket: %s", async (field) => {
    const edge = edgeWith(here);
    edge.fault = (call) => {
      if (call === "snapshots ready") throw new DroverError("no_bucket", "there is none");
    };
    const body = { argv, [field]: field === "outputs" ? ["*"] : here };
    expect(await edge.json(501, "POST", "/v1/runs", body)).toMatchObject({ code: "no_bucket" });
    expect(edge.runs.size).toBe(0);
  });
});
