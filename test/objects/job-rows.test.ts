import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Caller, type Json, openEdge } from "./support/edge.ts";
import { bindings, freshWorld, makePool } from "./support/world.ts";

// What the object of a job writes, counted in workerd (budgets.md#jobs). Its time is years ahead, so that no
// alarm fires by itself.

freshWorld();

let admin: Caller;
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2036-11-22T01:29:00Z") });
  admin = openEdge().admin;
  await makePool();
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const stub = () => bindings.JOB.getByName("nightly");
const read = (): Promise<Json> => admin.json(200, "GET", "/v1/jobs/nightly");

async function put(schedule: object): Promise<void> {
  const whole = { cron: "* * * * *", zone: "UTC", overlap: "allow", ...schedule };
  await admin.json(201, "PUT", "/v1/jobs/nightly", { spec: { argv: ["true"] }, schedule: whole });
}

/** The alarm of the job fires at this instant. */
async function at(instant: string): Promise<void> {
  vi.setSystemTime(Date.parse(instant));
  await runDurableObjectAlarm(stub() as never);
}

/** How often the object of the job has written its record and set its alarm: each is a row. */
async function counted() {
  const rows = { records: 0, alarms: 0 };
  await runInDurableObject(stub() as never, (_: unknown, { storage }: DurableObjectState) => {
    const { put: write } = storage.kv;
    const { setAlarm } = storage;
    vi.spyOn(storage.kv, "put").mockImplementation((...given) => {
      rows.records += 1;
      write.apply(storage.kv, given);
    });
    vi.spyOn(storage, "setAlarm").mockImplementation((...given) => {
      rows.alarms += 1;
      return setAlarm.apply(storage, given);
    });
  });
  return {
    since: (): { records: number; alarms: number } => {
      const all = { ...rows };
      Object.assign(rows, { records: 0, alarms: 0 });
      return all;
    },
  };
}

describe("rows of a job's object (budgets.md#jobs)", () => {
  test("a tick with a run costs two: the record, and the alarm of the next tick", async () => {
    await put({});
    await at("2036-11-22T01:30:00.010Z");
    const rows = await counted();
    for (const minute of [31, 32, 33]) {
      await at(`2036-11-22T01:${minute}:00.010Z`);
      expect(rows.since()).toEqual({ records: 1, alarms: 1 });
    }
    expect((await read()).skips).toEqual([]);
    expect((await admin.json(200, "GET", "/v1/runs?label=drover.job%3Anightly")).items).toHaveLength(4);
    expect(rows.since()).toEqual({ records: 0, alarms: 0 });
  });

  test("a tick that is skipped, since an earlier run goes on, costs the same", async () => {
    await put({ overlap: "skip" });
    await at("2036-11-22T01:30:00.010Z");
    const rows = await counted();
    await at("2036-11-22T01:31:00.010Z");
    expect(rows.since()).toEqual({ records: 1, alarms: 1 });
    expect((await read()).skips).toMatchObject([{ reason: "overlap", from: "2036-11-22T01:31:00.000Z" }]);
  });

  test("nothing is written between ticks, whoever reads or pokes", async () => {
    await put({});
    await at("2036-11-22T01:30:00.010Z");
    const rows = await counted();
    vi.setSystemTime(Date.parse("2036-11-22T01:30:40Z"));
    await read();
    await admin.json(200, "GET", "/v1/jobs");
    await admin.json(200, "GET", "/v1/jobs/nightly/ticks?count=5");
    await stub().poke();
    expect(rows.since()).toEqual({ records: 0, alarms: 0 });
  });

  test("a tick of each week costs one alarm more: the look a day before (jobs.md#zone-2)", async () => {
    await put({ cron: "0 3 * * 1", zone: "Europe/Berlin" });
    await at("2036-11-23T00:00:00.010Z");
    const rows = await counted();
    await at("2036-11-24T02:00:00.010Z");
    await at("2036-11-30T00:00:00.010Z");
    expect(rows.since()).toEqual({ records: 1, alarms: 2 });
  });
});
