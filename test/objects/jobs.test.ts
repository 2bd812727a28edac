import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { JobRecord } from "../../src/core/job/record.ts";
import { registryOf } from "../../src/objects/messages/stubs.ts";
import { ValueStore } from "../../src/objects/store.ts";
import { type Caller, type Json, openEdge } from "./support/edge.ts";
import { bindings, eventually, freshWorld, makePool, objects } from "./support/world.ts";

// A job in workerd: its routes, its alarm and its runs (jobs.md). The clock is set by the tests.

freshWorld();

const START = Date.parse("2026-11-22T01:29:00Z");
const nightly = { spec: { argv: ["true"] }, schedule: { cron: "30 2 * * *", zone: "Europe/Berlin" } };
const TICK = "nightly-at-20261122t0130z";

let admin: Caller;
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: START });
  const edge = openEdge();
  admin = edge.admin;
  await makePool();
});
afterEach(() => {
  vi.useRealTimers();
});

const put = (more: object = {}, status = 201, name = "nightly"): Promise<Json> =>
  admin.json(status, "PUT", `/v1/jobs/${name}`, { ...nightly, ...more });
const read = (name = "nightly"): Promise<Json> => admin.json(200, "GET", `/v1/jobs/${name}`);
const stub = (name = "nightly") => bindings.JOB.getByName(name);

/** The clock is at this instant, and the alarm of the job fires. */
async function at(instant: string, name = "nightly"): Promise<void> {
  vi.setSystemTime(Date.parse(instant));
  await runDurableObjectAlarm(stub(name) as never);
}

/** The runs of a job, by id. */
async function runs(job = "nightly"): Promise<Json[]> {
  const { items } = await admin.json(200, "GET", `/v1/runs?label=drover.job%3A${job}`);
  return items.sort((a: Json, b: Json) => (a.id < b.id ? -1 : 1));
}

async function untilRuns(count: number, job = "nightly"): Promise<Json[]> {
  return eventually(async () => {
    const found = await runs(job);
    return found.length >= count ? found : undefined;
  });
}

describe("a tick (jobs.md#ticks)", () => {
  test("has a run that says which tick it is, and of which version", async () => {
    expect((await put()).next[0]).toEqual({
      at: "2026-11-22T01:30:00.000Z",
      local: "2026-11-22T02:30:00+01:00",
      startAt: "2026-11-22T01:30:00.000Z",
      run: TICK,
    });
    await at("2026-11-22T01:30:00.010Z");
    await untilRuns(1);
    expect(await admin.json(200, "GET", `/v1/runs/${TICK}`)).toMatchObject({
      labels: {
        "drover.job": "nightly",
        "drover.job-version": "1",
        "drover.tick": "2026-11-22T01:30:00.000Z",
      },
      spec: { env: { DROVER_JOB: "nightly", DROVER_SCHEDULED_AT: "2026-11-22T01:30:00.000Z" } },
    });
    expect(await read()).toMatchObject({ waiting: [], skips: [] });
  });

  test("case 6: whose alarm fires twice, with an eviction in between, has one run", async () => {
    await put();
    await at("2026-11-22T01:30:00.010Z");
    await evictDurableObject(stub() as never);
    await at("2026-11-22T01:30:00.020Z");
    await untilRuns(1);
    await at("2026-11-22T01:30:30.000Z");
    expect(await runs()).toHaveLength(1);
  });

  test("case 9: has the version of its time, although the job changes before its run starts", async () => {
    await put({ schedule: { ...nightly.schedule, missed: "one" } });
    // The alarm comes late, and the change is there first.
    vi.setSystemTime(Date.parse("2026-11-22T01:30:20Z"));
    await put({ spec: { argv: ["false"] }, schedule: { ...nightly.schedule, missed: "one" } }, 200);
    const [run] = await untilRuns(1);
    expect(await admin.json(200, "GET", `/v1/runs/${run.id}`)).toMatchObject({
      id: TICK,
      labels: { "drover.job-version": "1" },
      spec: { argv: ["true"] },
    });
    expect((await read()).version).toBe(2);
  });

  test("overlap skip: while an earlier run goes on, it is skipped, and says which run that is", async () => {
    await put();
    await at("2026-11-22T01:30:00.010Z");
    await untilRuns(1);
    await evictDurableObject(stub() as never);
    await at("2026-11-23T01:30:00.010Z");
    const skips = await eventually(async () => {
      const found = (await read()).skips;
      return found.length > 0 ? found : undefined;
    });
    expect(skips).toMatchObject([{ reason: "overlap", count: 1, from: "2026-11-23T01:30:00.000Z" }]);
    expect(skips[0].text).toContain(TICK);
    expect(await runs()).toHaveLength(1);
  });

  test("whose pool is gone is skipped with the reason", async () => {
    await put();
    await admin.json(200, "DELETE", "/v1/pools/default");
    await at("2026-11-22T01:30:00.010Z");
    const [skip] = await eventually(async () => {
      const found = (await read()).skips;
      return found.length > 0 ? found : undefined;
    });
    expect(skip).toMatchObject({ reason: "refused", text: expect.stringContaining("default") });
  });
});

