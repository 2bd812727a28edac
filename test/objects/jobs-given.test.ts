import { runDurableObjectAlarm } from "cloudflare:test";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { MAX_PAYLOAD_BYTES } from "../../src/shared/jobs/limits.ts";
import { MAX_SPEC_BYTES } from "../../src/shared/limits.ts";
import { type Caller, type Json, openEdge } from "./support/edge.ts";
import { bindings, eventually, freshWorld, makePool, objects } from "./support/world.ts";

// Jobs in workerd: what a run may be given, who has submitted it, and how many jobs there are.

freshWorld();

let admin: Caller;
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-11-22T01:29:00Z") });
  admin = openEdge().admin;
  await makePool();
});
afterEach(() => {
  vi.useRealTimers();
});

const schedule = { cron: "30 2 * * *", zone: "Europe/Berlin" };
const resources = { vcpus: 0, memory: "1MiB" };
const spec = { argv: ["true"] };
const put = (name: string, fields: object, status = 201): Promise<Json> =>
  admin.json(status, "PUT", `/v1/jobs/${name}`, fields);
const base64 = (bytes: number) => btoa("x".repeat(bytes));

test("the same key finds its run, in whatever order values are given (jobs.md#trigger)", async () => {
  const params = { a: { type: "string" }, b: { type: "string" } };
  await put("two", { spec: { argv: ["echo", "${param.a}", "${param.b}"] }, params });
  await admin.json(201, "POST", "/v1/jobs/two/trigger", { key: "k", params: { a: "1", b: "2" } });
  await admin.json(200, "POST", "/v1/jobs/two/trigger", { key: "k", params: { b: "2", a: "1" } });
});

test("a payload goes into the spec of the run, where `payloadFile` says (jobs.md#payload)", async () => {
  await put("given", { spec, payload: "required", payloadFile: "in/data" });
  const run = await admin.json(201, "POST", "/v1/jobs/given/trigger", { payload: "eA==" });
  expect(run.spec.payload).toEqual({ path: "in/data", content: "eA==" });
});

test("jobs.md#payload-4: a payload that is too large for the tasks of the job is refused", async () => {
  const tasks = Array.from({ length: 13 }, (_, n) => ({ name: `t${n}`, argv: ["true"] }));
  await put("group", { spec: { tasks, resources }, payload: "optional", payloadFile: "in" });
  const trigger = (status: number, bytes: number): Promise<Json> =>
    admin.json(status, "POST", "/v1/jobs/group/trigger", { payload: base64(bytes) });
  const { errors } = await trigger(400, MAX_PAYLOAD_BYTES);
  expect(errors).toEqual([{ pointer: "/payload", detail: expect.stringContaining("each of 13 tasks") }]);
  await trigger(201, MAX_PAYLOAD_BYTES / 2);
});

test("jobs.md#payload-4: neither a job nor a run of it is larger than a run may be", async () => {
  const tooLarge = { spec: { argv: ["x".repeat(MAX_SPEC_BYTES)] } };
  expect((await put("large", tooLarge, 400)).errors[0].detail).toContain("is too large");
  const almost = { argv: ["x".repeat(MAX_SPEC_BYTES - 60_000)] };
  await put("large", { spec: almost, payload: "optional", payloadFile: "in" });
  const refused = await admin.json(400, "POST", "/v1/jobs/large/trigger", { payload: base64(60_000) });
  expect(refused.errors[0]).toEqual({ pointer: "/spec", detail: expect.stringContaining("filled in") });
  await admin.json(201, "POST", "/v1/jobs/large/trigger", {});
});

const labels = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`l${n}`, "x"]));
test.each<[string, object, string]>([
  [
    "with more labels than there is room for beside those of its job",
    { spec: { ...spec, labels: labels(64) } },
    "/spec/labels",
  ],
  [
    "with a variable that its job sets",
    { spec: { ...spec, env: { DROVER_SCHEDULED_AT: "now" } } },
    "/spec/env/DROVER_SCHEDULED_AT",
  ],
  [
    "with an image of nothing",
    {
      spec: { ...spec, container: { image: "${param.v}", network: "host" } },
      params: { v: { type: "string" } },
    },
    "/spec/container/image",
  ],
])(
  "a job whose ticks would all be refused is refused itself: %s (jobs.md#refused)",
  async (_, fields, pointer) => {
    expect((await put("nightly", { ...fields, schedule }, 400)).errors[0].pointer).toBe(pointer);
    const preview = await admin.json(400, "POST", "/v1/jobs/nightly/preview", {
      fields: { ...fields, schedule },
    });
    expect(preview.errors[0].pointer).toBe(`/fields${pointer}`);
  },
);

test("the audit log says that a job has submitted the run of its tick (access.md#actors)", async () => {
  await put("nightly", { spec, schedule });
  vi.setSystemTime(Date.parse("2026-11-22T01:30:00Z"));
  await runDurableObjectAlarm(bindings.JOB.getByName("nightly") as never);
  const entry = await eventually(async () => {
    const { items } = await admin.json(200, "GET", "/v1/audit?action=run.submit");
    return items[0];
  });
  expect(entry.actor).toEqual({ kind: "job", name: "nightly" });
});

test("metrics say how many jobs there are, and wake none of them (jobs.md#metrics)", async () => {
  const jobsIn = async () => {
    const text = await (await admin.send("GET", "/metrics")).text();
    return text.split("\n").filter((line: string) => line.startsWith("drover_jobs"));
  };
  expect(await jobsIn()).toEqual([]);
  await put("nightly", { spec, schedule });
  await put("weekly", { spec, schedule: { ...schedule, cron: "@weekly" } });
  await put("deploy", { spec });
  await admin.json(200, "POST", "/v1/jobs/weekly/pause");
  await eventually(async () => {
    const counts = await jobsIn();
    return counts.includes('drover_jobs{project="default",state="paused"} 1') ? counts : undefined;
  });
  expect((await jobsIn()).sort()).toEqual(
    ["paused", "scheduled", "triggered"].map((state) => `drover_jobs{project="default",state="${state}"} 1`),
  );
});

test("metrics say how many ticks got no run, within an hour of them (jobs.md#skip-counts)", async () => {
  await put("nightly", { spec, schedule: { ...schedule, cron: "* * * * *" } });
  const job = bindings.JOB.getByName("nightly");
  for (const minute of [30, 31, 32]) {
    vi.setSystemTime(Date.parse(`2026-11-22T01:${minute}:00.010Z`));
    await runDurableObjectAlarm(job as never);
  }
  // The first one has its run, which goes on.
  vi.setSystemTime(Date.parse("2026-11-22T02:00:00.010Z"));
  expect(await job.poke()).toMatchObject({ skipped: { overlap: 2 } });
  await objects.registry().poke();
  const text = await eventually(async () => {
    const found = await (await admin.send("GET", "/metrics")).text();
    return found.includes("drover_job_skipped_total{") ? found : undefined;
  });
  expect(text).toContain('drover_job_skipped_total{project="default",job="nightly",reason="overlap"} ');
});
