import { describe, expect, test } from "vitest";
import { spentSince } from "../../../src/core/pool/read/money.ts";
import { workerMachine } from "../../../src/core/worker/machine.ts";
import type { ProviderConfig } from "../../../src/schema/pool/provider-config.ts";
import { PROVIDERS } from "../support/clouds.ts";
import { workerRow } from "../support/pool.ts";
import { poolConfig } from "../support/pool-config.ts";
import { at, intent, MINUTE, owed, ready, T0 } from "../support/worker.ts";

// Where hours are billed, an idle machine is kept until just before the end of one that is paid for
// (clouds.md#billing-steps).

const HOUR = 60 * MINUTE;
const providerOf = (kind: keyof typeof PROVIDERS): ProviderConfig =>
  poolConfig({ provider: PROVIDERS[kind], image: "debian-12" }).provider;

/** When a machine of this kind that has been idle since `idleAt` wakes to stop; it was made at `T0`. */
function stopsAt(kind: keyof typeof PROVIDERS, idleAt: number, idleMs = MINUTE): number | undefined {
  const settings = { ...intent().settings, idleMs, probeMs: 10 * HOUR, bootMs: 10 * HOUR };
  const state = ready(idleAt, { provider: providerOf(kind), settings, notAfter: idleAt + HOUR });
  const paid = { from: T0, until: null };
  const made = { ...state, record: { ...state.record, paid } };
  const [sent] = owed(made, idleAt, "worker");
  if (sent === undefined) throw new Error("nothing is told to the pool");
  const told = at(made, idleAt, {
    type: "worker_answered",
    sent,
    answer: { kind: "ok", consent: false },
  });
  return workerMachine.wakeAt(told);
}

test.each<[string, keyof typeof PROVIDERS, number, number, number]>([
  ["by the second: after the idle time", "ec2", 20, MINUTE, 21],
  ["by the hour: five minutes before its end", "hetzner", 20, MINUTE, 55],
  ["by the hour, near its end: after the idle time", "hetzner", 56, MINUTE, 57],
  ["by the hour, at its end: the next hour may count, so it is used", "hetzner", 59, MINUTE, 115],
  ["by the hour, in the second one", "hetzner", 70, MINUTE, 115],
  ["by the hour, with an idle time of hours: after that", "hetzner", 20, 115 * MINUTE, 175],
  [
    "by the hour, with `idle: 0s`: as soon as the pool, which has refused once, is asked again",
    "hetzner",
    20,
    0,
    20 + 1 / 6,
  ],
])("a machine that is billed %s", (_what, kind, idleAt, idleMs, minutes) => {
  expect((stopsAt(kind, T0 + idleAt * MINUTE, idleMs) ?? 0) - T0).toBe(minutes * MINUTE);
});

test("case 69: jobs of 20 minutes, one after the other, take one paid hour", () => {
  // After each of the first two jobs the machine waits for the next one.
  for (const idleAt of [20, 41]) expect(stopsAt("hetzner", T0 + idleAt * MINUTE)).toBe(T0 + 55 * MINUTE);
});

describe("what a machine has cost", () => {
  const price = 0.006;
  const type = { vcpus: 2, memory: "4GiB", disk: "0", gpus: 0, price };
  const costOf = (until: number | null, now: number) =>
    spentSince(workerRow("w1", "ready", { type, askedAt: T0, paid: { from: T0, until } }), until ?? now);

  test("counts up to now while it lives, and up to the end of its last step when it is gone", () => {
    expect(costOf(null, T0 + HOUR / 2)).toBeCloseTo(price / 2);
    expect(costOf(T0 + HOUR, T0 + HOUR / 2)).toBeCloseTo(price);
  });
});
