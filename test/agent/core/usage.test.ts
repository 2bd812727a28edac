import { describe, expect, test } from "vitest";
import { FIRST_SAMPLE_MS, MAX_SAMPLED_ATTEMPTS, SAMPLE_EVERY_MS } from "../../../agent/core/reports/usage.ts";
import { START_REPORT_DELAY_MS } from "../../../src/shared/limits.ts";
import { busyHost, type Driven, EXIT, ID, idleHost, run } from "./drive.ts";

// What runs is measured now and then, and reports say it: host-protocol.md#report; tasks.md#usage.

const raw = (cpuMs: number) => ({ cpuMs, memoryBytes: 4_096, pids: 2 });
const sampled = (host: Driven, cpuMs: number) =>
  host.tell({ type: "sampled", host: raw(cpuMs), attempts: { [ID]: raw(cpuMs) } });
const isDue = (host: Driven) => host.message("sample") !== undefined;

describe("a sample", () => {
  test.each<[string, () => Driven, boolean]>([
    ["of nothing", () => idleHost().pass(60_000), false],
    ["of what has just begun", () => busyHost().pass(FIRST_SAMPLE_MS - 1), false],
    ["of what has run for a moment", () => busyHost().pass(FIRST_SAMPLE_MS), true],
    ["too soon after another", () => sampled(busyHost().pass(1_000), 1).pass(SAMPLE_EVERY_MS - 1), false],
    ["in time after another", () => sampled(busyHost().pass(1_000), 1).pass(SAMPLE_EVERY_MS), true],
    ["of what has ended", () => ended().pass(60_000), false],
  ])("%s is owed or not", (_, host, due) => {
    expect(isDue(host())).toBe(due);
  });

  test("N8: each attempt has its first a moment after its own start, whenever others were sampled", () => {
    const host = sampled(busyHost().pass(FIRST_SAMPLE_MS), 1).pass(2_000);
    host.order([run(), run("late/main/1.1")]).tell({ type: "launched", id: "late/main/1.1", by: "cgroup" });
    expect(isDue(host.pass(FIRST_SAMPLE_MS - 1))).toBe(false);
    expect(host.pass(1).message("sample")?.ids).toContain("late/main/1.1");
    sampled(host, 2);
    expect(isDue(host.pass(SAMPLE_EVERY_MS - 1))).toBe(false);
    expect(isDue(host.pass(1))).toBe(true);
  });

  test("N8: the report of a start has the first sample of it", () => {
    const host = idleHost().order([run()]).tell({ type: "launched", id: ID, by: "cgroup" });
    const first = sampled(host.pass(FIRST_SAMPLE_MS), 1)
      .pass(START_REPORT_DELAY_MS - FIRST_SAMPLE_MS)
      .report();
    expect(first).toMatchObject({
      attempts: [{ id: ID, state: "running" }],
      usage: { attempts: { [ID]: raw(1) } },
    });
  });

  test("N8: many that start one after the other are sampled together", () => {
    const ids = Array.from({ length: 20 }, (_, i) => `r${i}/main/1.1`);
    const host = idleHost().order(ids.map((id) => run(id)));
    for (const id of ids) host.tell({ type: "launched", id, by: "cgroup" }).pass(10);
    let samples = 0;
    for (let ms = 0; ms < 2 * FIRST_SAMPLE_MS; ms += 10) {
      if (isDue(host.pass(10))) samples += 1;
      if (isDue(host)) sampled(host, ms);
    }
    expect(samples).toBeLessThan(3);
  });

  const ended = () => busyHost().tell({ type: "exited", id: ID, exit: EXIT });

  test("says how many processors were used since the one before", () => {
    const host = sampled(busyHost().pass(1_000), 500);
    sampled(host.pass(10_000), 5_500);
    expect(host.state.usage.latest?.attempts[ID]).toEqual({ ...raw(5_500), cpus: 0.5 });
    sampled(host.pass(10_000), 5_000); // what ended took its time with it
    expect(host.state.usage.latest?.attempts[ID]?.cpus).toBe(0);
  });

  test(`is of ${MAX_SAMPLED_ATTEMPTS} attempts at most, for a report has no room for more`, () => {
    const ids = Array.from({ length: MAX_SAMPLED_ATTEMPTS + 1 }, (_, i) => `r${i}/main/1.1`);
    const host = idleHost().order(ids.map((id) => run(id)));
    for (const id of ids) host.tell({ type: "launched", id, by: "cgroup" });
    expect(host.pass(1_000).message("sample")?.ids.length).toBe(MAX_SAMPLED_ATTEMPTS);
  });
});

describe("a report says what is used", () => {
  test("if it is whole", () => {
    const host = sampled(busyHost().pass(1_000), 500).pass(60_000);
    expect(host.report()).toMatchObject({ full: true, usage: { attempts: { [ID]: raw(500) } } });
  });

  test("and not of what has ended since", () => {
    const host = sampled(busyHost().pass(1_000), 500).tell({ type: "exited", id: ID, exit: EXIT });
    expect(host.pass(60_000).report()?.usage).toBeUndefined();
  });

  test("in a delta only once for each sample", () => {
    const setup = { type: "joined", setup: { ...SOCKET } } as const;
    const host = busyHost().tell(setup).tell({ type: "socket_opening" }).tell({ type: "socket_opened" });
    host.pass(1_000);
    if (host.message("report")) host.send();
    sampled(host.order([run()]).pass(1_000), 500);
    const delta = () => {
      size += 5;
      host.tell({ type: "output", id: ID, stream: "stdout", size }).pass(1_000);
      const { report } = host.send();
      const stored = { [ID]: { stdout: size } };
      host.answer([run()], { revision: host.revision, logs: stored });
      expect(report.full).toBe(false);
      return report.usage !== undefined;
    };
    let size = 0;
    expect([delta(), delta()]).toEqual([true, false]);
    sampled(host.pass(SAMPLE_EVERY_MS), 900);
    expect([delta(), delta()]).toEqual([true, false]);
  });
});

const SOCKET = {
  worker: "w-1",
  incarnation: 3,
  reportUrl: "http://plane/reports",
  socketUrl: "ws://plane/socket",
  probe: { intervalMs: 10_000, boot: "true" },
  leaseMs: 1_800_000,
  agent: { version: "1", sha256: "" },
};
