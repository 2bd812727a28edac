import { describe, expect, test } from "vitest";
import type { RunStatus } from "../../src/schema/run/run.ts";
import { redrivenRun } from "../../src/shared/retry/redrive.ts";
import { openEdge } from "./support/edge.ts";
import { bootMachine, eventually, freshWorld, makePool, objects, submit } from "./support/world.ts";

// A run that is tried again, and one that is parked, in the real objects (retry.md).

const world = freshWorld();
const edge = openEdge();

const GIB = 2 ** 30;
const TYPES = {
  small: { vcpus: 2, memory: "4GiB", price: 0.02 },
  large: { vcpus: 4, memory: "8GiB", price: 0.08 },
};

/** The first try of a run ends with this exit on a machine that is booted for it. */
async function fails(id: string, exit: object): Promise<void> {
  const { host } = await bootMachine(world.cloud);
  const attempt = `${id}/main/1.1`;
  await eventually(async () => {
    const { attempts } = await host.report();
    return attempts.some((one) => one.id === attempt) || undefined;
  });
  host.attempts = [{ id: attempt, state: "running", startedAgoMs: 5 }];
  await host.report();
  const ended = { code: null, signal: null, oomKilled: false, message: "", ...exit };
  host.attempts = [{ id: attempt, state: "exited", startedAgoMs: 5, exit: ended }];
  await host.report();
}

const read = (id: string) => objects.allocation(id).read();

/** The run once it is so. */
const once = (id: string, is: (run: RunStatus) => boolean) =>
  eventually(async () => {
    const run = await read(id);
    return is(run) ? run : undefined;
  });

describe("case 23: after a lack of memory (retry.md#escalation)", () => {
  const oom = { signal: "SIGKILL", oomKilled: true };
  const retry = { on: ["oom" as const], backoff: { first: "1h", jitter: 0 }, escalate: { oom: {} } };

  test("the next try has twice the memory, once, shown with its price and its time", async () => {
    await makePool({ instanceTypes: TYPES });
    await submit("model", { retry, resources: { memory: "3GiB" } });
    await fails("model", oom);
    const run = await once(
      "model",
      ({ retries }) => retries?.try === 2 && retries.items[1]?.perHour !== null,
    );
    expect(run.retries).toMatchObject({
      try: 2,
      of: 4,
      items: [
        { try: 1, cause: "oom", memoryBytes: 3 * GIB, perHour: 0.015 },
        { try: 2, cause: null, memoryBytes: 6 * GIB, perHour: 0.06, worker: null },
      ],
    });
    expect(run.spec.resources.memory).toBe("3GiB");
    const why = await objects.allocation("model").why();
    expect(why.reason).toMatchObject({
      code: "rescheduling",
      text: expect.stringMatching(
        /^it waits until \S+ for try 2 of 4 with 6GiB of memory, at 0\.060 per hour,/,
      ),
    });
    expect(why.next.at).toBe(run.retries?.nextAt);
  });

  test("a run whose next try no type could hold is refused, and told which field does it", async () => {
    await makePool({ instanceTypes: TYPES });
    const refused = await submit("model", { retry, resources: { memory: "6GiB" } }).catch((error) => error);
    expect(refused).toMatchObject({
      code: "unsatisfiable",
      message: expect.stringMatching(/`retry\.escalate\.oom` it would ask for 1 vCPUs, 12GiB of memory/),
    });
    const bounded = { ...retry, escalate: { oom: { upTo: "7GiB" } } };
    await submit("model", { retry: bounded, resources: { memory: "6GiB" } });
  });

  test("so is one that would need an on-demand machine, where there is none", async () => {
    await makePool({ instanceTypes: { spot: { ...TYPES.small, preemptible: true } } });
    const onDemand = { on: ["interrupted" as const], escalate: { interrupted: "on-demand" as const } };
    const refused = await submit("model", { retry: onDemand }).catch((error) => error);
    expect(refused).toMatchObject({
      code: "unsatisfiable",
      message: expect.stringMatching(
        /`retry\.escalate\.interrupted` it would ask for a machine that its cloud/,
      ),
    });
  });

  test("a try that nothing can hold, since the pool has changed, ends the run with the reason", async () => {
    await makePool({ instanceTypes: TYPES });
    const soon = { ...retry, backoff: { first: "1s", jitter: 0 }, park: true };
    await submit("model", { retry: soon, resources: { memory: "3GiB" } });
    const { small } = TYPES;
    const { worker } = await eventually(async () => {
      const [asked] = await objects.pool("default").workers(["booting"]);
      return asked === undefined ? undefined : { worker: asked.id };
    });
    expect(worker).not.toBe("");
    await makePool({ instanceTypes: { small } });
    await fails("model", oom);
    const run = await objects.allocation("model").wait(["failed"], 20_000);
    expect(run).toMatchObject({
      state: "failed",
      failure: { code: "unsatisfiable", text: expect.stringMatching(/6GiB.*ran out of memory \(3GiB\)$/) },
      parked: { reason: expect.stringMatching(/^after one try: its next try asks for /) },
    });
  });
});