describe("a tick of a job that follows another (jobs.md#following)", () => {
  const follows = { spec: { argv: ["true"], after: [{ job: "nightly" }] } };

  test("follows the run of the same tick, whichever alarm comes first", async () => {
    await put();
    await put(follows, 201, "report");
    await at("2026-11-22T01:30:00.010Z", "report");
    await untilRuns(1);
    await at("2026-11-22T01:30:11Z", "report");
    const [run] = await untilRuns(1, "report");
    expect((await admin.json(200, "GET", `/v1/runs/${run.id}`)).spec.after).toEqual([{ run: TICK }]);
  });

  test("says for what it waits, as long as that one's start is spread out", async () => {
    await put({ schedule: { ...nightly.schedule, jitter: "12h" } });
    await put(follows, 201, "report");
    await at("2026-11-22T01:30:00.010Z", "report");
    const [waiting] = await eventually(async () => {
      const found = (await read("report")).waiting;
      return found[0]?.text === undefined ? undefined : found;
    });
    expect(waiting.text).toContain("the run of its tick 2026-11-22T01:30:00.000Z is not submitted yet");
    await at("2026-11-22T02:31:00Z", "report");
    const [skip] = await eventually(async () => {
      const found = (await read("report")).skips;
      return found.length > 0 ? found : undefined;
    });
    expect(skip).toMatchObject({ reason: "not_submitted", text: expect.stringContaining("names job") });
  });

  test("is skipped with the reason if the other one has no run that counts", async () => {
    await put({ schedule: { ...nightly.schedule, cron: "30 3 * * *" } });
    await put({ spec: { argv: ["true"], after: [{ job: "nightly", maxAge: "1h" }] } }, 201, "report");
    await at("2026-11-22T01:30:00.010Z", "report");
    const [skip] = await eventually(async () => {
      const found = (await read("report")).skips;
      return found.length > 0 ? found : undefined;
    });
    expect(skip).toMatchObject({ reason: "refused", text: expect.stringContaining("which has no run from") });
  });
});

describe("a pause (jobs.md#paused)", () => {
  test("skips its ticks together, and begins anew", async () => {
    await put();
    await admin.json(200, "POST", "/v1/jobs/nightly/pause");
    expect(await read()).toMatchObject({ paused: { by: "admin" }, next: [] });
    vi.setSystemTime(Date.parse("2026-11-25T12:00:00Z"));
    const resumed = await admin.json(200, "POST", "/v1/jobs/nightly/resume", {});
    expect(resumed.skips).toMatchObject([{ reason: "paused", count: 4, to: "2026-11-25T01:30:00.000Z" }]);
    expect(resumed.next[0].at).toBe("2026-11-26T01:30:00.000Z");
    expect(await runs()).toEqual([]);
  });

  test("whose ticks are asked for treats them as missed", async () => {
    await put({ schedule: { ...nightly.schedule, catchUp: "24h" } });
    await admin.json(200, "POST", "/v1/jobs/nightly/pause");
    vi.setSystemTime(Date.parse("2026-11-24T12:00:00Z"));
    await admin.json(200, "POST", "/v1/jobs/nightly/resume", { makeUp: true });
    await at("2026-11-24T12:00:30Z");
    expect((await untilRuns(1)).map(({ id }) => id)).toEqual(["nightly-at-20261124t0130z"]);
    expect((await read()).skips.map(({ reason }: Json) => reason)).toEqual(["too_old"]);
  });
});

