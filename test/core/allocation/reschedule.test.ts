import { describe, expect, test } from "vitest";
import { mayReschedule, nextDelay } from "../../../src/core/allocation/reschedule.ts";
import { whyOf } from "../../../src/core/allocation/why.ts";
import type { ReschedulePolicy } from "../../../src/core/policy.ts";
import type { RunSpecInput } from "../../../src/schema/run.ts";
import {
  abort,
  ended,
  observed,
  owed,
  place,
  placedOn,
  pool,
  RUN,
  runAt,
  started,
  T0,
} from "../support/allocation.ts";
import { GroupStory, task } from "../support/group.ts";

const MINUTE = 60_000;
const POLICY: ReschedulePolicy = {
  attempts: 2,
  intervalMs: 60 * MINUTE,
  delayMs: 10,
  function: "constant",
  maxDelayMs: 0,
  unlimited: false,
};

/** Events a minute apart, the last at T0, with these delays. */
const after = (...delays: number[]) =>
  delays.map((delayMs, i) => ({ at: T0 - (delays.length - 1 - i) * MINUTE, delayMs, worker: `w${i}` }));

// nomad.md §7.3, next delay
test.each<[string, Partial<ReschedulePolicy>, number[], number, number]>([
  ["no previous events", {}, [], 0, 10],
  ["constant", {}, [10, 10], 0, 10],
  ["exponential", { function: "exponential" }, [10], 0, 20],
  ["exponential, again", { function: "exponential" }, [10, 20, 40], 0, 80],
  ["exponential, bounded", { function: "exponential", maxDelayMs: 50 }, [10, 20, 40], 50, 50],
  ["exponential, after a long run", { function: "exponential", maxDelayMs: 50 }, [10, 20, 40], 51, 10],
  ["fibonacci, one event", { function: "fibonacci" }, [10], 0, 10],
  ["fibonacci, two", { function: "fibonacci" }, [10, 10], 0, 20],
  ["fibonacci, three", { function: "fibonacci" }, [10, 10, 20], 0, 30],
  ["fibonacci, bounded", { function: "fibonacci", maxDelayMs: 25 }, [10, 10, 20], 0, 25],
  ["fibonacci, after a reset", { function: "fibonacci", maxDelayMs: 25 }, [20, 25, 10], 0, 10],
])("the next delay: %s", (_what, policy, delays, failedAfterMs, expected) => {
  expect(nextDelay({ ...POLICY, ...policy }, after(...delays), T0 + failedAfterMs)).toBe(expected);
});

// nomad.md §7.3, eligible
test.each<[string, Partial<ReschedulePolicy>, number, number, boolean]>([
  ["none yet", {}, 0, 0, true],
  ["one of two", {}, 1, 0, true],
  ["two of two", {}, 2, 0, false],
  ["the interval is over for the first", {}, 2, 60 * MINUTE - MINUTE, true],
  ["not quite", {}, 2, 60 * MINUTE - MINUTE - 1, false],
  ["no attempts", { attempts: 0 }, 0, 0, false],
  ["unlimited", { attempts: 0, unlimited: true }, 40, 0, true],
  ["a delay as long as the interval", { delayMs: 60 * MINUTE }, 0, 0, false],
])("may it be placed anew: %s", (_what, policy, count, failedAfterMs, expected) => {
  const events = after(...Array.from({ length: count }, () => 10));
  expect(mayReschedule({ ...POLICY, ...policy }, events, T0 + failedAfterMs)).toBe(expected);
});

const TWICE: Partial<RunSpecInput> = { reschedule: { attempts: 2, delay: "30s" } };