describe("a parked run (retry.md#parked)", () => {
  const park = { retry: { on: ["oom" as const], park: true } };
  const admin = edge.admin;

  test("is listed as such, and no other run is", async () => {
    await makePool();
    await submit("bad", park);
    await fails("bad", { code: 2 });
    await submit("good", park);
    const parked = await once("bad", (run) => run.parked !== undefined);
    expect(parked.parked?.reason).toBe("after one try: ended with exit code 2");
    const { items } = await admin.json(200, "GET", "/v1/runs?parked=1");
    expect(items).toMatchObject([{ id: "bad", parked: parked.parked }]);
    expect((await admin.json(409, "POST", "/v1/runs/good/redrive")).code).toBe("not_parked");
  });

  test("case 24: redriven by several at once, runs again once", async () => {
    await makePool();
    await submit("bad", park);
    await fails("bad", { code: 2 });
    await once("bad", (run) => run.parked !== undefined);
    const asked = await Promise.all(
      Array.from({ length: 4 }, () => admin.send("POST", "/v1/runs/bad/redrive")),
    );
    const answers = await Promise.all(asked.map(async (one) => (await one.json()) as RunStatus));
    const [first] = answers;
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
    expect(asked.map(({ status }) => status).sort()).toEqual([200, 200, 200, 201]);
    expect(first).toMatchObject({ spec: { rerunOf: "bad" } });
    const { items } = await admin.json(200, "GET", "/v1/runs?state=all");
    expect(items.map(({ id }: { id: string }) => id).sort()).toEqual(["bad", first?.id].sort());
    const after = await read("bad");
    expect(after).toMatchObject({ redriven: { run: first?.id } });
    expect(after.parked).toBeUndefined();
    await eventually(async () => {
      const listed = await admin.json(200, "GET", "/v1/runs?parked=1");
      return listed.items.length === 0 || undefined;
    });
    // Long after, too: the answer is the run that repeats it.
    expect((await admin.json(200, "POST", "/v1/runs/bad/redrive")).id).toBe(first?.id);
  });

  test("whose redrive died before its note is redriven by the next one, as the same run", async () => {
    await makePool();
    await submit("bad", park);
    await fails("bad", { code: 2 });
    const { id, ...again } = await redrivenRun(await once("bad", (run) => run.parked !== undefined));
    const who = { by: "ann", project: "default", budget: null };
    await objects.allocation(id).submit({ ...again, ...who });
    expect((await read("bad")).parked).toBeDefined();
    expect((await admin.json(200, "POST", "/v1/runs/bad/redrive")).id).toBe(id);
    expect((await read("bad")).redriven).toMatchObject({ run: id });
  });

  test("whose redrive died before its note, and whose next run was deleted, is parked no more", async () => {
    await makePool();
    await submit("bad", park);
    const { id, ...again } = await redrivenRun(await read("bad"));
    await objects.allocation(id).submit({ ...again, by: "ann", project: "default", budget: null });
    await admin.json(200, "POST", `/v1/runs/${id}/abort?wait=60s`, {});
    await admin.send("DELETE", `/v1/runs/${id}`);
    await eventually(async () => (await admin.send("GET", `/v1/runs/${id}`)).status === 410 || undefined);
    await fails("bad", { code: 2 });
    await once("bad", (run) => run.parked !== undefined);
    expect((await admin.json(410, "POST", "/v1/runs/bad/redrive")).code).toBe("expired_run");
    const after = await read("bad");
    expect([after.parked, after.redriven]).toMatchObject([undefined, { run: id }]);
  });
});
