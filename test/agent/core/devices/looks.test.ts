import { describe, expect, test } from "vitest";
import { LOOK_EVERY_MS, usableDevices } from "../../../../agent/core/devices/looks.ts";
import { FAULT_LASTS_MS } from "../../../../agent/core/reports/fitness.ts";
import { type Driven, idleHost, run } from "../drive.ts";
import { failing, gpu, hostWith, NO_SOURCE, needs, seen } from "./gpus.ts";

const ID = "a/main/1.1";
const shown = (id: string, healthy = true) => ({
  id,
  vendor: "nvidia",
  model: "T4",
  memoryBytes: 2 ** 34,
  driver: "550",
  healthy,
});

/** Looks so many times, each time with this result. */
function look(host: Driven, event: Parameters<Driven["tell"]>[0], times: number): Driven {
  for (let time = 0; time < times; time += 1) host.pass(LOOK_EVERY_MS).tell(event);
  return host;
}

describe("a host looks at its devices (devices.md#looks)", () => {
  test("at the pace of other inspections, one look at a time", () => {
    const host = hostWith(gpu("g0"));
    expect(host.pass(LOOK_EVERY_MS - 1).message("look_at_devices")).toBeUndefined();
    expect(host.pass(1).message("look_at_devices")).toBeDefined();
    expect(host.pass(LOOK_EVERY_MS).message("look_at_devices")).toBeDefined();
    expect(host.tell(seen(gpu("g0"))).message("look_at_devices")).toBeUndefined();
  });

  test("and no more once it ends", () => {
    const host = hostWith(gpu("g0")).tell({ type: "shutdown" }).pass(LOOK_EVERY_MS);
    expect(host.message("look_at_devices")).toBeUndefined();
  });

  test.each<[string, () => Driven, number | undefined]>([
    ["before the first look", idleHost, undefined],
    ["without a source", () => idleHost().tell(NO_SOURCE), undefined],
    ["with two, of which one is broken", () => hostWith(gpu("g0"), gpu("g1", { healthy: false })), 1],
    ["with none", () => hostWith(), 0],
    ["with a source that fails", () => idleHost().tell(failing()), 0],
  ])("and counts those that can be used: %s", (_, host, count) => {
    expect(usableDevices(host().state)).toBe(count);
  });
});

describe("what a host says of its devices (devices.md#report)", () => {
  test("is in each full report, without variables and paths", () => {
    const host = hostWith(gpu("g0", { env: { A: "1" }, paths: ["/dev/g0"], cdi: "x.com/gpu=0" }));
    expect(host.pass(60_000).report()?.devices).toEqual({ list: [shown("g0")] });
  });

  test("is nothing where nothing names devices", () => {
    expect(idleHost().tell(NO_SOURCE).pass(60_000).report()).not.toHaveProperty("devices");
  });

  test.each<[string, Parameters<Driven["tell"]>[0], object[]]>([
    ["one that vanishes", seen(gpu("g0")), [shown("g0")]],
    ["one that breaks", seen(gpu("g0"), gpu("g1", { healthy: false })), [shown("g0"), shown("g1", false)]],
    ["one that comes", seen(gpu("g0"), gpu("g1"), gpu("g2")), [shown("g0"), shown("g1"), shown("g2")]],
  ])("is news at once: %s", (_, event, list) => {
    const host = hostWith(gpu("g0"), gpu("g1")).pass(1_000);
    host.send();
    expect(host.answer([]).message("report")?.waitMs).not.toBe(0);
    expect(host.tell(event).report()?.devices).toEqual({ list });
  });

  test("stays as it was while a source fails for a moment", () => {
    const host = look(hostWith(gpu("g0")), failing(), FAULT_LASTS_MS / LOOK_EVERY_MS);
    expect(host.pass(1_000).report()?.devices).toEqual({ list: [shown("g0")] });
    look(host, seen(gpu("g0")), 1);
    look(host, failing(), FAULT_LASTS_MS / LOOK_EVERY_MS);
    expect(host.pass(1_000).report()?.devices).toEqual({ list: [shown("g0")] });
  });

  test.each<[string, Parameters<Driven["tell"]>[0], string | RegExp]>([
    ["a source that goes on failing", failing("it hangs"), "it hangs"],
    ["a source that is taken away", NO_SOURCE, /nothing on this machine names its devices any more/],
  ])("is a fault, and no device, after %s", (_, event, fault) => {
    const host = look(hostWith(gpu("g0")), event, FAULT_LASTS_MS / LOOK_EVERY_MS + 1);
    expect(host.pass(1_000).report()?.devices).toEqual({ list: [], fault: expect.stringMatching(fault) });
    look(host, seen(gpu("g0")), 1);
    expect(host.pass(1_000).report()?.devices).toEqual({ list: [shown("g0")] });
  });

  test("is a fault at once if no device was ever known, in the words that it had first", () => {
    const host = idleHost().tell(failing("it prints HTML"));
    expect(host.pass(1_000).report()?.devices).toEqual({ list: [], fault: "it prints HTML" });
    look(host, failing("it prints other HTML"), 2);
    expect(host.pass(1_000).report()?.devices).toEqual({ list: [], fault: "it prints HTML" });
  });
});

test("a device that vanishes from under a task stays the task's own (devices.md#vanished)", () => {
  const host = hostWith(gpu("g0"), gpu("g1")).order([run(ID, { task: needs(1) })]);
  host
    .tell({ type: "launched", id: ID, by: "processes" })
    .pass(LOOK_EVERY_MS)
    .tell(seen(gpu("g1")));
  expect(host.state.attempts[ID]).toMatchObject({ main: "running", devices: [{ id: "g0" }] });
  host.pass(LOOK_EVERY_MS).tell(seen(gpu("g0"), gpu("g1")));
  host.order([run(ID, { task: needs(1) }), run("b/main/1.1", { task: needs(1) })]);
  expect(host.state.attempts["b/main/1.1"]).toMatchObject({ devices: [{ id: "g1" }] });
});
