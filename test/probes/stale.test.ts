import { describe, expect, test } from "vitest";
import { answerOrder } from "../../src/core/worker/placements.ts";
import { statusOf } from "../../src/core/worker/read/status.ts";
import type { ExistingWorker } from "../../src/core/worker/state.ts";
import type { Report } from "../../src/schema/host.ts";
import { STALE_RUN_MS } from "../../src/shared/limits.ts";
import {
  at,
  holding,
  intent,
  order,
  owed,
  ready,
  reloaded,
  report,
  runningOf,
  T0,
} from "../core/support/worker.ts";

/** Reports one after the other, each so many milliseconds after `T0`, on a machine with a run on it. */
function reported(...reports: [afterMs: number, more: Partial<Report>][]): ExistingWorker {
  const attempts = [runningOf("b")];
  return reports.reduce(
    (state, [afterMs, more], i) => at(state, T0 + afterMs, report(i + 2, { attempts, ...more })),
    holding(["b"]),
  );
}
const A = { stale: ["a"] };
const LATE = STALE_RUN_MS + 1;

describe("something still holds on to a run that has ended there (workers.md#stale-runs, per run)", () => {
  test.each<[string, [number, Partial<Report>][], string]>([
    ["workers.md#stale-2: said once", [[0, A]], "run"],
    [
      "workers.md#stale-3: said again at the time-out",
      [
        [0, A],
        [STALE_RUN_MS, A],
      ],
      "run",
    ],
    [
      "workers.md#stale-3: said again later than that",
      [
        [0, A],
        [LATE, A],
      ],
      "drain",
    ],
    [
      "workers.md#stale-1: not said again",
      [
        [0, A],
        [LATE, {}],
      ],
      "run",
    ],
    [
      "workers.md#stale-1: over in between, its clock begins anew",
      [
        [0, A],
        [1, {}],
        [LATE, A],
      ],
      "run",
    ],
    [
      "a delta without the word says nothing new",
      [
        [0, A],
        [LATE, { full: false }],
      ],
      "drain",
    ],
    [
      "a delta that names none says that it is over",
      [
        [0, A],
        [LATE, { full: false, stale: [] }],
      ],
      "run",
    ],
    [
      "workers.md#stale-5: another run has a clock of its own",
      [
        [0, A],
        [LATE, { stale: ["c"] }],
      ],
      "run",
    ],
  ])("%s", (_what, reports, behavior) => {
    expect(reported(...reports).record.idleBehavior).toBe(behavior);
  });

  test("time alone does not break it: the next report may say that it is over", () => {
    expect(at(reported([0, A]), T0 + 10 * LATE, { type: "tick" }).record.idleBehavior).toBe("run");
  });

  test("the clock is stored: an eviction does not start it anew", () => {
    const state = reloaded(reported([0, A]));
    expect(at(state, T0 + LATE, report(3, A)).record.idleBehavior).toBe("drain");
  });

  test("who holds it is named", () => {
    const held = { stale: [{ run: "a", holder: "the mount /mnt/a" }] };
    const state = reported([0, held], [LATE, held]);
    expect(state.record.reason).toBe(
      "broken: run a has ended there, and the mount /mnt/a still holds on to it",
    );
    expect(statusOf(state, T0).stale).toEqual([
      { run: "a", holder: "the mount /mnt/a", since: new Date(T0).toISOString() },
    ]);
    expect(state.record.events.map(({ type }) => type)).toEqual(
      expect.arrayContaining(["Stale Run", "Broken"]),
    );
  });

  test("the time-out is the pool's (`timeouts.staleRun`)", () => {
    const state = ready(T0, { settings: { ...intent().settings, staleRunMs: 0 } });
    expect(at(at(state, T0, report(2, A)), T0 + 1, report(3, A)).record.phase).toBe("shutdown");
  });

  test("workers.md#stale-4: a stale run is not running: its end does not wait for the drain", () => {
    const state = at(holding(["a"]), T0, report(2, { ...A, ordersSeen: 99 }));
    expect(owed(state, T0, "observed")).toMatchObject([{ run: "a", attempts: [{ state: "gone" }] }]);
  });
});

describe("a host that says that it is broken (workers.md#broken-hosts)", () => {
  const broken = { broken: "no space left on device" };
  const set = (behavior: "run" | "hold" | "drain") => ({ type: "behavior", behavior, by: "ann" }) as const;

  test.each([
    ["workers.md#broken-1: running waits for its runs, and takes no others", holding(["a"]), "ready"],
    ["workers.md#broken-2: idle is shut down on the spot", ready(), "shutdown"],
  ])("%s", (_what, state, phase) => {
    const after = at(state, T0, report(2, broken));
    expect(after.record).toMatchObject({ phase, idleBehavior: "drain", reason: `broken: ${broken.broken}` });
    expect(answerOrder(at(after, T0, order("late")), order("late").body).kind).toBe("ended");
  });

  test.each(["hold", "drain"] as const)("workers.md#broken-3: %s is left alone", (behavior) => {
    const state = at(holding(["a"]), T0, set(behavior), report(2, broken));
    expect(state.record).toMatchObject({ idleBehavior: behavior, reason: `set to ${behavior} by ann` });
  });

  test("workers.md#broken-4: an operator's `run` holds until it says so again", () => {
    const resumed = at(holding(["a"]), T0, report(2, broken), set("run"));
    expect(resumed.record.idleBehavior).toBe("run");
    expect(at(resumed, T0, report(3, broken)).record.idleBehavior).toBe("drain");
  });
});
