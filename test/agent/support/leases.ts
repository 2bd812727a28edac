import { readFileSync } from "node:fs";
import { uptime } from "node:os";
import { join } from "node:path";
import { test as base, expect, vi } from "vitest";
import { WATCHDOG_LEAD_MS } from "../../../agent/core/bounds.ts";
import { type Bench, openBench, type RunningAgent, run } from "./bench.ts";

/** The attempt of `busyAgent`. */
export const ID = "build-17/main/1.1";
/** Just above the lead: the watchdog has work a few seconds after the last report. */
export const LEASE_MS = WATCHDOG_LEAD_MS + 5_000;

/**
 * Tests that wait for a lease, and so run side by side: each has its own bench with a short lease. At the end
 * the control plane must have found no fault in what the agent sent.
 */
// biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern what a fixture uses.
export const leaseTest = base.extend("leased", async ({}, { onCleanup }) => {
  const bench = await openBench();
  bench.plane.leaseMs = LEASE_MS;
  onCleanup(async () => {
    const { faults } = bench.plane;
    await bench.close();
    expect(faults).toEqual([]);
  });
  return bench;
}).concurrent;

/** An agent that reports often enough for such a short lease, with a task that prints `ready`. */
export async function busyAgent(
  bench: Bench,
  script: string,
  flags: string[] = [],
  killTimeoutMs = 100,
): Promise<RunningAgent> {
  const agent = bench.start({}, flags);
  const order = run(ID, ["sh", "-c", script], { killTimeoutMs });
  bench.plane.order([order], { reportWithinMs: 500 });
  await bench.plane.until("it is ready", () => bench.plane.stored(ID).includes("ready"));
  return agent;
}

/** The clock of leases: milliseconds since boot. */
export const nowMs = () => uptime() * 1_000;

/** The end of the lease as its file names it, on the clock since boot. */
export function leaseUntil(bench: Bench): number {
  return JSON.parse(readFileSync(join(bench.stateDir, "lease.json"), "utf8")).content.until;
}

/** Waits until nothing of the bench runs, and returns how much of the lease was left. */
export async function leftOfLease(bench: Bench, until: number): Promise<number> {
  await vi.waitFor(() => expect(bench.processes()).toEqual([]), { timeout: 2 * LEASE_MS, interval: 100 });
  return until - nowMs();
}
