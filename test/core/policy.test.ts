import { describe, expect, test } from "vitest";
import {
  type RescheduleFields,
  type RestartFields,
  rescheduleFault,
  reschedulePolicy,
  restartFault,
  restartPolicy,
} from "../../src/shared/policy.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

// api.md#forms-and-defaults: the short form does not restart.
describe("a restart policy", () => {
  test.each([
    [
      "restart.md#default-2",
      "batch",
      false,
      { attempts: 3, intervalMs: 24 * HOUR, delayMs: 15_000, mode: "fail" },
    ],
    [
      "restart.md#default-1",
      "service",
      false,
      { attempts: 2, intervalMs: 30 * MINUTE, delayMs: 15_000, mode: "fail" },
    ],
    [
      "api.md#forms-and-defaults",
      "batch",
      true,
      { attempts: 0, intervalMs: 24 * HOUR, delayMs: 15_000, mode: "fail" },
    ],
    [
      "api.md#forms-and-defaults",
      "service",
      true,
      { attempts: 0, intervalMs: 30 * MINUTE, delayMs: 15_000, mode: "fail" },
    ],
  ] as const)("%s: of a %s, short form: %s, has its defaults", (_, type, short, policy) => {
    expect(restartPolicy(type, short, undefined, undefined)).toEqual(policy);
  });

  // restart.md#policy-1
  test("is inherited field by field: the task's word, then the group's, then the default", () => {
    const group = { attempts: 5, delay: "1s" };
    expect(restartPolicy("batch", false, group, { attempts: 1, mode: "delay" })).toEqual({
      attempts: 1,
      intervalMs: 24 * HOUR,
      delayMs: 1_000,
      mode: "delay",
    });
  });

  test.each<[string, RestartFields, string | null]>([
    ["restart.md#valid-1", { attempts: 0, interval: "5s", mode: "fail" }, null],
    ["restart.md#valid-2", { attempts: 0, interval: "5s", mode: "delay" }, "attempts"],
    ["restart.md#valid-4", { attempts: 3, delay: "5s", interval: "5s", mode: "delay" }, "attempts"],
    ["restart.md#valid-5", { attempts: 3, delay: "5s", interval: "2s", mode: "delay" }, "interval"],
    ["restart.md#policy-2", { attempts: 0, interval: "4999ms" }, "interval"],
    ["restart.md#policy-2", { attempts: 2, delay: "5s", interval: "10s" }, null],
    ["restart.md#policy-2", { attempts: 2, delay: "5001ms", interval: "10s" }, "attempts"],
  ])("%s: of %j at fault is %s", (_, fields, field) => {
    expect(restartFault(restartPolicy("batch", true, fields, undefined))?.field ?? null).toBe(field);
  });
});

describe("a reschedule policy", () => {
  const batch = {
    function: "constant",
    delayMs: 5_000,
    maxDelayMs: 0,
    intervalMs: 24 * HOUR,
    unlimited: false,
  };
  const service = { function: "exponential", delayMs: 30_000, maxDelayMs: HOUR };

  // restart.md#reschedule-defaults
  test.each([
    ["batch", false, { ...batch, attempts: 1 }],
    ["service", false, { ...service, attempts: 0, intervalMs: 0, unlimited: true }],
    ["batch", true, { ...batch, attempts: 0 }],
    ["service", true, { ...service, attempts: 0, intervalMs: 0, unlimited: false }],
  ] as const)("of a %s, short form: %s, has its defaults", (type, short, policy) => {
    const made = reschedulePolicy(type, short, undefined);
    expect({ ...made, intervalMs: short && type === "service" ? 0 : made.intervalMs }).toEqual(policy);
    expect(rescheduleFault(made)).toBeNull();
  });

  test.each<[string, RescheduleFields, string | null]>([
    ["the shortest delay", { attempts: 1, delay: "5s" }, null],
    ["a shorter delay", { attempts: 1, delay: "4999ms" }, "delay"],
    ["the shortest interval", { attempts: 1, interval: "15s" }, null],
    ["a shorter interval", { attempts: 1, interval: "14999ms" }, "interval"],
    ["attempts and unlimited", { attempts: 1, unlimited: true }, "attempts"],
    [
      "a bound below the delay",
      { unlimited: true, function: "fibonacci", delay: "1m", maxDelay: "59s" },
      "maxDelay",
    ],
    ["no attempts at all", { attempts: 0, delay: "1s" }, null],
  ])("%s: at fault is %s (restart.md#reschedule-validity)", (_what, fields, field) => {
    expect(rescheduleFault(reschedulePolicy("batch", false, fields))?.field ?? null).toBe(field);
  });

  test.each<[string, RescheduleFields, string, string]>([
    ["restart.md#fit-1", { function: "constant", delay: "20m", interval: "1h" }, "only 3 do", "3h20m"],
    [
      "restart.md#fit-2",
      { function: "exponential", delay: "5m", maxDelay: "40m", interval: "30m" },
      "only 3 do",
      "4h40m",
    ],
    [
      "restart.md#fit-3",
      { function: "fibonacci", delay: "20m", maxDelay: "80m", interval: "1h" },
      "only 4 do",
      "8h",
    ],
  ])("%s: %j with 10 attempts says how many fit, and which interval would do", (_, fields, fit, interval) => {
    const fault = rescheduleFault(reschedulePolicy("batch", false, { attempts: 10, ...fields }));
    expect(fault).toEqual({ field: "attempts", detail: expect.stringContaining(fit) });
    expect(fault?.detail).toContain(`10 need ${interval}`);
  });
});
