import { describe, expect, test } from "vitest";
import { hostMachine, initialHost } from "../../../agent/core/host.ts";
import { LEASE_AFTER_SLEEP_MS, RENEW_AFTER_SLEEP_MS } from "../../../agent/core/lease.ts";
import type { HostState } from "../../../agent/core/types.ts";
import { LEASE_MARGIN_MS } from "../../../src/shared/limits.ts";

const HOUR = 3_600_000;
const LEASE = HOUR / 2;
const ID = "build/main/1.1";

/** A host with one attempt that runs, under a lease that ends after `LEASE`. */
const host = (): HostState => {
  const plan = { signal: "SIGTERM" as const, timeoutMs: 5_000 };
  const journal = { plan, by: "cgroup" as const, startedAt: 0, timedOut: false };
  // Of the journal this is all that matters here.
  const attempts = [{ id: ID, journal: journal as never, main: { kind: "running" as const } }];
  return initialHost({ attempts, lease: { until: LEASE, ms: LEASE } }, 0);
};
const stopOf = (state: HostState) => state.attempts[ID]?.stop;
const tick = { type: "tick" } as const;

describe("P11: a machine that sleeps past its leases with its control plane", () => {
  const awake = hostMachine.apply(host(), { type: "slept", since: 10_000, wokeAt: HOUR }, HOUR);

  test("P11: what ran goes on, and the host asks for a renewal at once", () => {
    expect(stopOf(hostMachine.apply(awake, tick, HOUR))).toBeUndefined();
    expect(awake.exchange.newsBy).toBeLessThanOrEqual(HOUR);
  });

  test("P11: without a renewal it is stopped in time, before the control plane may call it lost", () => {
    const late = hostMachine.apply(awake, tick, HOUR + RENEW_AFTER_SLEEP_MS);
    expect(stopOf(late)).toMatchObject({ by: "lease" });
    expect(awake.leaseUntil).toBe(HOUR + LEASE_AFTER_SLEEP_MS);
    expect(LEASE_AFTER_SLEEP_MS).toBeLessThan(LEASE_MARGIN_MS);
  });

  test("P11: a host that wakes later than its control plane has only what is left of that", () => {
    const later = HOUR + LEASE_AFTER_SLEEP_MS;
    const late = hostMachine.apply(host(), { type: "slept", since: 10_000, wokeAt: HOUR }, later);
    expect(stopOf(hostMachine.apply(late, tick, later))).toMatchObject({ by: "lease" });
  });

  test("P11: a host that was alone in that keeps to its lease (R4)", () => {
    expect(stopOf(hostMachine.apply(host(), tick, HOUR))).toMatchObject({ by: "lease" });
  });

  test("P11: a lease that was over before the sleep stays so", () => {
    const slept = hostMachine.apply(host(), { type: "slept", since: LEASE, wokeAt: HOUR }, HOUR);
    expect(stopOf(slept)).toMatchObject({ by: "lease" });
  });
});