describe("a run whose machine was lost is placed anew, if it says so (api.md, Submitting)", () => {
  const lost = runAt(started(TWICE), T0 + 1_000, ended("lost"));

  test("it waits, wants nothing, and still runs as far as anybody can see", () => {
    expect(lost.record).toMatchObject({ ended: false, outcome: null, endedEpoch: 1, placeAt: T0 + 31_000 });
    expect(owed(lost, T0 + 1_000)).toMatchObject({
      upsert: { wants: "nothing", state: "running", ended: 1, avoid: ["w1"] },
    });
    expect(lost.record.events.at(-1)).toMatchObject({
      type: "Rescheduling",
      details: { worker: "w1", delay: "30s" },
    });
  });

  test("then it wants another place, not where it was", () => {
    expect(runAt(lost, T0 + 30_999, { type: "tick" }).record.placeAt).toBeDefined();
    const again = runAt(lost, T0 + 31_000, { type: "tick" });
    expect(owed(again, T0 + 31_000).upsert).toMatchObject({ wants: "place", avoid: ["w1"] });
    expect(again.record.waitingSince).toBe(T0 + 31_000);
    const placed = runAt(again, T0 + 32_000, place("w2", 2, again.record.version));
    expect(owed(placed, T0 + 32_000).order?.attempts).toMatchObject([{ id: `${RUN}/main/2.1`, want: "run" }]);
  });

  test("the attempts are those of its policy; then it ends as before", () => {
    let run = lost;
    for (const [epoch, worker] of [
      [2, "w2"],
      [3, "w3"],
    ] as const) {
      const now = T0 + epoch * 100_000;
      run = runAt(run, now, { type: "tick" }, place(worker, epoch));
      run = runAt(
        run,
        now,
        observed([{ id: `${RUN}/main/${epoch}.1`, state: "running" }], { epoch, worker }),
      );
      run = runAt(run, now + 1, ended("lost", { epoch, worker }));
    }
    expect(run.record).toMatchObject({
      ended: true,
      outcome: { state: "unknown", failure: { code: "machine_lost" } },
    });
  });

  test("and can say so (invariant 5)", () => {
    expect(whyOf(lost, null, null)).toMatchObject({
      reason: { code: "rescheduling" },
      next: { at: new Date(T0 + 31_000).toISOString() },
    });
  });

  test("an abort while it waits ends it by the pool's word", () => {
    const wished = runAt(lost, T0 + 2_000, abort());
    const { version } = wished.record;
    expect(runAt(wished, T0 + 2_000, pool(version, { kind: "none", version })).record.outcome?.state).toBe(
      "aborted",
    );
  });

  test("an epoch whose order the host never held is no reschedule (R2)", () => {
    const refused = runAt(started(TWICE), T0, ended("refused", { held: false }));
    expect(refused.record).toMatchObject({ ended: false, endedEpoch: 1 });
    expect(refused.record.reschedules).toBeUndefined();
    expect(owed(refused, T0).upsert).toMatchObject({ wants: "place" });
  });

  test("without a word it is not: the short form ends unknown", () => {
    expect(runAt(started(), T0, ended("lost")).record.outcome?.state).toBe("unknown");
  });
});

describe("a group that has failed is placed anew", () => {
  const failed = () => new GroupStory({ tasks: [task("m"), task("n")] }).ends("m", { code: 1 });

  test("once within a day, by default, after 5 s (nomad.md §7.3)", () => {
    const story = failed();
    expect(story.run.record).toMatchObject({ ended: false, endedEpoch: 1, outcome: null });
    expect(story.status.placements).toMatchObject([{ epoch: 1, outcome: "gone" }]);
    story
      .later(5_000)
      .apply({ type: "pool_answered", version: 99, answer: placedOn("w2", 2) })
      .obey();
    expect(story.living).toEqual(["m", "n"]);
    expect(story.status.tasks.map(({ failed: flag, attempts }) => [flag, attempts.length])).toEqual([
      [false, 2],
      [false, 2],
    ]);
    expect(story.ends("n", { code: 2 }).status).toMatchObject({
      state: "failed",
      failure: { text: 'task "n" failed with exit code 2' },
    });
  });

  test("with the restarts of a fresh placement", () => {
    const again = { restart: { attempts: 1, delay: "1s" } };
    const story = new GroupStory({ tasks: [task("m", again), task("n")] });
    story.ends("m", { code: 1 }).later(1_250).ends("m", { code: 1 });
    story
      .later(5_000)
      .apply({ type: "pool_answered", version: 99, answer: placedOn("w2", 2) })
      .obey();
    expect(story.ends("m", { code: 1 }).status.tasks[0]).toMatchObject({ phase: "backoff", restarts: 2 });
  });

  test("an abort while it waits ends it", () => {
    const story = failed().abort();
    const { version } = story.run.record;
    story.apply({ type: "pool_answered", version, answer: { kind: "none", version } });
    expect(story.status.state).toBe("aborted");
  });
});
