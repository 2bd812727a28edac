import { beforeEach, describe, expect, test } from "vitest";
import { redrivenRun } from "../../src/shared/retry/redrive.ts";
import { type Caller, type Json, openEdge } from "./support/edge.ts";
import { bootMachine, eventually, freshWorld, makePool, objects, submit } from "./support/world.ts";

// Runs of a job that have failed for good, and run again after somebody has looked at them (jobs.md#redrive).

const world = freshWorld();
const edge = openEdge();

let admin: Caller;
beforeEach(async () => {
  admin = edge.admin;
  await makePool();
  await put();
});

const put = (name = "nightly", retry: object = { park: true }) =>
  admin.json(201, "PUT", `/v1/jobs/${name}`, { spec: { argv: ["true"], retry } });
const trigger = (key: string, job = "nightly", by = admin): Promise<Json> =>
  by.json(201, "POST", `/v1/jobs/${job}/trigger`, { key });
const redrive = (body: object, status = 200, by = admin): Promise<Json> =>
  by.json(status, "POST", "/v1/jobs/nightly/redrive", body);
const parkedOf = async (job = "nightly"): Promise<Json[]> =>
  (await admin.json(200, "GET", `/v1/runs?label=drover.job%3A${job}&parked=1`)).items;
const idsOf = async (): Promise<string[]> =>
  (await admin.json(200, "GET", "/v1/runs?state=all")).items.map(({ id }: Json) => id).sort();

/** The run ends with this exit code, on a machine that is booted for it. */
async function ends(id: string, code: number): Promise<void> {
  const { host } = await bootMachine(world.cloud);
  const attempt = `${id}/main/1.1`;
  await eventually(async () => {
    const { attempts } = await host.report();
    return attempts.some((one) => one.id === attempt) || undefined;
  });
  host.attempts = [{ id: attempt, state: "running", startedAgoMs: 5 }];
  await host.report();
  const exit = { code, signal: null, oomKilled: false, message: "" };
  host.attempts = [{ id: attempt, state: "exited", startedAgoMs: 5, exit }];
  await host.report();
}

/** A run of a job that is parked. */
async function parked(key: string, job = "nightly"): Promise<string> {
  const { id } = await trigger(key, job);
  await ends(id, 2);
  await eventually(async () => (await parkedOf(job)).find((run) => run.id === id));
  return id;
}

describe("the parked runs of a job", () => {
  test("are listed by its label, each with its reason and the number of its tries", async () => {
    const id = await parked("one");
    expect(await parkedOf()).toMatchObject([
      { id, parked: { reason: "after one try: ended with exit code 2", tries: 1 } },
    ]);
    expect((await objects.allocation(id).read()).retries).toMatchObject({ try: 1, of: 1 });
  });

  test("case 24: redriven by several at once, by whichever route, run again once", async () => {
    const id = await parked("one");
    const answers = await Promise.all([
      redrive({ runs: [id] }),
      redrive({ all: true }),
      admin.send("POST", `/v1/runs/${id}/redrive`).then(async (one) => {
        const { id: as } = (await one.json()) as Json;
        return { items: [{ run: id, as, created: one.status === 201 }] };
      }),
      redrive({ runs: [id, id] }),
    ]);
    const items = answers.flatMap((one) => one.items);
    expect(new Set(items.map(({ as }) => as)).size).toBe(1);
    expect(items.filter(({ created }) => created)).toHaveLength(1);
    expect(await idsOf()).toEqual([id, items[0].as].sort());
    const again = await objects.allocation(items[0].as).read();
    expect(again).toMatchObject({
      labels: { "drover.job": "nightly", "drover.job-version": "1" },
      spec: { rerunOf: id, env: { DROVER_JOB: "nightly" } },
    });
    await eventually(async () => ((await parkedOf()).length === 0 ? true : undefined));
  });

  test("whose redrive died before its note: the next one finds the same run", async () => {
    const id = await parked("one");
    const { id: as, ...again } = await redrivenRun(await objects.allocation(id).read());
    await objects.allocation(as).submit({ ...again, by: "ann", project: "default", budget: null });
    expect(await redrive({ all: true })).toMatchObject({
      items: [{ run: id, as, created: false }],
      failed: [],
    });
    expect((await objects.allocation(id).read()).redriven).toMatchObject({ run: as });
  });

  test("need only the right to trigger the job, which a token for another pool does not see", async () => {
    const id = await parked("one");
    const scopes = ["runs:read", "jobs:trigger"];
    const caller = edge.as((await admin.json(201, "POST", "/v1/tokens", { name: "t", scopes })).token);
    expect((await caller.send("POST", `/v1/runs/${id}/redrive`)).status).toBe(403);
    const limits = { pools: ["other"] };
    const other = await admin.json(201, "POST", "/v1/tokens", { name: "o", scopes, limits });
    await redrive({ all: true }, 404, edge.as(other.token));
    const { items } = await redrive({ runs: [id] }, 200, caller);
    expect(items).toMatchObject([{ run: id, created: true }]);
  });
});

