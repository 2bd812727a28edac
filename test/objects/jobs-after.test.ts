import { reset } from "cloudflare:test";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { RunStatus } from "../../src/schema/run/run.ts";
import { TestCloud } from "./support/cloud.ts";
import { type Caller, type Json, openEdge } from "./support/edge.ts";
import { type PlayedHost, startPlayedHost } from "./support/played-host.ts";
import { askedMachine, eventually, makePool, objects, submit } from "./support/world.ts";

// Jobs that follow jobs, and runs that do, through real objects in workerd (jobs.md#following).

let host: PlayedHost;
let admin: Caller;
beforeAll(async () => {
  const cloud = new TestCloud();
  cloud.open();
  admin = openEdge().admin;
  await makePool({ allowFakeDriver: true });
  await makePool({ allowFakeDriver: true, maxInstances: 0 }, "never");
  await submit("first", played());
  const { worker, code } = await askedMachine(cloud);
  host = startPlayedHost(worker, code);
});
afterAll(async () => {
  host.end();
  vi.restoreAllMocks();
  await reset();
});

/** What is played for so long, and then ends with this exit code. */
function played(runFor = "1ms", exitCode = 0): object {
  const resources = { vcpus: 0, memory: "1MiB" };
  const task = { name: "main", argv: ["play"], driver: "fake", fake: { runFor, exitCode }, resources };
  return { tasks: [task], restart: { attempts: 0 }, reschedule: { attempts: 0 } };
}

/** Stores a job whose runs are played, and that follows others. */
const put = (name: string, spec: object, after: object[] = [], status = 201): Promise<Json> =>
  admin.json(status, "PUT", `/v1/jobs/${name}`, {
    spec: { ...spec, ...(after.length === 0 ? {} : { after }) },
  });
const trigger = (name: string, status = 201, body: object = {}): Promise<Json> =>
  admin.json(status, "POST", `/v1/jobs/${name}/trigger`, body);
const inState = (id: string, ...states: RunStatus["state"][]) =>
  eventually(async () => {
    const run = await objects.allocation(id).read();
    return states.includes(run.state) ? run : undefined;
  });

describe("a job that follows another (jobs.md#following)", () => {
  test("starts after its latest run has ended well, and says which run that is", async () => {
    await put("etl", played("2s"));
    await put("report", played(), [{ job: "etl" }]);
    const { id } = await trigger("etl", 201, { key: "one" });
    const waiting = await trigger("report");
    expect([id, waiting.spec.after, waiting.state]).toEqual(["etl-by-one", [{ run: id }], "pending"]);
    expect((await admin.json(200, "GET", `/v1/runs/${waiting.id}/why`)).reason).toMatchObject({
      code: "awaiting",
      text: expect.stringContaining("run etl-by-one to end well"),
    });
    const report = await inState(waiting.id, "complete");
    const etl = await inState(id, "complete");
    expect(Date.parse(report.startedAt ?? "")).toBeGreaterThanOrEqual(Date.parse(etl.finishedAt ?? ""));
  });

  test("case 17: whose run had failed before, ends at once", async () => {
    await put("broken", played("1ms", 7));
    await put("behind", played(), [{ job: "broken" }]);
    const { id } = await trigger("broken");
    await inState(id, "complete");
    const { failure, startedAt } = await inState((await trigger("behind")).id, "failed");
    expect(failure).toMatchObject({
      code: "dependency_failed",
      text: `run ${id}, after which it was to start, ended with exit code 7`,
    });
    expect(startedAt).toBeNull();
  });

  test("case 18: in a chain of five whose first fails, all end, and each names the first", async () => {
    await put("c1", played("1s", 7));
    for (const n of [2, 3, 4, 5]) await put(`c${n}`, played(), [{ job: `c${n - 1}` }]);
    const ids: string[] = [];
    for (const n of [1, 2, 3, 4, 5]) ids.push((await trigger(`c${n}`)).id);
    for (const id of ids.slice(1)) {
      const { failure, startedAt } = await inState(id, "failed");
      expect([failure?.code, startedAt]).toEqual(["dependency_failed", null]);
      expect(failure?.text).toContain(`${ids[0]}`);
      expect(failure?.text).toContain("ended with exit code 7");
    }
  });

  test("case 19: and a second one that never begins, ends as soon as the first has failed", async () => {
    await put("stuck", { ...played(), pool: "never" });
    await put("and", played(), [{ job: "stuck" }, { job: "c1" }]);
    const { id } = await trigger("stuck");
    expect((await inState((await trigger("and")).id, "failed")).failure?.text).toContain("exit code 7");
    expect((await objects.allocation(id).read()).state).toBe("pending");
  });

  test.each<[string, object, RunStatus["state"]]>([
    ["failure", played("1ms", 5), "complete"],
    ["timeout", { ...played("10m"), timeout: "1ms" }, "timedout"],
    ["abort", { ...played(), pool: "never" }, "aborted"],
  ])("case 20: however it ends, starts after %s", async (what, spec, state) => {
    await put(`one-${what}`, spec);
    await put(`any-${what}`, played(), [{ job: `one-${what}`, on: "any" }]);
    await put(`bad-${what}`, played(), [{ job: `one-${what}`, on: "failure" }]);
    const { id } = await trigger(`one-${what}`);
    const followers = [await trigger(`any-${what}`), await trigger(`bad-${what}`)];
    if (what === "abort") await objects.allocation(id).abort({ reason: "x", by: "ann", waitMs: 0 });
    await inState(id, state);
    for (const one of followers) await inState(one.id, "complete");
  });

  test("without a run is refused, and so is one that is too old; the same key then works", async () => {
    await put("idle", played());
    await put("eager", played(), [{ job: "idle", maxAge: "1h" }]);
    const refused = await trigger("eager", 404, { key: "k" });
    expect([refused.code, refused.detail]).toEqual([
      "unknown_run",
      expect.stringContaining('names job "idle"'),
    ]);
    await trigger("idle");
    const { id } = await trigger("eager", 201, { key: "k" });
    await inState(id, "complete");
    // Once it is there it is found, whatever has become of the other job.
    await put("eager", played(), [{ job: "idle", maxAge: "1ms" }], 200);
    expect((await trigger("eager", 200, { key: "k" })).id).toBe(id);
  });
});

