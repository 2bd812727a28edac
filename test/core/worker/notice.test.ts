import { describe, expect, test } from "vitest";
import type { IdleBehavior } from "../../../src/core/messages.ts";
import { answerOrder } from "../../../src/core/worker/placements.ts";
import { statusOf } from "../../../src/core/worker/read/status.ts";
import { upsertOf } from "../../../src/core/worker/read/summary.ts";
import type { ExistingWorker } from "../../../src/core/worker/state.ts";
import { NOTICE_DRIFT_MS } from "../../../src/shared/limits.ts";
import {
  at,
  created,
  exitedOf,
  holding,
  INSTANCE,
  intent,
  MINUTE,
  nothing,
  observedAnswer,
  order,
  orderIs,
  owed,
  ready,
  readyOwn,
  report,
  runningOf,
  T0,
} from "../support/worker.ts";

const SPOT = { draining: "spot interruption" };
const NONE = { draining: null };
const set = (behavior: IdleBehavior) => ({ type: "behavior", behavior, by: "ann" }) as const;
const on = [runningOf("a")];
const terminated = {
  type: "sighting",
  body: {
    worker: "default-s-1",
    provider: intent().provider,
    beganAt: T0,
    instance: { ...INSTANCE, state: "terminated" },
    consistencyMs: 0,
  },
} as const;
const booting = at(nothing(), T0, { type: "create", body: intent() }, created, {
  type: "enroll",
  secret: "s",
  bootId: "b",
});
const noticed = at(holding(["a"]), T0, report(2, { ...SPOT, attempts: on }));
const accepts = (state: ExistingWorker) =>
  answerOrder(at(state, T0, order("new")), order("new").body).kind === "accepted";

// decisions/workers.md#notice
describe("a host gives notice of its machine's near end (cases.md#case-9)", () => {
  test("in boot: it is shut down, and that is no failure of its boot", () => {
    const state = at(booting, T0, report(1, SPOT));
    expect(state.record).toMatchObject({ phase: "shutdown", bootOutcome: "aborted" });
    expect(upsertOf(state, T0).failure).toBeNull();
  });

  test.each([1e16, Number.MAX_VALUE])("one that is for %d ms from now says nothing of when", (goneInMs) => {
    const state = at(holding(["a"]), T0, report(2, { ...SPOT, goneInMs, attempts: on }));
    expect(statusOf(state, T0).notice).toEqual({ text: "spot interruption", goneAt: null });
  });

  test("idle: it is shut down, and says why", () => {
    const { record } = at(ready(), T0, report(2, SPOT));
    expect(record).toMatchObject({ phase: "shutdown", reason: "its host drains: spot interruption" });
  });

  test("in run: its pool hears that it drains, and no order is taken; what runs there goes on", () => {
    expect(upsertOf(noticed, T0)).toMatchObject({ idleBehavior: "drain", phase: "ready" });
    expect(noticed.record.version).toBeGreaterThan(holding(["a"]).record.version);
    expect(accepts(noticed)).toBe(false);
    expect(statusOf(noticed, T0)).toMatchObject({ state: "running", idleBehavior: "drain" });
  });

  test("in run: it stops when its last run has ended", () => {
    const exited = at(noticed, T0, report(3, { ...SPOT, attempts: [exitedOf("a")] }));
    const over = at(exited, T0, observedAnswer(exited, "a", T0, orderIs(1, [])));
    expect(over.record.phase).toBe("shutdown");
  });

  test("in drain: it changes nothing but what is known", () => {
    const state = at(holding(["a"]), T0, set("drain"), report(2, { ...SPOT, attempts: on }));
    expect(state.record).toMatchObject({ idleBehavior: "drain", reason: "set to drain by ann" });
    expect(statusOf(state, T0).notice).toEqual({ text: "spot interruption", goneAt: null });
  });

  test("a held one stays held (workers.md#idle-behaviors)", () => {
    const state = at(ready(), T0, set("hold"), report(2, SPOT));
    expect([state.record.phase, upsertOf(state, T0).idleBehavior]).toEqual(["ready", "hold"]);
  });

  test("a self-hosted machine takes nothing more, and stays: nobody pays for it", () => {
    const state = at(readyOwn(), T0, report(2, SPOT));
    expect([state.record.phase, accepts(state)]).toEqual(["ready", false]);
    expect(accepts(at(state, T0, report(3, NONE)))).toBe(true);
  });

  test("when it will be gone is said as a duration, and shown as an instant", () => {
    const state = at(holding(["a"]), T0, report(2, { ...SPOT, goneInMs: 2 * MINUTE, attempts: on }));
    expect(statusOf(state, T0).notice?.goneAt).toBe(new Date(T0 + 2 * MINUTE).toISOString());
  });
});