test("a job that has changed its pool shows who is limited to the new one nothing of before", async () => {
  await makePool({}, "secret");
  const { admin: fresh, as } = openEdge(); // it knows the new pool
  const spec = { argv: ["true"], pool: "secret" };
  await fresh.json(200, "PUT", "/v1/jobs/nightly", { spec });
  const { id } = await trigger("k", "nightly", fresh);
  await fresh.json(200, "PUT", "/v1/jobs/nightly", { spec: { argv: ["false"] } });
  const scopes = ["runs:read", "jobs:trigger"];
  const limits = { pools: ["default"] };
  const limited = as((await admin.json(201, "POST", "/v1/tokens", { name: "l", scopes, limits })).token);
  await limited.json(404, "GET", `/v1/runs/${id}`);
  const refused = await limited.json(409, "POST", "/v1/jobs/nightly/trigger", { key: "k" });
  expect([refused.code, JSON.stringify(refused)]).toEqual([
    "run_exists",
    expect.not.stringContaining("secret"),
  ]);
  const { items } = await limited.json(200, "GET", "/v1/jobs/nightly/versions");
  expect(items.map(({ version }: Json) => version)).toEqual([3, 1]);
});

describe("what is not redriven says why, and keeps none of the others", () => {
  test("a run of another job, one that is not parked, and one that is not there", async () => {
    const id = await parked("one");
    await put("other");
    await trigger("x", "other");
    await trigger("two");
    const asked = ["other-by-x", "nightly-by-two", "nobody", id];
    const { items, failed } = await redrive({ runs: asked });
    expect(items).toMatchObject([{ run: id, created: true }]);
    expect(failed).toMatchObject([
      { id: "nobody", code: "unknown_run" },
      { id: "other-by-x", code: "unknown_run", detail: 'the job "nightly" has no run "other-by-x"' },
      { id: "nightly-by-two", code: "not_parked" },
    ]);
  });

  test("a run that its pool does not take stays parked", async () => {
    const concurrency = { key: "deploy", strategy: "cancel-new" };
    const spec = { argv: ["true"], retry: { park: true }, concurrency };
    await admin.json(200, "PUT", "/v1/jobs/nightly", { spec });
    const id = await parked("one");
    await trigger("two");
    const { items, failed } = await redrive({ runs: [id] });
    const detail = expect.stringContaining("nightly-by-two");
    expect([items, failed]).toMatchObject([[], [{ id, code: "concurrency_held", detail }]]);
    expect((await objects.allocation(id).read()).parked).toBeDefined();
  });

  test.each<[string, object, string]>([
    ["neither runs nor all", {}, "/all"],
    ["both", { runs: ["a"], all: true }, "/all"],
    ["more runs than one request has", { runs: Array.from({ length: 101 }, (_, i) => `r${i}`) }, "/runs"],
    ["a page of named runs", { runs: ["a"], limit: 3 }, "/limit"],
    ["a cursor that nobody has given", { all: true, cursor: "x" }, "/cursor"],
  ])("%s is refused as a whole", async (_what, body, pointer) => {
    expect((await redrive(body, 400)).errors).toMatchObject([{ pointer }]);
  });

  test("a job that does not exist", async () => {
    expect((await admin.json(404, "POST", "/v1/jobs/nobody/redrive", { all: true })).code).toBe(
      "unknown_job",
    );
  });
});

test("a run of an array is redriven without the limit that would end it for what failed before", async () => {
  const array = { id: "a", index: 0, size: 1, maxParallel: 1 };
  await submit("a-0", { array: { ...array, failAt: 1 }, retry: { park: true } });
  const { spec } = await redrivenRun(await objects.allocation("a-0").read());
  expect(spec).toMatchObject({ rerunOf: "a-0", retry: { park: true } });
  expect(spec.array).toEqual(array);
});

test("`overlap` of the job does not count for a redriven run, and a key of its author does", async () => {
  const labels = { "drover.job": "nightly" };
  const of = async (key: string) => {
    const spec = { labels, concurrency: { key, limit: 1, strategy: "cancel-running" } };
    const run = { id: "nightly-at-1", project: "default", submittedAt: "2026-11-22T01:30:00.000Z", spec };
    return (await redrivenRun(run)).spec.concurrency;
  };
  expect(await of("job:nightly")).toBeUndefined();
  expect(await of("deploy")).toMatchObject({ key: "deploy", strategy: "cancel-running" });
});

describe("a policy that only parks (retry.md#fields)", () => {
  test("is for runs without a job, too, and names no cause", async () => {
    await submit("alone", { retry: { park: true } });
    expect((await objects.allocation("alone").read()).spec.retry).toMatchObject({ on: [], park: true });
  });

  test("without parking a policy names a cause", async () => {
    const refused = await admin.json(400, "POST", "/v1/runs", { argv: ["true"], retry: {} });
    expect(refused.errors).toMatchObject([{ pointer: "/retry/on" }]);
  });
});
