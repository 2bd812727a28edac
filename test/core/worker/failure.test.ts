import { describe, expect, test } from "vitest";
import type { ProviderFailure } from "../../../src/core/provider-answers.ts";
import { type WorkerEvent, workerMachine } from "../../../src/core/worker/machine.ts";
import { upsertOf } from "../../../src/core/worker/read/summary.ts";
import type { Instance } from "../../../src/schema/provider.ts";
import { LEASE_MARGIN_MS } from "../../../src/shared/limits.ts";
import {
  at,
  BOOTED,
  CONSISTENCY,
  created,
  holding,
  INSTANCE,
  intent,
  LEASE,
  MINUTE,
  nothing,
  order,
  owed,
  REF,
  ready,
  reloaded,
  report,
  T0,
} from "../support/worker.ts";

const asked = () => at(nothing(), T0, { type: "create", body: intent() });
const refused = (failure: Partial<ProviderFailure> = {}): WorkerEvent => ({
  type: "create_answered",
  answer: { kind: "failed", failure: { class: "capacity", text: "none left", ...failure } },
});
const sighting = (instance: Partial<Instance>, beganAt = T0): WorkerEvent => ({
  type: "sighting",
  body: {
    worker: "default-s-1",
    provider: intent().provider,
    beganAt,
    instance: { ...INSTANCE, ...instance },
    consistencyMs: CONSISTENCY,
  },
});
const kill: WorkerEvent = { type: "kill", reason: "", by: "ann" };

// decisions/pool.md#d18
describe("the pool hears how a create failed: its class, its scope and when to retry", () => {
  test.each<[string, Partial<ProviderFailure>]>([
    ["capacity of a quota group", { class: "capacity", scope: "group" }],
    ["a quota", { class: "quota" }],
    ["a rate limit with a time", { class: "rate_limit", retryAfterMs: 7_000 }],
    ["a passing trouble", { class: "temporary" }],
    ["what is invalid", { class: "invalid", scope: "all" }],
  ])("%s", (_what, failure) => {
    const before = asked();
    const state = at(before, T0 + 5, refused(failure));
    const [upsert] = owed(state, T0 + 5, "worker");
    expect(upsert?.failure).toEqual({ class: "capacity", text: "none left", ...failure, at: T0 + 5 });
    expect(state.record.version).toBe(before.record.version + 1);
    expect(upsertOf(reloaded(state), T0 + 6).failure).toEqual(upsert?.failure);
  });

  test("each failure of a create that is tried again is another one", () => {
    const first = at(asked(), T0 + 5, refused({ class: "temporary" }));
    const second = at(first, T0 + 9, refused({ class: "temporary" }));
    expect(upsertOf(second, T0 + 9)).toMatchObject({
      version: first.record.version + 1,
      failure: { at: T0 + 9 },
    });
  });

  test("one that was made after all has not failed (pool.md#sweep-row-3, pool.md#create-1)", () => {
    const state = at(asked(), T0 + 5, refused({ class: "temporary" }), created);
    expect(upsertOf(state, T0 + 5).failure).toBeNull();
  });
});

describe("a create that is made again, and refused when its machine is there already, says nothing", () => {
  const enroll: WorkerEvent = { type: "enroll", secret: "s", bootId: "b" };

  test.each<[string, WorkerEvent[]]>([
    ["a listing shows it", [sighting({})]],
    ["its host has enrolled", [enroll]],
    ["it has a run (invariant 4)", [enroll, report(1, BOOTED), order("a"), { type: "orders_sent" }]],
  ])("%s", (_what, events) => {
    const there = at(asked(), T0, ...events);
    for (const cause of ["quota", "temporary"] as const) {
      const after = at(there, T0 + 5, refused({ class: cause }));
      // Of one that no listing has shown yet the provider is asked again, in its turn.
      const { version, waits } = after.record;
      expect(after.record).toEqual({ ...there.record, version, waits, calledAt: expect.any(Number) });
      expect(upsertOf(after, T0 + 5).failure).toBeNull();
    }
  });
});

// decisions/pool.md#d24
describe("a machine that was made and ends before it is ready is a boot failure", () => {
  const made = () => at(asked(), T0, created);

  test.each<[string, WorkerEvent, number, "boot" | undefined]>([
    ["it is not ready in time", { type: "tick" }, 10 * MINUTE, "boot"],
    ["the provider says that it is terminated", sighting({ state: "terminated" }), 1, "boot"],
    ["the provider says that it has stopped", sighting({ state: "stopped" }), 1, "boot"],
    ["the provider says that it is broken", sighting({ state: "error" }), 1, "boot"],
    ["somebody kills it", kill, 1, undefined],
    ["somebody drains it", { type: "behavior", behavior: "drain", by: "ann" }, 1, undefined],
    ["it boots on", { type: "tick" }, 1, undefined],
  ])("%s", (_what, event, ms, cause) => {
    expect(upsertOf(at(made(), T0 + ms, event), T0 + ms).failure?.class).toBe(cause);
  });

  // workers.md#trouble-first
  test("one that says that it is broken as it comes up was never up: the breaker counts that", () => {
    const enroll: WorkerEvent = { type: "enroll", secret: "s", bootId: "b" };
    const state = at(made(), T0, enroll, report(1, { ...BOOTED, broken: "no disk" }));
    expect(upsertOf(state, T0)).toMatchObject({ bootOutcome: "failure", failure: { class: "boot" } });
  });

  test("also if its create had no answer, and a listing has shown it", () => {
    const lost = at(asked(), T0, refused({ class: "temporary" }), sighting({}));
    expect(upsertOf(lost, T0)).toMatchObject({ instance: "i-1", reason: "booting" });
    expect(upsertOf(lost, T0).failure).toBeNull();
    expect(upsertOf(at(lost, T0 + 10 * MINUTE, { type: "tick" }), T0).failure?.class).toBe("boot");
  });

  test("the end of one that was ready is none", () => {
    expect(upsertOf(at(ready(), T0 + 1, sighting({ state: "terminated" })), T0 + 1).failure).toBeNull();
  });
});

