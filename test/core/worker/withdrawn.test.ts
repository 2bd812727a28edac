import { describe, expect, test } from "vitest";
import type { WorkerEvent } from "../../../src/core/worker/machine.ts";
import { upsertOf } from "../../../src/core/worker/read/summary.ts";
import type { Instance } from "../../../src/schema/provider.ts";
import { at, BOOTED, created, INSTANCE, intent, nothing, report, T0 } from "../support/worker.ts";

const FAULT = { class: "capacity", text: "no room after all" } as const;
const listed = (instance: Partial<Instance>): WorkerEvent => ({
  type: "sighting",
  body: {
    worker: "default-s-1",
    provider: intent().provider,
    beganAt: T0 + 1,
    consistencyMs: 0,
    instance: { ...INSTANCE, ...instance },
  },
});
const asked = () => at(nothing(), T0, { type: "create", body: intent() }, created);

// clouds.md#faults-of-machines
describe("a machine that its provider cannot run after all (workers.md#boot-5)", () => {
  test("case 49: is withdrawn, and fails as a refused call would", () => {
    const { record, ...state } = at(asked(), T0 + 1, listed({ state: "terminated", fault: FAULT }));
    expect([record.phase, record.bootOutcome]).toEqual(["gone", "withdrawn"]);
    expect(upsertOf({ ...state, record }, T0 + 1).failure).toMatchObject(FAULT);
  });

  test("without a fault it has disappeared, and the breaker counts it", () => {
    const { record, ...state } = at(asked(), T0 + 1, listed({ state: "terminated" }));
    expect([record.phase, record.bootOutcome]).toEqual(["gone", "disappeared"]);
    expect(upsertOf({ ...state, record }, T0 + 1).failure).toMatchObject({ class: "boot" });
  });

  test("that Drover ends itself has no fault", () => {
    const kill: WorkerEvent = { type: "kill", reason: "", by: "operator" };
    const { record } = at(asked(), T0 + 1, kill, listed({ state: "terminated", fault: FAULT }));
    expect([record.bootOutcome, record.failure]).toEqual(["aborted", null]);
  });

  test("case 46: a machine that was ready has booted, and its interruption is a fault", () => {
    const enroll: WorkerEvent = { type: "enroll", secret: "whsec_1", bootId: "boot-1", resources: undefined };
    const ready = at(asked(), T0, enroll, report(1, BOOTED));
    const { record } = at(ready, T0 + 1, listed({ state: "terminated", fault: FAULT }));
    expect([record.bootOutcome, record.failure]).toMatchObject(["success", FAULT]);
  });
});
