import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { LEASE_KILL_MS, WATCHDOG_LOOK_MS } from "../../agent/core/bounds.ts";
import { type Bench, openBench } from "./support/bench.ts";
import { busyAgent, ID, kill, LEASE_MS, leaseUntil, leftOfLease, nowMs } from "./support/leases.ts";

// What happens at the end of a lease that nobody extends: each of these waits for a whole lease.

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
  bench.plane.leaseMs = LEASE_MS;
});
afterEach(async () => {
  const { faults } = bench.plane;
  await bench.close();
  expect(faults).toEqual([]);
});

test("the control plane is away for a whole lease: the agent itself ends its tasks in time", async () => {
  const agent = await busyAgent(bench, "echo ready; exec sleep 300");
  const until = leaseUntil(bench);
  bench.plane.override = () => ({ status: 503 });
  expect(await leftOfLease(bench, until)).toBeGreaterThan(LEASE_KILL_MS - WATCHDOG_LOOK_MS);
  expect(agent.child.exitCode).toBeNull();
  bench.plane.override = () => undefined;
  const told = await bench.plane.untilState(ID, "exited");
  expect(told).toMatchObject({ exit: { signal: "SIGTERM" }, stopped: "lease" });
});

describe("a machine that can end itself (invariant 8)", () => {
  const fileOf = (name: string) => join(bench.dir, name);
  const flags = () => ["--power-off", `echo off >>${fileOf("off")}`];
  const isOff = () => existsSync(fileOf("off"));

  test("does so when the control plane is done with it, after everything is ended", async () => {
    const agent = await busyAgent(bench, "echo ready; exec sleep 300", flags());
    bench.plane.order([], { powerOff: true });
    expect((await agent.ended).code).toBe(0);
    expect([isOff(), bench.processes()]).toEqual([true, []]);
  });

  test("does so at the end of the lease that nobody has extended", async () => {
    const agent = await busyAgent(bench, "echo ready; exec sleep 300", flags());
    const until = leaseUntil(bench);
    bench.plane.override = () => ({ status: 503 });
    expect((await agent.ended).code).toBe(0);
    expect([isOff(), bench.processes()]).toEqual([true, []]);
    expect(nowMs()).toBeGreaterThanOrEqual(until - 1_000);
  });

  test("does so without its agent, too", async () => {
    await kill(await busyAgent(bench, "echo ready; exec sleep 300", flags()));
    const until = leaseUntil(bench);
    await expect.poll(isOff, { timeout: LEASE_MS + 20_000 }).toBe(true);
    expect(nowMs()).toBeGreaterThanOrEqual(until - 1_000);
    expect(bench.processes()).toEqual([]);
  });

  test.each(["SIGTERM", "SIGINT"] as const)("does not when its agent is ended by %s", async (signal) => {
    const agent = await busyAgent(bench, "echo ready; exec sleep 300", flags());
    agent.child.kill(signal);
    await agent.ended;
    expect(isOff()).toBe(false);
  });
});