describe("a destroy that the provider puts off is not asked for again before (cases.md#case-20)", () => {
  const putOff: WorkerEvent = {
    type: "destroy_answered",
    answer: { kind: "failed", failure: { class: "rate_limit", text: "slow down", retryAfterMs: 5 * MINUTE } },
  };
  const state = () => at(at(asked(), T0, created), T0, kill, putOff);
  const shutdown = intent().settings.shutdownMs;

  test.each([
    [5 * MINUTE + shutdown - 1, 0],
    [5 * MINUTE + shutdown, 1],
  ])("a listing that shows it %d ms later: %d calls", (ms, calls) => {
    const seen = at(state(), T0 + ms, sighting({}, T0 + ms));
    expect(owed(seen, T0 + ms, "destroy")).toHaveLength(calls);
  });
});

describe("a machine that nobody knew of (adoption, cases.md#case-2)", () => {
  const adopt = { id: "i-1", address: "10.0.0.1" };
  // Its permit is long over: nothing is to be created.
  const create: WorkerEvent = { type: "create", body: intent({ adopt, notAfter: T0 }) };
  const orphan = () => at(nothing(), T0, create);
  const end = LEASE + LEASE_MARGIN_MS;

  test("is in `unknown`, and nothing is created or placed there", () => {
    expect(orphan().record).toMatchObject({ phase: "unknown", instance: adopt });
    expect(owed(orphan(), T0, "create")).toEqual([]);
    expect(at(orphan(), T0, order("a")).placements.get("a/1")).toMatchObject({ state: "ended" });
  });

  test.each([
    [end - 1, "unknown"],
    [end, "shutdown"],
  ])("after %d ms it is in `%s`: not before one lease and 60 s are over", (ms, phase) => {
    const state = at(reloaded(orphan()), T0 + ms, { type: "tick" });
    expect(state.record.phase).toBe(phase);
    expect(owed(state, T0 + ms, "destroy")).toHaveLength(phase === "shutdown" ? 1 : 0);
    expect(upsertOf(state, T0 + ms).failure).toBeNull();
  });

  test("wakes for that", () => {
    expect(workerMachine.wakeAt(orphan())).toBe(T0 + end);
  });

  test("is kept while it is held", () => {
    const held = at(orphan(), T0, { type: "behavior", behavior: "hold", by: "ann" });
    expect(at(held, T0 + end, { type: "tick" }).record.phase).toBe("unknown");
  });

  test("that ends by itself is gone", () => {
    expect(at(orphan(), T0 + 1, sighting({ state: "terminated" })).record.phase).toBe("gone");
  });

  test("of which its worker does know is what that says", () => {
    const before = ready();
    expect(at(before, T0, create).record).toBe(before.record);
  });
});

describe("the provider's word on a machine that has not ended (decisions/workers.md#d28)", () => {
  test.each(["stopping", "stopped", "error"] as const)("%s: with nothing on it, it is destroyed", (state) => {
    const seen = at(ready(), T0 + 1, sighting({ state }));
    expect(seen.record).toMatchObject({ phase: "shutdown", idleBehavior: "drain" });
    expect(seen.record.events.at(-1)?.message).toContain("the provider");
    expect(owed(seen, T0 + 1, "destroy")).toHaveLength(1);
  });

  test("with a run on it, it takes no others and is not destroyed (invariant 4)", () => {
    const seen = at(at(ready(), T0, order("a")), T0 + 1, sighting({ state: "stopped" }));
    expect(seen.record).toMatchObject({ phase: "ready", idleBehavior: "drain" });
    expect(owed(seen, T0 + 1, "destroy")).toEqual([]);
  });

  test.each(["pending", "running"] as const)("%s changes nothing", (state) => {
    expect(at(ready(), T0 + 1, sighting({ state })).record).toMatchObject({
      phase: "ready",
      idleBehavior: "run",
    });
  });

  test("one that is held is left alone", () => {
    const held = at(ready(), T0, { type: "behavior", behavior: "hold", by: "ann" });
    expect(at(held, T0 + 1, sighting({ state: "error" })).record).toMatchObject({
      phase: "ready",
      idleBehavior: "hold",
    });
  });
});

test("a worker whose instance type is configured no more drains, with its runs (22971)", () => {
  const idle = at(ready(), T0, { type: "drain_worker", body: REF });
  expect(idle.record.phase).toBe("shutdown");
  const busy = at(holding(["a"]), T0, { type: "drain_worker", body: REF });
  expect(busy.record).toMatchObject({ phase: "ready", idleBehavior: "drain" });
});
