import { describe, expect, test } from "vitest";
import type { WorkerEvent } from "../../../src/core/worker/machine.ts";
import { statusOf, whyOf } from "../../../src/core/worker/read/status.ts";
import { upsertOf } from "../../../src/core/worker/read/summary.ts";
import { livePlacements } from "../../../src/core/worker/state.ts";
import type { AttemptReport, Report } from "../../../src/schema/host.ts";
import type { HostDevice } from "../../../src/schema/run/devices.ts";
import { at, BOOTED, created, intent, nothing, order, readyOwn, report, T0 } from "../support/worker.ts";

const ID = "a/main/1.1";
const T4 = { vendor: "nvidia", model: "Tesla T4", memoryBytes: 2 ** 34, driver: "550" };
const gpu = (id: string, healthy = true): HostDevice => ({ id, ...T4, healthy });
const has = (...list: HostDevice[]): Partial<Report> => ({ devices: { list } });
const typed = intent({ type: { vcpus: 4, memory: "1GiB", disk: "0", gpus: 2, price: 1 } });
const booting = () => at(nothing(), T0, { type: "create", body: typed }, created, ENROLL);
const ENROLL: WorkerEvent = { type: "enroll", secret: "s", bootId: "b" };
const made = (more: Partial<Report>) => at(booting(), T0, report(1, { ...BOOTED, ...more }));
const own = (more: Partial<Report>) => at(readyOwn(), T0, report(2, more));
const asks = (gpus: number) => order("a", { resources: { vcpus: 1, memoryBytes: 1, diskBytes: 0, gpus } });
const attempt = (more: Partial<AttemptReport> = {}): AttemptReport => ({
  id: ID,
  state: "running",
  devices: ["g0"],
  ...more,
});

// devices.md#report
describe("a worker knows the devices of its host", () => {
  test("as the latest full report says; a delta says nothing of them", () => {
    const state = own(has(gpu("g0")));
    expect(state.record.devices).toEqual({ list: [gpu("g0")] });
    expect(at(state, T0, report(3, { full: false })).record.devices).toEqual({ list: [gpu("g0")] });
    expect(at(state, T0, report(3)).record).not.toHaveProperty("devices");
  });

  test("and stores what has changed, with an event and a new version, and nothing else", () => {
    const state = own(has(gpu("g0"), gpu("g1", false)));
    expect(state.record.events.at(-1)).toMatchObject({
      type: "Devices",
      message: "1 GPU can be used (Tesla T4); 1 cannot: g1",
    });
    expect(state.record.version).toBeGreaterThan(readyOwn().record.version);
    expect(at(state, T0, report(3, has(gpu("g0"), gpu("g1", false)))).record).toBe(state.record);
  });

  test("and why there are none", () => {
    const state = own({ devices: { list: [], fault: "the plug-in hangs" } });
    expect(statusOf(state, T0)).toMatchObject({ devices: [], devicesFault: "the plug-in hangs" });
    expect(state.record.events.at(-1)?.message).toContain("the plug-in hangs");
  });

  test.each<[string, Partial<AttemptReport>, string | null]>([
    ["runs", {}, ID],
    ["is being stopped", { state: "stopping" }, ID],
    ["has failed, and is kept", { state: "exited", hold: "kept" }, ID],
    ["has ended", { state: "exited" }, null],
    ["has ended, and is kept no more", { state: "exited", hold: "over" }, null],
    ["stores its outputs", { state: "uploading" }, null],
  ])("and who has each: an attempt that %s", (_what, more, holder) => {
    const state = at(own(has(gpu("g0"), gpu("g1"))), T0, asks(1), { type: "orders_sent" });
    const next = at(state, T0, report(3, { ...has(gpu("g0"), gpu("g1")), attempts: [attempt(more)] }));
    expect(statusOf(next, T0).devices?.map((one) => one.attempt)).toEqual([holder, null]);
  });
});

// devices.md#capacity
describe("what of them counts", () => {
  test.each<[string, Partial<Report>, number, object | undefined]>([
    [
      "those that can be used",
      has(gpu("g0"), gpu("g1"), gpu("g2", false)),
      2,
      { count: 2, kinds: [KIND()], listed: { count: 3, kinds: [KIND()] } },
    ],
    ["none, after a fault", { devices: { list: [], fault: "it hangs" } }, 0, { count: 0, kinds: [] }],
    ["what it enrolled with, if it names none", {}, 1, undefined],
  ])("on a self-hosted machine: %s", (_what, more, gpus, usable) => {
    const upsert = upsertOf(own(more), T0);
    expect([upsert.resources?.gpus, upsert.gpus]).toEqual([gpus, usable]);
  });

  test.each<[string, Partial<Report>, number]>([
    ["as many as its type says", has(gpu("g0"), gpu("g1")), 2],
    ["no more than its type says", has(gpu("g0"), gpu("g1"), gpu("g2")), 2],
    ["fewer", has(gpu("g0")), 1],
    ["what the type says, if its host names none", {}, 2],
  ])("on a provider's machine: %s", (_what, more, gpus) => {
    expect(statusOf(made(more), T0).resources.gpus).toBe(gpus);
    expect(livePlacements(at(made(more), T0, asks(gpus)))).toHaveLength(1);
    expect(livePlacements(at(made(more), T0, asks(gpus + 1)))).toHaveLength(0);
  });

  test("a fault takes them all away, but its pool knows which may come back", () => {
    const fault = (text: string): Partial<Report> => ({ devices: { list: [], fault: text } });
    const two = { count: 2, kinds: [KIND()] };
    const none = { count: 0, kinds: [], listed: two };
    const known = own(has(gpu("g0"), gpu("g1")));
    const first = at(known, T0, report(3, fault("it hangs")));
    expect(upsertOf(first, T0).gpus).toEqual(none);
    const second = at(first, T0, report(4, fault("it hangs again")));
    expect(upsertOf(second, T0).gpus).toEqual(none);
    expect(upsertOf(at(second, T0, report(5, has(gpu("g0")))), T0).gpus).toEqual({
      count: 1,
      kinds: [KIND()],
    });
  });

  test("its pool is told of a provider's machine when it is ready", () => {
    const early = at(booting(), T0, report(1, has(gpu("g0"))));
    expect(upsertOf(early, T0).gpus).toBeUndefined();
    expect(upsertOf(at(early, T0, report(2, { ...BOOTED, ...has(gpu("g0")) })), T0).gpus?.count).toBe(1);
  });

  test("`why` says that a machine has fewer than its type says", () => {
    expect(whyOf(made(has(gpu("g0"))), T0).reason.text).toBe(
      "ready; its host can use 1 of the 2 GPUs that its type says",
    );
    const fault = { devices: { list: [], fault: "the driver is not loaded" } };
    expect(whyOf(made(fault), T0).reason.text).toContain("0 of the 2 GPUs that its type says: the driver");
    expect(whyOf(made(has(gpu("g0"), gpu("g1"))), T0).reason.text).toBe("ready");
  });
});

function KIND() {
  const { driver: _, ...kind } = T4;
  return kind;
}
