import { describe, expect, test } from "vitest";
import type { WorkerEvent } from "../../src/core/worker/machine.ts";
import { upsertOf } from "../../src/core/worker/read/summary.ts";
import type { ExistingWorker } from "../../src/core/worker/state.ts";
import type { BootOutcome } from "../../src/probes/boot.ts";
import {
  at,
  BOOTED,
  created,
  INSTANCE,
  intent,
  MINUTE,
  nothing,
  ready,
  reloaded,
  report,
  T0,
} from "../core/support/worker.ts";

const kill: WorkerEvent = { type: "kill", reason: "", by: "ann" };
const drain: WorkerEvent = { type: "behavior", behavior: "drain", by: "ann" };
const terminated: WorkerEvent = {
  type: "sighting",
  body: {
    worker: "default-s-1",
    provider: intent().provider,
    beganAt: T0,
    instance: { ...INSTANCE, state: "terminated" },
    consistencyMs: 0,
  },
};
const refused: WorkerEvent = {
  type: "create_answered",
  answer: { kind: "failed", failure: { class: "quota", text: "no more" } },
};

const asked = at(nothing(), T0, { type: "create", body: intent() });
const enrolled = at(asked, T0, created, { type: "enroll", secret: "s", bootId: "b" });
const outcomeOf = (state: ExistingWorker, now = T0) => upsertOf(state, now).bootOutcome;

describe("a boot has one outcome, and the first one stays (workers.md#boot-outcomes)", () => {
  test.each<[string, ExistingWorker, BootOutcome | null]>([
    [
      "workers.md#boot-1: success: the boot probe has succeeded",
      at(enrolled, T0, report(1, BOOTED)),
      "success",
    ],
    [
      "workers.md#boot-2: failure: broken while set to run",
      at(enrolled, T0, report(1, { broken: "no disk" })),
      "failure",
    ],
    [
      "workers.md#boot-in-time: failure: it was not ready in time",
      at(enrolled, T0 + 10 * MINUTE, { type: "tick" }),
      "failure",
    ],
    ["workers.md#boot-3: aborted: drained", at(enrolled, T0, drain), "aborted"],
    ["workers.md#boot-3: aborted: killed", at(enrolled, T0, kill), "aborted"],
    [
      "workers.md#boot-4: disappeared: nobody had asked for that",
      at(enrolled, T0, terminated),
      "disappeared",
    ],
    ["workers.md#boot-outcomes: none, it boots", enrolled, null],
    ["workers.md#boot-outcomes: none, no machine was made", at(asked, T0, refused), null],
    ["workers.md#boot-outcomes: none, killed before there was a machine", at(asked, T0, kill), null],
  ])("%s", (_what, state, outcome) => {
    expect(outcomeOf(state)).toBe(outcome);
  });

  test.each<[string, ExistingWorker, BootOutcome]>([
    [
      "workers.md#broken-5: success, then broken",
      at(enrolled, T0, report(1, BOOTED), report(2, { broken: "no disk" })),
      "success",
    ],
    ["success, then gone", at(ready(), T0, terminated), "success"],
    ["failure, then gone", at(enrolled, T0, report(1, { broken: "no" }), terminated), "failure"],
    ["aborted, then gone", at(enrolled, T0, kill, terminated), "aborted"],
    [
      "broken in the report that says that it has booted",
      at(enrolled, T0, report(1, { ...BOOTED, broken: "no" })),
      "failure",
    ],
    ["a machine that came after its worker was killed", at(asked, T0, kill, created, terminated), "aborted"],
  ])("%s", (_what, state, outcome) => {
    expect([outcomeOf(state), outcomeOf(reloaded(state))]).toEqual([outcome, outcome]);
  });

  test("held or drained, that it is broken is none yet (workers.md#broken-hosts)", () => {
    const held = at(enrolled, T0, { type: "behavior", behavior: "hold", by: "ann" });
    expect(outcomeOf(at(held, T0, report(1, { broken: "no disk" })))).toBeNull();
  });

  // decisions/pool.md#d24
  test("a failed boot and one that disappeared are the pool's news, an aborted one is not", () => {
    expect(upsertOf(at(enrolled, T0, report(1, { broken: "no disk" })), T0).failure).toMatchObject({
      class: "boot",
      text: "broken: no disk",
    });
    expect(upsertOf(at(enrolled, T0, terminated), T0).failure?.class).toBe("boot");
    expect(upsertOf(at(enrolled, T0, drain), T0).failure).toBeNull();
  });
});