describe("a run that follows a job (jobs.md#following)", () => {
  const send = (body: object, status = 201): Promise<Json> => admin.json(status, "POST", "/v1/runs", body);

  test("follows its latest run, also in a batch, and beside other runs", async () => {
    await put("source", played());
    const { id } = await trigger("source");
    const { items } = await send({
      runs: [
        { ...played(), id: "batch-1", after: [{ job: "source", on: "any" }] },
        { ...played(), id: "batch-2", after: ["batch-1", { job: "source" }] },
      ],
    });
    expect(items.map((one: Json) => one.spec.after)).toEqual([
      [{ run: id, on: "any" }],
      ["batch-1", { run: id }],
    ]);
    await inState("batch-2", "complete");
  });

  test("is refused with the pointer and what to do, and a repeated request finds its run", async () => {
    await put("empty", played());
    const body = { ...played(), id: "later", after: [{ job: "empty" }] };
    const refused = await send(body, 404);
    expect([refused.code, refused.errors]).toEqual([
      "unknown_run",
      [{ pointer: "/after/0", detail: expect.stringContaining("drover jobs trigger empty") }],
    ]);
    expect((await send({ ...body, after: [{ job: "nobody" }] }, 404)).code).toBe("unknown_job");
    const { id } = await trigger("empty");
    expect((await send(body)).spec.after).toEqual([{ run: id }]);
    await inState("later", "complete");
    await admin.json(200, "GET", "/v1/jobs/empty");
    await admin.send("DELETE", "/v1/jobs/empty");
    expect((await send(body, 200)).id).toBe("later");
    expect((await send({ ...body, id: "other" }, 404)).code).toBe("unknown_job");
  });
});

describe("what a PUT and a DELETE refuse (jobs.md#following-put)", () => {
  test("a circle through three others is named whole, an unknown job and a run are refused", async () => {
    for (const name of ["w", "x", "y", "z"]) await put(name, played());
    await put("w", played(), [{ job: "x" }], 200);
    await put("x", played(), [{ job: "y" }], 200);
    await put("y", played(), [{ job: "z" }], 200);
    const circle = await put("z", played(), [{ job: "w" }], 400);
    expect(circle.errors).toEqual([
      { pointer: "/spec/after/0/job", detail: expect.stringContaining("z after w after x after y after z") },
    ]);
    expect((await put("z", played(), [{ job: "nobody" }], 404)).code).toBe("unknown_job");
    expect((await put("z", played(), [{ run: "w" }], 400)).errors[0].pointer).toContain("/spec/after/0");
  });

  test("a job that others follow stays until nobody does; a paused one is still followed", async () => {
    expect((await admin.json(409, "DELETE", "/v1/jobs/x")).code).toBe("job_in_use");
    await put("w", played(), [], 200);
    await admin.json(200, "POST", "/v1/jobs/y/pause");
    const { id } = await trigger("z");
    expect((await trigger("y")).spec.after).toEqual([{ run: id }]);
    expect((await admin.send("DELETE", "/v1/jobs/x")).status).toBe(204);
  });

  test("who must not see a job learns by a DELETE neither of it nor of those that follow it", async () => {
    const scopes = ["jobs:write", "runs:read"];
    const limits = { pools: ["never"] };
    const { token } = await admin.json(201, "POST", "/v1/tokens", { name: "other", scopes, limits });
    const other = openEdge().as(token);
    const [hidden, none] = [
      await other.json(404, "DELETE", "/v1/jobs/z"),
      await other.json(404, "DELETE", "/v1/jobs/nobody"),
    ];
    expect({ ...hidden, instance: "" }).toEqual({
      ...none,
      instance: "",
      detail: none.detail.replaceAll("nobody", "z"),
    });
    expect((await admin.json(409, "DELETE", "/v1/jobs/z")).detail).toContain("y");
  });

  test("a job that is removed at the same time leaves followers that say so", async () => {
    // As if the PUT had been admitted before the removal was known.
    await put("gone", played());
    await put("left", played(), [{ job: "gone" }]);
    await objects.job("gone").remove("ann");
    const refused = await trigger("left", 404);
    expect([refused.code, refused.detail]).toEqual([
      "unknown_job",
      expect.stringContaining('names job "gone"'),
    ]);
  });
});
