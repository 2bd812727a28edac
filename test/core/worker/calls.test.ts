import { describe, expect, test } from "vitest";
import { callSeries, sumOf, timeCounts } from "../../../src/core/histogram.ts";
import type { WorkerEvent } from "../../../src/core/worker/machine.ts";
import { upsertOf } from "../../../src/core/worker/read/summary.ts";
import { at, created, INSTANCE, intent, nothing, reloaded, T0 } from "../support/worker.ts";

const asked = () => at(nothing(), T0, { type: "create", body: intent() });
const failed: WorkerEvent = {
  type: "create_answered",
  answer: { kind: "failed", failure: { class: "temporary", text: "it is down" } },
  tookMs: 30_000,
};

describe("a worker counts its calls to the provider (pool.md#histograms)", () => {
  test("by outcome and duration, and tells its pool with what has come of them", () => {
    const took = (ms: number): WorkerEvent => ({ type: "create_answered", tookMs: ms, ...answerOf() });
    const state = at(asked(), T0, failed, took(700));
    expect(upsertOf(state, T0).calls).toEqual(
      sumOf(
        timeCounts("call", 30_000, callSeries("create", "failure")),
        timeCounts("call", 700, callSeries("create", "success")),
      ),
    );
    expect(reloaded(state).record.calls).toEqual(state.record.calls);
    expect(state.record.version).toBeGreaterThan(asked().record.version);
  });

  test("a destroy, too", () => {
    const state = at(
      asked(),
      T0,
      created,
      { type: "kill", reason: "enough", by: "ann" },
      { type: "destroy_answered", answer: { kind: "asked" }, tookMs: 90 },
    );
    expect(state.record.calls).toEqual(timeCounts("call", 90, callSeries("destroy", "success")));
  });

  test("a call whose time nobody knows is not counted", () => {
    expect(at(asked(), T0, created).record.calls).toEqual({});
  });

  function answerOf() {
    return { answer: { kind: "created", instance: INSTANCE } } as const;
  }
});
