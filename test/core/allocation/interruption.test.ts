import { describe, expect, test } from "vitest";
import type { AllocationEvent } from "../../../src/core/allocation/machine.ts";
import { statusOf } from "../../../src/core/allocation/read/status.ts";
import type { Ended } from "../../../src/core/messages.ts";
import {
  exited,
  nothing,
  observed,
  orderAnswered,
  placedOn,
  pool,
  RUN,
  reloaded,
  runAt,
  type Submitted,
  started,
  submit,
  T0,
} from "../support/allocation.ts";

const reschedule = { attempts: 1, interval: "1h", delay: "5s" };
const end: Ended = { run: RUN, epoch: 1, worker: "w1", how: "lost", held: true, at: T0 };
const lost: AllocationEvent = { type: "ended", body: { ...end, cause: "interruption" } };
const stopped = observed([{ ...exited({ code: null, signal: "SIGTERM" }), stopped: "interruption" }]);
const endOf = ({ record }: Submitted) => record.events.find(({ type }) => type === "Placement Ended");

describe("a run whose machine was taken away, and whose host had said so (cases.md#case-9)", () => {
  test.each<[string, AllocationEvent, "lost" | "gone"]>([
    ["the machine went with it", lost, "lost"],
    ["its host has stopped it before", stopped, "gone"],
  ])("%s: its placement and an event name the cause, and it is placed anew", (_what, event, outcome) => {
    const state = runAt(started({ reschedule }), T0, event);
    expect(state.record).toMatchObject({ ended: false, placeAt: T0 + 5_000 });
    expect(state.record.placements).toMatchObject([{ worker: "w1", outcome, cause: "interruption" }]);
    expect(endOf(state)).toMatchObject({ details: { how: outcome, cause: "interruption" } });
    expect(statusOf(reloaded(state)).placements).toMatchObject([{ cause: "interruption" }]);
  });

  test("if it may not be placed anew, its end says so", () => {
    const { record } = runAt(started(), T0, lost);
    expect(record.outcome).toMatchObject({ state: "unknown", failure: { code: "machine_lost" } });
    expect(record.outcome?.failure?.text).toContain("lost to an interruption");
  });

  test("heard as the answer to an order, it is the same", () => {
    const placed = runAt(nothing(), T0, submit({ reschedule }), pool(1, placedOn()));
    const answer = { kind: "ended", how: "lost", held: true, cause: "interruption" } as const;
    const state = runAt(placed, T0, orderAnswered(placed, answer));
    expect(state.record.placements).toMatchObject([{ cause: "interruption" }]);
  });

  test("a loss without a word before has no cause", () => {
    const state = runAt(started({ reschedule }), T0, { type: "ended", body: end });
    expect(state.record.placements[0]).not.toHaveProperty("cause");
    expect(endOf(state)?.details).not.toHaveProperty("cause");
  });
});