describe("a notice is level, not edge", () => {
  test.each([
    ["the same again", { ...SPOT, goneInMs: 60_000 }, 0, true],
    ["a little less time than was left", { ...SPOT, goneInMs: 60_000 }, NOTICE_DRIFT_MS, true],
    ["another time", { ...SPOT, goneInMs: 60_000 }, NOTICE_DRIFT_MS + 1, false],
    ["another text", { draining: "maintenance", goneInMs: 60_000 }, 0, false],
    ["no time any more", SPOT, 0, false],
  ])("%s", (_what, said, afterMs, same) => {
    const before = at(holding(["a"]), T0, report(2, { ...SPOT, goneInMs: 60_000, attempts: on }));
    const after = at(before, T0 + afterMs, report(3, { ...said, attempts: on }));
    expect(after.record.notice === before.record.notice).toBe(same);
  });

  test("a report that says that there is none takes it back: the worker takes runs again", () => {
    const back = at(noticed, T0, report(3, { ...NONE, attempts: on }));
    expect(upsertOf(back, T0)).toMatchObject({ idleBehavior: "run", reason: "ready" });
    expect(accepts(back)).toBe(true);
    expect(back.record.events.at(-1)?.type).toBe("Notice Withdrawn");
  });

  test.each([true, false])("silence does not: the agent may just have been started (full: %s)", (full) => {
    expect(accepts(at(noticed, T0, report(3, { full, attempts: on })))).toBe(false);
  });

  test("what the operator said meanwhile counts then", () => {
    const drained = at(noticed, T0, set("drain"), report(3, { ...NONE, attempts: on }));
    expect(upsertOf(drained, T0).idleBehavior).toBe("drain");
  });

  test("an operator's `run` does not overrule it", () => {
    const state = at(holding(["a"]), T0, set("hold"), report(2, { ...SPOT, attempts: on }), set("run"));
    expect(accepts(state)).toBe(false);
  });

  test("one that ends is not saved by its being taken back", () => {
    const ending = at(ready(), T0, report(2, SPOT));
    expect(at(ending, T0, report(3, NONE)).record).toMatchObject({
      phase: "shutdown",
      reason: "its host drains: spot interruption",
    });
  });
});

describe("what is lost with a machine that was to go is an interruption (cases.md#case-9)", () => {
  test("its allocations are told so", () => {
    expect(owed(at(noticed, T0, terminated), T0, "ended")).toEqual([
      { run: "a", epoch: 1, worker: "default-s-1", how: "lost", held: true, cause: "interruption", at: T0 },
    ]);
  });

  test("also those that ask", () => {
    const gone = at(noticed, T0, terminated);
    expect(answerOrder(gone, order("a").body)).toEqual({
      kind: "ended",
      how: "lost",
      held: true,
      cause: "interruption",
    });
  });

  test("without a notice, or after it was taken back, it is a loss like any other", () => {
    const back = at(noticed, T0, report(3, { ...NONE, attempts: on }));
    expect(owed(at(back, T0, terminated), T0, "ended")[0]?.cause).toBeUndefined();
  });
});
