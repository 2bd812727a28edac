import { describe, expect, test } from "vitest";
import type { PoolEvent } from "../../../src/core/pool/machine.ts";
import { explainRun } from "../../../src/core/pool/read/views.ts";
import { answerWorker } from "../../../src/core/pool/rows/workers.ts";
import {
  at,
  configured,
  held,
  hold,
  MINUTE,
  owed,
  placesOf,
  run,
  T0,
  waiting,
  workerRow,
  workerSays,
} from "../support/pool.ts";

const tick: PoolEvent = { type: "tick" };
const type = (price: number) => ({ vcpus: 4, memory: "1GiB", price });

describe("no capacity in any type that would do (cases.md#case-5)", () => {
  const scopes = ["type:a", "type:b"];
  const none = (until: number) =>
    scopes.map((scope) => hold(until, { cause: "capacity", scope, reason: "none left" }));
  const pool = () =>
    held(
      configured({ instanceTypes: { a: type(1), b: type(1.2) } }, [waiting("x"), waiting("y")]),
      ...none(T0 + MINUTE),
    );

  test("`why` names it, and when it is tried again; what waits stays in the queue", () => {
    const state = at(pool(), T0, tick);
    expect(owed(state, T0, "create")).toEqual([]);
    expect(explainRun(state, "x", T0)).toMatchObject({
      reason: { code: "hold_off", text: expect.stringMatching(/type:a.*none left/) },
      next: { at: new Date(T0 + MINUTE).toISOString() },
    });
    expect(explainRun(state, "y", T0)?.reason.code).toBe("hold_off");
  });

  test("the first success ends it, and all that waits is placed", () => {
    const tried = at(pool(), T0 + MINUTE, tick);
    const [worker = "", ...others] = owed(tried, T0 + MINUTE, "create").map(({ to }) => to);
    expect(others).toEqual([]);
    const made = at(tried, T0 + MINUTE, workerSays(worker, { instance: "i", readyAt: T0 + MINUTE }));
    expect(made.record.holds.map(({ scope }) => scope)).toEqual(["type:b"]);
    expect([...made.runs.live()].map((row) => row.worker)).toEqual([worker, worker]);
  });
});

describe("a run that is canceled while its machine is made (cases.md#case-6)", () => {
  const booting = () => configured({}, [waiting("x")], [workerRow("w1", "booting")]);
  const canceled = run("x", { version: 2, state: "aborted", wants: "nothing" });

  test.each<[string, PoolEvent[]]>([
    ["before it is ready", [canceled, workerSays("w1")]],
    ["in the moment in which it is", [workerSays("w1", { phase: "booting", readyAt: null }), canceled]],
  ])("%s: nothing is placed there, and the machine may stop", (_when, events) => {
    const state = at(booting(), T0, ...events, workerSays("w1", { version: 3 }));
    expect(placesOf(state)).toEqual([]);
    expect(state.memo.index.placed.size).toBe(0);
    const idle = workerSays("w1", { version: 4, wantsStop: true });
    const asked = at(state, T0 + MINUTE, idle);
    expect(answerWorker(asked, idle.body, T0 + MINUTE)).toMatchObject({ kind: "ok", consent: true });
  });
});
