import {
  abortAllDurableObjects,
  evictDurableObject,
  runDurableObjectAlarm,
  runInDurableObject,
} from "cloudflare:test";
import { describe, expect, test } from "vitest";
import type { Message, Receiver } from "../../src/core/inbox.ts";
import type { AttemptReport } from "../../src/schema/host.ts";
import { refusal } from "./support/host.ts";
import {
  bindings,
  bootMachine,
  eventually,
  freshWorld,
  makePool,
  objects,
  peers,
  submit,
} from "./support/world.ts";

const world = freshWorld();
const RUNNING: AttemptReport = { id: "run/main/1.1", state: "running", startedAgoMs: 10 };
const EXITED: AttemptReport = {
  id: "run/main/1.1",
  state: "exited",
  startedAgoMs: 10,
  endedAgoMs: 1,
  exit: { code: 3, signal: null, oomKilled: false, message: "" },
};

async function runningRun() {
  await makePool();
  await submit("run");
  const { worker, host } = await bootMachine(world.cloud);
  await eventually(async () => ((await host.report()).attempts.length > 0 ? true : undefined));
  host.attempts = [RUNNING];
  await host.report();
  return { worker, host };
}

const allocation = () => bindings.ALLOCATION.getByName("run");
const pool = () => bindings.POOL.getByName("default");

describe("what a restart may not lose (shell.md#shell)", () => {
  test("every object can be evicted under a running command, and its end arrives", async () => {
    const { worker, host } = await runningRun();
    expect((await objects.allocation("run").read()).state).toBe("running");
    await evictDurableObject(allocation());
    await evictDurableObject(bindings.CLOUD_WORKER.getByName(worker));
    await evictDurableObject(pool());
    host.attempts = [EXITED];
    await eventually(async () => ((await host.report()).attempts.length === 0 ? true : undefined));
    expect(await objects.allocation("run").read()).toMatchObject({ state: "complete", exitCode: 3 });
    await eventually(async () => {
      const { items } = await objects
        .pool("default")
        .list({ states: ["complete"], labels: {} }, { limit: 1 });
      return items[0];
    });
  });

  test("every object can be reset at once between the order and the first report", async () => {
    await makePool();
    await submit("run");
    const { host } = await bootMachine(world.cloud);
    await eventually(async () => ((await host.report()).attempts.length > 0 ? true : undefined));
    await abortAllDurableObjects();
    host.attempts = [EXITED];
    await eventually(async () => {
      const orders = await host.report().catch(() => undefined);
      return orders?.attempts.length === 0 ? true : undefined;
    });
    expect(await objects.allocation("run").read()).toMatchObject({ state: "complete", exitCode: 3 });
  });

  test("a run whose pool could not be told yet says it again by its own alarm", async () => {
    await makePool();
    await submit("run");
    await evictDurableObject(allocation());
    const said = await runInDurableObject(allocation(), async (_instance, state) => state.storage.getAlarm());
    expect(said).not.toBeNull();
    expect(await runDurableObjectAlarm(allocation())).toBe(true);
    expect((await objects.allocation("run").read()).state).toBe("pending");
  });
});

