import { describe, expect, test } from "vitest";
import { allocationInbox } from "../../src/core/allocation/inbox.ts";
import { ordersFor } from "../../src/core/worker/host/report.ts";
import { MAX_KEPT_ASKED } from "../../src/core/worker/host/retained-data.ts";
import type { ExistingWorker } from "../../src/core/worker/state.ts";
import { MAX_WORKER_EVENT_BYTES } from "../../src/core/worker/state.ts";
import {
  MAX_HELD_LOG_CHARS,
  MAX_STRANGERS_ASKED,
  MAX_STRANGERS_LOOKED_UP,
  MAX_UNORDERED_ATTEMPTS,
} from "../../src/probes/believed.ts";
import { MAX_STALE_RUNS } from "../../src/probes/trouble.ts";
import { type AttemptReport, MAX_HOST_NUMBER, Report } from "../../src/schema/host.ts";
import { placementKey } from "../../src/shared/attempt-id.ts";
import { MAX_TEXT_CHARS } from "../../src/shared/limits.ts";
import { existing, FIRST, queued, RUN } from "../core/support/allocation.ts";
import {
  at,
  attemptOf,
  exitedOf,
  holding,
  observedAnswer,
  orderIs,
  owed,
  ready,
  report,
  runningOf,
  T0,
} from "../core/support/worker.ts";

// One line each of the table in docs/design/reports.md: what a report says can cost no more than is stated.

const MANY = 1_000;
const names = (count: number, of = "x") => Array.from({ length: count }, (_, n) => `${of}${n}`);
const strangers = (count: number, of = "x") => names(count, of).map((run) => runningOf(run));
const asked = (state: ExistingWorker, now = T0) => owed(state, now, "observed").map(({ run }) => run);

describe("X5: placements that the worker was never given", () => {
  const told = at(holding(["a"]), T0, report(2, { attempts: [runningOf("a"), ...strangers(MANY)] }));

  test("a few of them are shown to their runs, and the rest is omitted from the orders at once", () => {
    expect(asked(told)).toEqual(["a", ...names(MAX_STRANGERS_ASKED)]);
    expect(ordersFor(told, 2, T0).attempts).toHaveLength(1 + MAX_STRANGERS_ASKED);
  });

  test("nothing is stored of them, whatever their runs answer", () => {
    const answers = [{ kind: "no_such" as const }, orderIs(1, [])];
    const state = names(MAX_STRANGERS_ASKED).reduce((before, run, n) => {
      const answer = answers[n % answers.length] ?? { kind: "no_such" as const };
      return at(before, T0, observedAnswer(before, run, T0, answer));
    }, told);
    expect(state.placements.version).toBe(told.placements.version);
    expect(names(MANY).filter((run) => state.placements.get(placementKey(run, 1)) !== undefined)).toEqual([]);
    expect(asked(at(state, T0, report(3, { attempts: strangers(MANY) })))).toEqual([]);
  });

  test("in deltas there are no more of them", () => {
    const state = [3, 4, 5].reduce(
      (before, seq) => at(before, T0, report(seq, { full: false, attempts: strangers(MANY, `y${seq}-`) })),
      told,
    );
    expect(Object.keys(state.memo.reported)).toHaveLength(1 + MAX_STRANGERS_ASKED);
  });

  test("so many are looked up in the table, and no more", () => {
    const state = holding(["a"]);
    let looks = 0;
    const { get } = state.placements;
    state.placements.get = (key) => {
      looks += 1;
      return get.call(state.placements, key);
    };
    const before = looks;
    at({ ...state }, T0, report(2, { attempts: strangers(MANY) }));
    expect(looks - before).toBeLessThanOrEqual(MAX_STRANGERS_LOOKED_UP + 4 * MAX_STRANGERS_ASKED);
  });
});

describe("X5: a run that this worker was not given is not taken over by saying that it is there", () => {
  const claim = {
    run: RUN,
    epoch: 1,
    worker: "liar",
    protocol: 1,
    attempts: [{ ...exitedOf("a"), id: FIRST }],
  };

  test("one that waits for its place stays as it is", () => {
    const waiting = queued();
    expect(allocationInbox.observed.fold(waiting, { ...claim, held: false }, T0)).toBe(waiting);
  });

  test("what its worker has accepted is taken up again", () => {
    const { record } = existing(allocationInbox.observed.fold(queued(), { ...claim, held: true }, T0));
    expect(record.placements).toMatchObject([{ worker: "liar", epoch: 1 }]);
  });
});

