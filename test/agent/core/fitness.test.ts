import { describe, expect, test } from "vitest";
import { FAULT_LASTS_MS, INSPECT_EVERY_MS } from "../../../agent/core/reports/fitness.ts";
import { type Driven, idleHost } from "./drive.ts";

// workers.md#unfit-hosts
describe("a host inspects its machine", () => {
  const FULL = "the disk is full";
  /** Inspects the machine for so long, always with this result. */
  function inspect(host: Driven, fault: string | null, ms: number): Driven {
    for (let passed = 0; passed <= ms; passed += INSPECT_EVERY_MS) {
      host.tell({ type: "inspected", fault });
      if (passed < ms) host.pass(INSPECT_EVERY_MS);
    }
    return host;
  }

  test("from its join on, one inspection at a time", () => {
    const host = idleHost();
    expect(host.message("inspect")).toBeDefined();
    host.tell({ type: "inspected", fault: null });
    expect(host.pass(INSPECT_EVERY_MS - 1).message("inspect")).toBeUndefined();
    expect(host.pass(1).message("inspect")).toBeDefined();
  });

  test("a fault that does not last is not reported", () => {
    const host = inspect(idleHost(), FULL, FAULT_LASTS_MS - INSPECT_EVERY_MS);
    inspect(host.pass(INSPECT_EVERY_MS), null, 0);
    expect(inspect(host.pass(INSPECT_EVERY_MS), FULL, 0).pass(10_000).report()).not.toHaveProperty("broken");
  });

  test("a fault that lasts is reported at once, and in each report until the machine is fit again", () => {
    const host = inspect(idleHost(), FULL, FAULT_LASTS_MS);
    expect(host.report()).toMatchObject({ broken: FULL });
    host.send();
    inspect(host.pass(INSPECT_EVERY_MS), "it is full: 3 MiB are free", 0);
    expect(host.pass(30_000).report()).toMatchObject({ broken: FULL });
    host.send();
    expect(inspect(host, null, 0).report()).not.toHaveProperty("broken");
  });
});
