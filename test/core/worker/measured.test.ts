import { describe, expect, test } from "vitest";
import type { WorkerEvent } from "../../../src/core/worker/machine.ts";
import { upsertOf } from "../../../src/core/worker/read/summary.ts";
import { livePlacements } from "../../../src/core/worker/state.ts";
import {
  at,
  BOOTED,
  created,
  intent,
  nothing,
  OWN_RESOURCES,
  order,
  owed,
  readyOwn,
  report,
  T0,
} from "../support/worker.ts";

const MIB = 2 ** 20;
const booting = at(nothing(), T0, { type: "create", body: intent() }, created);
const enroll = (memoryBytes: number): WorkerEvent => {
  return { type: "enroll", secret: "s", bootId: "b", resources: { ...OWN_RESOURCES, memoryBytes } };
};
const ready = (memoryBytes: number) => at(booting, T0, enroll(memoryBytes), report(1, BOOTED));
const asksFor = (count: number) =>
  order("a", { resources: { vcpus: 1, memoryBytes: count * MIB, diskBytes: 0, gpus: 0 } });

describe("a provider's machine has what its type says, and of memory what its host measures", () => {
  test("its pool is told when it is ready, with what is told then anyway", () => {
    const enrolled = at(booting, T0, enroll(900 * MIB));
    expect(upsertOf(enrolled, T0).measuredMemory).toBeNull();
    expect(enrolled.record.version).toBe(
      at(booting, T0, { type: "enroll", secret: "s", bootId: "b" }).record.version,
    );
    const state = ready(900 * MIB);
    expect(state.record.phase).toBe("ready");
    expect(owed(state, T0, "worker")).toMatchObject([{ phase: "ready", measuredMemory: 900 * MIB }]);
  });

  test.each<[string, WorkerEvent]>([
    ["a host that has measured nothing", { type: "enroll", secret: "s", bootId: "b" }],
    ["a host that cannot measure", enroll(0)],
  ])("%s says nothing of it", (_what, event) => {
    expect(upsertOf(at(booting, T0, event, report(1, BOOTED)), T0)).toHaveProperty("measuredMemory", null);
  });

  test("a self-hosted machine says all that it has, and that is not said twice", () => {
    expect(upsertOf(readyOwn(), T0)).toMatchObject({ resources: OWN_RESOURCES });
    expect(upsertOf(readyOwn(), T0)).toHaveProperty("measuredMemory", null);
  });

  // The type says 1024 MiB, of which 972.8 can be used.
  test.each([
    ["less was measured", 900, 900, true],
    ["less was measured", 900, 901, false],
    ["all of it was measured", 1_024, 972, true],
    ["more was measured", 64_000, 973, false],
  ])("it takes no placement beyond that: %s, %d MiB, and %d are asked for", (_what, has, count, taken) => {
    expect(livePlacements(at(ready(has * MIB), T0, asksFor(count)))).toHaveLength(taken ? 1 : 0);
  });
});
