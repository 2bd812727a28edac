import { describe, expect, test } from "vitest";
import { RunSpec, type RunSpecInput } from "../../../src/schema/run/run.ts";
import { retryPolicy, waitBefore } from "../../../src/shared/retry/policy.ts";

type Retry = NonNullable<RunSpecInput["retry"]>;

const policyOf = (retry: Retry) => {
  const { retry: parsed } = RunSpec.parse({ argv: ["true"], retry });
  if (parsed === undefined) throw new Error("the policy is lost");
  return retryPolicy(parsed);
};

describe("what a policy says without more (retry.md#fields)", () => {
  test("three more tries, after 10 s, 20 s and 40 s", () => {
    const policy = policyOf({ on: ["exit"] });
    expect([policy.max, policy.jitter, policy.onDemand, policy.memory]).toEqual([3, 0.25, false, undefined]);
    expect([1, 2, 3].map((failed) => waitBefore(policy, failed))).toEqual([10_000, 20_000, 40_000]);
  });

  test.each<[string, Retry["backoff"], number, number]>([
    ["the longest wait", { first: "10s", max: "25s" }, 3, 25_000],
    ["ten minutes are the longest", { first: "10s" }, 20, 600_000],
    ["or the first, if that is longer", { first: "1h" }, 20, 3_600_000],
    ["the same each time", { first: "5s", factor: 1 }, 7, 5_000],
    ["a factor with a fraction", { first: "10s", factor: 1.5 }, 3, 22_500],
  ])("%s (retry.md#back-off)", (_what, backoff, failed, expected) => {
    expect(waitBefore(policyOf({ on: ["exit"], backoff }), failed)).toBe(expected);
  });
});

describe("what is refused at submission (retry.md#refused)", () => {
  const oom = { on: ["oom" as const], escalate: { oom: { memory: 2 } } };
  const memory = { resources: { memory: "1GiB" } };

  test.each<[string, Partial<RunSpecInput>, string]>([
    ["no cause", { retry: { on: [] } }, "retry/on"],
    ["a cause twice", { retry: { on: ["exit", "exit"] } }, "retry/on"],
    ["a service", { type: "service", retry: { on: ["exit"] } }, "retry"],
    ["a reschedule policy", { retry: { on: ["exit"] }, reschedule: { attempts: 1 } }, "reschedule"],
    ["codes without exit", { retry: { on: ["oom"], exitCodes: [1] } }, "retry/exitCodes"],
    ["excluded codes without exit", { retry: { on: ["oom"], notExitCodes: [1] } }, "retry/notExitCodes"],
    [
      "both lists of codes",
      { retry: { on: ["exit"], exitCodes: [1], notExitCodes: [2] } },
      "retry/notExitCodes",
    ],
    ["exit code 0", { retry: { on: ["exit"], exitCodes: [0] } }, "retry/exitCodes/0"],
    ["no more tries", { retry: { on: ["exit"], max: 0 } }, "retry/max"],
    ["too many tries", { retry: { on: ["exit"], max: 21 } }, "retry/max"],
    ["a timeout without a limit", { retry: { on: ["timeout"] } }, "retry/on"],
    [
      "a wait that is too short",
      { retry: { on: ["exit"], backoff: { first: "999ms" } } },
      "retry/backoff/first",
    ],
    [
      "a longest wait below the first",
      { retry: { on: ["exit"], backoff: { first: "10s", max: "9s" } } },
      "retry/backoff/max",
    ],
    ["a factor below 1", { retry: { on: ["exit"], backoff: { factor: 0.5 } } }, "retry/backoff/factor"],
    ["more memory without its cause", { ...memory, retry: { ...oom, on: ["exit"] } }, "retry/escalate/oom"],
    ["more memory than nothing", { retry: oom }, "retry/escalate/oom"],
    [
      "more memory for a task that names none",
      { argv: undefined, tasks: [{ name: "a", argv: ["true"] }], retry: oom },
      "retry/escalate/oom",
    ],
    [
      "a limit that is there already",
      { ...memory, retry: { ...oom, escalate: { oom: { upTo: "1GiB" } } } },
      "retry/escalate/oom/upTo",
    ],
    [
      "a factor that is no growth",
      { ...memory, retry: { ...oom, escalate: { oom: { memory: 1 } } } },
      "retry/escalate/oom/memory",
    ],
    [
      "an on-demand machine without its cause",
      { retry: { on: ["exit"], escalate: { interrupted: "on-demand" } } },
      "retry/escalate/interrupted",
    ],
    [
      "an on-demand machine for a run that wants spot only",
      { machine: { spot: "only" }, retry: { on: ["interrupted"], escalate: { interrupted: "on-demand" } } },
      "retry/escalate/interrupted",
    ],
  ])("%s", (_what, spec, path) => {
    const { error } = RunSpec.safeParse({ argv: ["true"], ...spec });
    expect(error?.issues.map((issue) => issue.path.join("/"))).toEqual([path]);
  });

  test.each<[string, Partial<RunSpecInput>]>([
    ["each cause", { timeout: "1h", ...memory, retry: { ...oom, on: ["oom", "timeout", "exit"] } }],
    ["20 more tries", { retry: { on: ["exit"], max: 20 } }],
    ["a wait of 1 s", { retry: { on: ["exit"], backoff: { first: "1s", max: "1s", jitter: 0 } } }],
    [
      "tasks that have their memory from their group",
      { argv: undefined, tasks: [{ name: "a", argv: ["true"] }], ...memory, retry: oom },
    ],
    ["restarts on the machine beside it", { restart: { attempts: 2 }, retry: { on: ["exit"] } }],
  ])("and what is not: %s", (_what, spec) => {
    expect(RunSpec.safeParse({ argv: ["true"], ...spec }).error).toBeUndefined();
  });
});