describe("a trigger (jobs.md#trigger)", () => {
  const deploy = {
    spec: { argv: ["deploy", "${param.target}"] },
    params: { target: { type: "string", required: true } },
  };
  const trigger = (status: number, body: object, name = "deploy"): Promise<Json> =>
    admin.json(status, "POST", `/v1/jobs/${name}/trigger`, body);
  const store = () => admin.json(201, "PUT", "/v1/jobs/deploy", deploy);

  test("case 25: a value is one word, whatever is in it", async () => {
    await store();
    const target = '"; rm -rf /" $(true) `x` \\ \u{1F600}';
    const { spec, id } = await trigger(201, { params: { target }, key: "one" });
    expect([id, spec.argv]).toEqual(["deploy-by-one", ["deploy", target]]);
    const large = "x".repeat(4_096);
    expect((await trigger(201, { params: { target: large } })).spec.argv[1]).toBe(large);
  });

  test("with the same key finds the same run, and with other values is refused", async () => {
    await store();
    await trigger(201, { params: { target: "a" }, key: "one" });
    await trigger(200, { params: { target: "a" }, key: "one" });
    expect((await trigger(409, { params: { target: "b" }, key: "one" })).code).toBe("run_exists");
  });

  test.each([
    [{}, "/params/target"],
    [{ params: { target: 1 } }, "/params/target"],
    [{ params: { target: "a", other: "b" } }, "/params/other"],
    [{ params: { target: "a" }, meta: { note: "x" } }, "/meta/note"],
    [{ params: { target: "a" }, payload: "eA==" }, "/payload"],
    [{ params: { target: "a" }, tick: "2026-11-22T01:30:00Z" }, "/tick"],
  ])("with %j is refused, and makes no run", async (body, pointer) => {
    await store();
    const problem = await trigger(400, body);
    expect(problem.errors[0].pointer).toBe(pointer);
    expect(await runs("deploy")).toEqual([]);
  });

  test("of a tick makes its run, which the tick then finds", async () => {
    await put();
    await trigger(400, { tick: "2026-11-22T01:31:00Z" }, "nightly");
    expect((await trigger(201, { tick: "2026-11-22T01:30:00Z" }, "nightly")).id).toBe(TICK);
    await at("2026-11-22T01:30:00.010Z");
    await at("2026-11-22T01:31:00Z");
    expect([(await runs()).length, (await read()).skips]).toEqual([1, []]);
  });

  test("a paused job can be triggered", async () => {
    await put();
    await admin.json(200, "POST", "/v1/jobs/nightly/pause");
    await trigger(201, {}, "nightly");
  });
});

describe("versions and the end (jobs.md#versions)", () => {
  test("the same fields make no version, others make one", async () => {
    await put();
    expect((await put({}, 200)).version).toBe(1);
    expect((await put({ description: "x" }, 200)).version).toBe(2);
    const { items } = await admin.json(200, "GET", "/v1/jobs/nightly/versions");
    expect(items.map(({ version, description }: Json) => [version, description])).toEqual([
      [2, "x"],
      [1, ""],
    ]);
  });

  test("a removed job is in no list, leaves no row, and its name can be used again", async () => {
    await put();
    await admin.send("DELETE", "/v1/jobs/nightly");
    expect((await admin.json(200, "GET", "/v1/jobs")).items).toEqual([]);
    await admin.json(404, "GET", "/v1/jobs/nightly");
    const left = await runInDurableObject(stub() as never, (_: unknown, { storage }: DurableObjectState) => [
      new ValueStore<JobRecord>(storage).read(),
      storage.sql.databaseSize,
    ]);
    expect(left[0]).toBeNull();
    expect((await put()).version).toBe(1);
    expect((await admin.json(200, "GET", "/v1/jobs")).items).toMatchObject([{ name: "nightly" }]);
  });
});

