import { describe, expect, test } from "vitest";
import type { ProviderFailure } from "../../../src/core/provider-answers.ts";
import { type WorkerEvent, workerMachine } from "../../../src/core/worker/machine.ts";
import { CREATE_NOT_AFTER_MS, CREATE_STRAGGLER_MS } from "../../../src/shared/limits.ts";
import {
  at,
  created,
  INSTANCE,
  intent,
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

const create: WorkerEvent = { type: "create", body: intent() };
const asked = at(nothing(), T0, create);

function failed(kind: ProviderFailure["class"]): WorkerEvent {
  return { type: "create_answered", answer: { kind: "failed", failure: { class: kind, text: "no" } } };
}

describe("a worker without state says nothing, and only a create gives it one (R6)", () => {
  test.each<[string, WorkerEvent]>([
    ["a tick", { type: "tick" }],
    ["a poke", { type: "poke_worker", body: REF }],
    ["a report", report(1)],
    ["an order", order("a")],
    ["a kill", { type: "kill", reason: "", by: "ann" }],
    [
      "a sighting",
      {
        type: "sighting",
        body: { worker: "w", provider: intent().provider, beganAt: T0, consistencyMs: 0 },
      },
    ],
    ["the answer to a create", created],
  ])("%s changes nothing", (_what, event) => {
    const state = workerMachine.apply(nothing(), event, T0);
    expect(state.record).toBeNull();
    expect(state.placements.flush()).toBe(0);
    expect(workerMachine.due(state, T0)).toEqual([]);
    expect(workerMachine.wakeAt(state)).toBeUndefined();
  });
});

describe("the intent is stored before the provider is called (invariant 3)", () => {
  test("a create leads to a call, and the pool hears that it boots", () => {
    expect(asked.record).toMatchObject({ phase: "booting", instance: null, askedAt: T0 });
    expect(workerMachine.due(asked, T0)).toMatchObject([
      { to: "provider", kind: "create", repeatedBy: "self", body: intent() },
      { to: "default", kind: "worker", body: { phase: "booting", version: 1, instance: null } },
    ]);
  });

  test("a second create changes nothing, in any phase", () => {
    const other: WorkerEvent = { type: "create", body: intent({ instanceType: "large" }) };
    for (const before of [asked, ready()]) expect(at(before, T0 + 1, other).record).toBe(before.record);
  });

  test.each([
    [CREATE_NOT_AFTER_MS - 1, "booting"],
    [CREATE_NOT_AFTER_MS, "gone"],
  ])("a create that arrives %d ms after it was decided: %s (CREATE_NOT_AFTER_MS)", (ms, phase) => {
    const late = at(nothing(), T0 + ms, {
      type: "create",
      body: intent({ notAfter: T0 + CREATE_NOT_AFTER_MS }),
    });
    expect(late.record.phase).toBe(phase);
    expect(owed(late, T0 + ms, "create")).toHaveLength(phase === "gone" ? 0 : 1);
    expect(owed(late, T0 + ms, "worker")).toMatchObject([{ phase, bootOutcome: null }]);
  });

  test("one that came too late is a tombstone: a create that comes once more creates nothing either", () => {
    const late = at(nothing(), T0 + CREATE_NOT_AFTER_MS, create);
    expect(at(late, T0, create).record).toBe(late.record);
  });

  test("without an answer it is tried until `notAfter`, and then given up, but not forgotten", () => {
    const end = T0 + 10 * MINUTE;
    const waiting = at(nothing(), T0, {
      type: "create",
      body: intent({ settings: { ...intent().settings, bootMs: 60 * MINUTE } }),
    });
    expect(owed(waiting, end - 1, "create")).toHaveLength(1);
    expect(owed(waiting, end, "create")).toEqual([]);
    expect(workerMachine.wakeAt(waiting)).toBe(end);
    expect(at(waiting, end - 1, { type: "tick" }).record.phase).toBe("booting");
    expect(at(waiting, end, { type: "tick" }).record.phase).toBe("shutdown");
  });
});

describe("the provider's answer to a create", () => {
  test("created: the instance is known, and the pool hears of it", () => {
    const state = at(asked, T0 + 5, created);
    expect(state.record).toMatchObject({
      phase: "booting",
      instance: { id: "i-1", address: "10.0.0.1" },
      createdAt: T0 + 5,
    });
    expect(owed(state, T0 + 5, "create")).toEqual([]);
    expect(owed(state, T0 + 5, "worker")).toMatchObject([
      { instance: "i-1", address: "10.0.0.1", version: 2 },
    ]);
  });

  // By class (host-protocol.md#provider-errors). What may have been made must be watched for.
  test.each([
    ["temporary", "booting", T0 + 5 + CREATE_STRAGGLER_MS],
    ["rate_limit", "booting", T0 + 5],
    ["quota", "shutdown", T0 + 5],
    ["capacity", "shutdown", T0 + 5],
    ["invalid", "shutdown", T0 + 5],
  ] as const)("%s: it is %s then", (kind, phase, calledAt) => {
    const state = at(asked, T0 + 5, failed(kind));
    expect(state.record).toMatchObject({ phase, calledAt });
    expect(state.record.reason).toContain(kind);
    expect(owed(state, T0 + 5, "create")).toHaveLength(phase === "booting" ? 1 : 0);
  });

  test("a refusal after a call without an answer does not shorten the watch for its effect", () => {
    const state = at(at(asked, T0 + 5, failed("temporary")), T0 + 6, failed("quota"));
    expect(state.record).toMatchObject({ phase: "shutdown", calledAt: T0 + 5 + CREATE_STRAGGLER_MS });
  });

  test("created, when it has been given up already: it is destroyed", () => {
    const state = at(asked, T0 + 5, { type: "kill", reason: "", by: "ann" }, created);
    expect(state.record).toMatchObject({ phase: "shutdown", instance: { id: "i-1" } });
    expect(owed(state, T0 + 5, "destroy")).toMatchObject([{ worker: "default-s-1", instance: "i-1" }]);
  });
});

test("a machine that is listed before the create was answered is known by that (T19 and adoption)", () => {
  const sighting: WorkerEvent = {
    type: "sighting",
    body: {
      worker: "default-s-1",
      provider: intent().provider,
      beganAt: T0 + 5,
      instance: INSTANCE,
      consistencyMs: 0,
    },
  };
  const state = at(asked, T0 + 6, sighting);
  expect(state.record).toMatchObject({ phase: "booting", instance: { id: "i-1" }, createdAt: T0 + 6 });
  expect(owed(state, T0 + 6, "create")).toEqual([]);
});

test("a restart while the call is under way calls again, with the same token (R1)", () => {
  expect(owed(reloaded(asked), T0 + 1, "create")).toMatchObject([{ worker: "default-s-1" }]);
});

describe("the pool sees a change by its version, and only what it can see is one (R1)", () => {
  test.each<[string, WorkerEvent, boolean]>([
    ["another idle behavior", { type: "behavior", behavior: "hold", by: "ann" }, true],
    ["a kill", { type: "kill", reason: "", by: "ann" }, true],
    [
      "an instance of another address",
      {
        type: "sighting",
        body: {
          worker: "default-s-1",
          provider: intent().provider,
          beganAt: T0,
          instance: { ...INSTANCE, address: "10.0.0.2" },
          consistencyMs: 0,
        },
      },
      true,
    ],
    ["a refused host", { type: "refused_host", kind: "bad_signature", reason: "forged" }, false],
    ["a join", { type: "join", id: "j", signedAt: T0, bootId: "boot-1" }, false],
    ["a report", report(2), false],
    ["an order", order("a"), false],
    ["a tick", { type: "tick" }, false],
  ])("%s", (_what, event, seen) => {
    const before = ready();
    expect(at(before, T0, event).record.version).toBe(before.record.version + (seen ? 1 : 0));
  });
});
