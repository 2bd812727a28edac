import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe } from "vitest";
import { type Bench, kill } from "./support/bench.ts";
import { busyAgent, ID, leaseTest, leaseUntil, leftOfLease, nowMs } from "./support/leases.ts";

// What happens at the end of a lease that nobody extends: most of these wait for a whole lease.

leaseTest(
  "the control plane is away for a whole lease: the agent itself ends its tasks in time",
  async ({ leased: bench, expect }) => {
    const agent = await busyAgent(bench, "echo ready; exec sleep 300");
    const until = leaseUntil(bench);
    bench.plane.override = () => ({ status: 503 });
    expect(await leftOfLease(bench, until)).toBeGreaterThan(0);
    expect(agent.child.exitCode).toBeNull();
    bench.plane.override = () => undefined;
    // Of a stop by the watchdog the agent would not say why.
    const told = await bench.plane.untilState(ID, "exited");
    expect(told).toMatchObject({ exit: { signal: "SIGTERM" }, stopped: "lease" });
  },
);

describe("a machine that can end itself (invariant 8)", () => {
  const fileOf = (bench: Bench) => join(bench.dir, "off");
  const flags = (bench: Bench) => ["--power-off", `echo off >>${fileOf(bench)}`];
  const isOff = (bench: Bench) => existsSync(fileOf(bench));

  leaseTest(
    "does so when the control plane is done with it, after everything is ended",
    async ({ leased: bench, expect }) => {
      const agent = await busyAgent(bench, "echo ready; exec sleep 300", flags(bench));
      bench.plane.order([], { powerOff: true });
      expect((await agent.ended).code).toBe(0);
      expect([isOff(bench), bench.processes()]).toEqual([true, []]);
    },
  );

  leaseTest("does so at the end of the lease that nobody has extended", async ({ leased: bench, expect }) => {
    const agent = await busyAgent(bench, "echo ready; exec sleep 300", flags(bench));
    const until = leaseUntil(bench);
    bench.plane.override = () => ({ status: 503 });
    expect((await agent.ended).code).toBe(0);
    expect([isOff(bench), bench.processes()]).toEqual([true, []]);
    expect(nowMs()).toBeGreaterThanOrEqual(until - 1_000);
  });

  leaseTest("does so without its agent, too", async ({ leased: bench, expect }) => {
    await kill(await busyAgent(bench, "echo ready; exec sleep 300", flags(bench)));
    const until = leaseUntil(bench);
    await expect.poll(() => isOff(bench)).toBe(true);
    expect(nowMs()).toBeGreaterThanOrEqual(until - 1_000);
    expect(bench.processes()).toEqual([]);
  });

  leaseTest.for(["SIGTERM", "SIGINT"] as const)(
    "does not when its agent is ended by %s",
    async (signal, { leased: bench, expect }) => {
      const agent = await busyAgent(bench, "echo ready; exec sleep 300", flags(bench));
      agent.child.kill(signal);
      await agent.ended;
      expect(isOff(bench)).toBe(false);
    },
  );
});