describe("X5: attempts of one placement", () => {
  const attempts = (count: number): AttemptReport[] =>
    Array.from({ length: count }, (_, n) => ({ id: `a/x/1.${n + 1}`, state: "running" }));

  test("those that were ordered are heard, and a few others", () => {
    const state = at(holding(["a"]), T0, report(2, { attempts: [runningOf("a"), ...attempts(MANY)] }));
    const [heard] = owed(state, T0, "observed");
    expect(heard?.attempts).toHaveLength(1 + MAX_UNORDERED_ATTEMPTS);
    expect(heard?.attempts[0]?.id).toBe(attemptOf("a"));
  });

  test("one that is named many times is one, and the last word counts", () => {
    const words = Array.from({ length: MANY }, () => runningOf("a"));
    const state = at(holding(["a"]), T0, report(2, { attempts: [...words, exitedOf("a")] }));
    expect(owed(state, T0, "observed")[0]?.attempts).toEqual([exitedOf("a")]);
  });

  test("in deltas there are no more of them", () => {
    const state = [3, 4, 5].reduce(
      (before, seq) => at(before, T0, report(seq, { full: false, attempts: attempts(seq * MANY) })),
      at(holding(["a"]), T0, report(2, { attempts: [runningOf("a")] })),
    );
    expect(state.memo.reported["a/1"]?.attempts).toHaveLength(1 + MAX_UNORDERED_ATTEMPTS);
  });

  test("their log bytes are not piled up in memory", () => {
    const data = "A".repeat(400_000);
    const piece = { from: 0, size: 300_000, data };
    const state = Array.from({ length: 12 }, (_, n) => n).reduce(
      (before, n) => {
        const attempt: AttemptReport = { id: `a/x/1.${n + 1}`, state: "running", log: { stdout: piece } };
        return at(before, T0, report(n + 2, { full: false, attempts: [attempt] }));
      },
      holding(["a"]),
    );
    const held = state.memo.reported["a/1"]?.attempts.map(({ log }) => log?.stdout?.data?.length ?? 0) ?? [];
    expect(held.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(MAX_HELD_LOG_CHARS + data.length);
  });
});

describe("X5: the other lists of a report", () => {
  test("kept: a few runs are asked at a time", () => {
    const kept = names(MANY).map((run) => `${run}/1`);
    expect(asked(at(ready(), T0, report(2, { kept })))).toEqual(names(MAX_KEPT_ASKED));
  });

  test("stale: as many runs as prove that a machine is broken, with short texts", () => {
    const stale = names(MANY).map((run) => ({ run, holder: "漢".repeat(MAX_TEXT_CHARS) }));
    const { record } = at(ready(), T0, report(2, { stale }));
    expect(Object.keys(record.stale ?? {})).toHaveLength(MAX_STALE_RUNS);
    expect(JSON.stringify(record.stale).length).toBeLessThan(32_000);
    const again = at(at(ready(), T0, report(2, { stale })), T0, report(3, { stale }));
    expect(again.record.stale).toEqual(record.stale);
  });

  test("usage: of what was ordered", () => {
    const used = { cpuMs: 1, memoryBytes: 1, pids: 1 };
    const all = [attemptOf("a"), ...names(MANY).map((run) => attemptOf(run))];
    const attempts = Object.fromEntries(all.map((id) => [id, used]));
    const state = at(holding(["a"]), T0, report(2, { usage: { agoMs: 0, host: used, attempts } }));
    expect(state.memo.usage?.attempts).toEqual({ [attemptOf("a")]: used });
  });

  test.each(["seq", "ordersSeen"])("%s: a number that could not be counted on from is refused", (field) => {
    const said = { incarnation: 1, seq: 1, full: true, ordersSeen: 0, attempts: [] };
    expect(Report.safeParse({ ...said, [field]: MAX_HOST_NUMBER }).success).toBe(true);
    expect(Report.safeParse({ ...said, [field]: MAX_HOST_NUMBER + 1 }).success).toBe(false);
  });
});

test("X17: what is kept of a worker's events has a bound in all", () => {
  const state = Array.from({ length: 200 }, (_, n) => n).reduce(
    (before, n) => at(before, T0, report(n + 2, { draining: `${n} ${"漢".repeat(MAX_TEXT_CHARS - 10)}` })),
    ready(),
  );
  const chars = state.record.events.reduce((sum, { message }) => sum + message.length, 0);
  expect(2 * chars).toBeLessThanOrEqual(MAX_WORKER_EVENT_BYTES);
  expect(state.record.events.length).toBeGreaterThan(10);
});