describe("a preview (jobs.md#preview)", () => {
  const preview = (status: number, body: object) =>
    admin.json(status, "POST", "/v1/jobs/nightly/preview", { count: 2, ...body });

  test("shows the fields that a put then stores, and the same ticks; and stores nothing", async () => {
    const { fields, items } = await preview(200, { fields: nightly });
    await admin.json(404, "GET", "/v1/jobs/nightly");
    const stored = await put();
    expect(stored).toMatchObject(fields);
    expect(items).toEqual(stored.next.slice(0, 2));
    expect((await preview(200, { schedule: nightly.schedule })).items).toEqual(items);
  });

  test("refuses what a put refuses, with pointers into the request", async () => {
    const params = { x: { type: "string" } };
    const fields = { ...nightly, spec: { argv: ["sh", "-c", "echo ${param.x}"] }, params };
    const { errors } = await preview(400, { fields });
    expect(errors.map(({ pointer }: Json) => pointer)).toEqual(["/fields/spec/argv/2"]);
    const put = await admin.json(400, "PUT", "/v1/jobs/nightly", fields);
    expect(put.errors.map(({ pointer }: Json) => `/fields${pointer}`)).toEqual(["/fields/spec/argv/2"]);
    const schedule = { cron: "0 0 31 2 *", zone: "UTC" };
    expect((await preview(400, { schedule })).errors[0].pointer).toBe("/schedule/cron");
  });

  test.each([[{}], [{ schedule: nightly.schedule, fields: nightly }]])(
    "is of either a schedule or all fields: %j is refused",
    async (body) => {
      expect((await preview(400, body)).errors[0].pointer).toBe("/schedule");
    },
  );
});

test("what a list shows as next is what the job shows (jobs.md#tick-3)", async () => {
  await put();
  const list = async () => (await admin.json(200, "GET", "/v1/jobs")).items[0].next;
  const { next } = await read();
  expect([await list(), await list()]).toEqual([next[0], next[0]]);
  vi.setSystemTime(Date.parse(next[0].at));
  expect(await list()).toEqual(next[1]);
  vi.setSystemTime(START);
  expect(await list()).toEqual(next[0]);
  const { items: ticks } = await admin.json(200, "GET", "/v1/jobs/nightly/ticks?count=3");
  expect(ticks).toEqual(next.slice(0, 3));
});

test("others are answered while a long list of jobs is made (jobs.md#list)", async () => {
  const registry = registryOf(bindings);
  const named = {
    pool: "default",
    description: "",
    version: 1,
    schedule: null,
    paused: false,
    changedAt: START,
  };
  for (let n = 0; n < 101; n += 1) {
    const job = { ...named, name: `job-${n}`, project: "default" };
    const said = { name: job.name, project: job.project, createdAt: START, revision: 1, entries: [] };
    await registry.noteJob({ ...said, job });
  }
  const answered: string[] = [];
  const list = registry.jobs(null).then((jobs) => void answered.push(`${jobs.length} jobs`));
  const counts = registry.jobCounts(null).then(() => void answered.push("counts"));
  await Promise.all([list, counts]);
  expect(answered).toEqual(["counts", "101 jobs"]);
});

test("a job whose alarm was lost is poked within an hour of its tick (jobs.md#list)", async () => {
  await put();
  await runInDurableObject(stub() as never, (_: unknown, { storage }: DurableObjectState) =>
    storage.deleteAlarm(),
  );
  await evictDurableObject(stub() as never);
  vi.setSystemTime(Date.parse("2026-11-22T02:00:30Z"));
  await objects.registry().poke();
  // What is missed is spread over some seconds.
  await at("2026-11-22T02:00:40Z");
  expect((await untilRuns(1)).map(({ id }) => id)).toEqual([TICK]);
});

test("who may not read variables sees none of a job (access.md#hidden-values)", async () => {
  await put({ spec: { argv: ["true"], env: { TOKEN: "s3cret" } } });
  const edge = openEdge();
  const { token } = await edge.newToken({ name: "reader", scopes: ["runs:read", "jobs:write"] });
  const reader = edge.as(token);
  const job = await reader.json(200, "GET", "/v1/jobs/nightly");
  expect(JSON.stringify([job, await reader.json(200, "GET", "/v1/jobs/nightly/versions")])).not.toContain(
    "s3cret",
  );
  const { spec, schedule } = job;
  expect((await reader.json(400, "PUT", "/v1/jobs/nightly", { spec, schedule })).errors[0].pointer).toBe(
    "/spec/env/TOKEN",
  );
});