describe("an object without state writes nothing (rule R6)", () => {
  const place = { run: "none", worker: "w", epoch: 1, version: 1, submittedAt: 1 };
  const order = {
    run: "none",
    epoch: 1,
    revision: 1,
    resources: { vcpus: 1, memoryBytes: 1, diskBytes: 0, gpus: 0 },
    attempts: [],
  };
  const upsert = {
    worker: "none",
    version: 1,
    phase: "ready" as const,
    idleBehavior: "run" as const,
    instance: null,
    address: null,
  };
  const provider = { kind: "http" as const, url: "http://cloud.test", secret: "s" };
  const rest = { readyAt: null, bootOutcome: "success" as const, protocol: 1, reason: "", wantsStop: false };

  const objectOf = { ALLOCATION: "allocation", CLOUD_WORKER: "worker", POOL: "pool" } as const;
  test.each([
    { binding: "ALLOCATION", message: { type: "place", body: place } },
    {
      binding: "ALLOCATION",
      message: { type: "observed", body: { run: "none", epoch: 1, worker: "w", held: true, attempts: [] } },
    },
    {
      binding: "ALLOCATION",
      message: {
        type: "ended",
        body: { run: "none", epoch: 1, worker: "w", how: "lost", held: true, at: 0 },
      },
    },
    { binding: "ALLOCATION", message: { type: "poke_run", body: { run: "none", submittedAt: 1 } } },
    {
      binding: "ALLOCATION",
      message: { type: "end_run", body: { run: "none", submittedAt: 1, reason: "", by: "ann" } },
    },
    { binding: "CLOUD_WORKER", message: { type: "order", body: order } },
    {
      binding: "CLOUD_WORKER",
      message: { type: "sighting", body: { worker: "none", beganAt: 1, consistencyMs: 0, provider } },
    },
    { binding: "CLOUD_WORKER", message: { type: "poke_worker", body: { worker: "none" } } },
    { binding: "CLOUD_WORKER", message: { type: "drain_worker", body: { worker: "none" } } },
    { binding: "CLOUD_WORKER", message: { type: "make_room", body: { worker: "none" } } },
    { binding: "CLOUD_WORKER", message: { type: "turn", body: { worker: "none", version: 1 } } },
    {
      binding: "CLOUD_WORKER",
      message: { type: "kill_worker", body: { worker: "none", reason: "", by: "ann" } },
    },
    { binding: "POOL", message: { type: "worker", body: { ...upsert, ...rest } } },
  ] as { binding: keyof typeof objectOf; message: Message<Receiver> }[])(
    "$message.type to $binding is answered no_such",
    async ({ binding, message }) => {
      const mailbox = peers[objectOf[binding]]("none") as {
        deliver(message: Message<Receiver>): Promise<unknown>;
      };
      expect(await mailbox.deliver(message)).toEqual({ kind: "no_such" });
      const stub = bindings[binding].getByName("none");
      const left = await runInDurableObject(stub, async (_instance, { storage }) => {
        return { alarm: await storage.getAlarm(), keys: [...storage.kv.list()], bytes: tables(storage) };
      });
      expect(left).toEqual({ alarm: null, keys: [], bytes: [] });
    },
  );

  test.each([
    ["unknown_pool", { pool: "nowhere" }],
    ["unsatisfiable", { resources: { vcpus: 64 } }],
    ["host_paths_not_allowed", { dir: "/tmp" }],
  ])("a submission that is refused with %s leaves nothing (messages.md#submission)", async (code, more) => {
    await makePool();
    expect(await refusal(submit("run", more))).toMatchObject({ name: "DroverError", code });
    expect((await refusal(objects.allocation("run").read())).code).toBe("unknown_run");
    const left = await runInDurableObject(allocation(), async (_instance, { storage }) => {
      return { alarm: await storage.getAlarm(), keys: [...storage.kv.list()] };
    });
    expect(left).toEqual({ alarm: null, keys: [] });
    expect(
      (await objects.pool("default").list({ states: ["pending"], labels: {} }, { limit: 1 })).items,
    ).toEqual([]);
  });
});

function tables(storage: DurableObjectStorage): string[] {
  const rows = storage.sql.exec<{ name: string }>(
    "SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'",
  );
  return rows.toArray().map(({ name }) => name);
}

test("what a newer version has stored is refused, and stays (shell.md#shell, versions)", async () => {
  await makePool();
  await submit("run");
  await runInDurableObject(allocation(), async (_instance, { storage }) => {
    storage.kv.put("state", { v: 2, value: { newer: true } });
  });
  await evictDurableObject(allocation());
  const { message } = await refusal(objects.allocation("run").read());
  expect(message).toMatch(/newer version of Drover/);
});

test("logs that outgrow the one value are kept in rows, and read back byte for byte", async () => {
  const { host } = await runningRun();
  const bytes = Uint8Array.from({ length: 300_000 }, (_, i) => (i * 31 + (i >> 8)) % 256);
  const pieceBytes = 50_000;
  for (let from = 0; from < bytes.length; from += pieceBytes) {
    const data = btoa(String.fromCharCode(...bytes.subarray(from, from + pieceBytes)));
    host.attempts = [{ ...RUNNING, log: { stdout: { from, size: from + pieceBytes, data } } }];
    const orders = await host.report();
    expect(orders.logs["run/main/1.1"]?.stdout).toBe(from + pieceBytes);
  }
  await evictDurableObject(allocation());
  const read = (from: number, maxBytes: number) =>
    objects.allocation("run").log({ task: "main", stream: "stdout", from, maxBytes, waitMs: 0 });
  for (const [from, maxBytes] of [
    [0, 1_000_000],
    [1, 7],
    [99_999, 100_001],
    [299_999, 10],
    [-5, 10],
  ] as const) {
    const start = from < 0 ? bytes.length + from : from;
    const chunk = await read(from, maxBytes);
    expect(chunk.from).toBe(start);
    expect(chunk.data).toEqual(bytes.slice(start, start + maxBytes));
  }
});
