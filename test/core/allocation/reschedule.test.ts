import { describe, expect, test } from "vitest";
import { mayReschedule, nextDelay } from "../../../src/core/allocation/placements/reschedule.ts";
import { whyOf } from "../../../src/core/allocation/read/why.ts";
import type { RunSpecInput } from "../../../src/schema/run/run.ts";
import type { ReschedulePolicy } from "../../../src/shared/policy.ts";
import {
  abort,
  ended,
  exited,
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

test.each<[string, Partial<ReschedulePolicy>, number[], number, number]>([
  ["restart.md#delay-1: no previous events", {}, [], 0, 10],
  ["restart.md#delay-2: constant", {}, [10, 10], 0, 10],
  ["restart.md#delay-3: exponential", { function: "exponential" }, [10], 0, 20],
  ["restart.md#delay-3: exponential, again", { function: "exponential" }, [10, 20, 40], 0, 80],
  [
    "restart.md#delay-6: exponential, bounded",
    { function: "exponential", maxDelayMs: 50 },
    [10, 20, 40],
    40 + 50,
    50,
  ],
  [
    "restart.md#delay-7: exponential, after a long run",
    { function: "exponential", maxDelayMs: 50 },
    [10, 20, 40],
    40 + 51,
    10,
  ],
  ["restart.md#delay-5: fibonacci, one event", { function: "fibonacci" }, [10], 0, 10],
  ["restart.md#delay-4: fibonacci, two", { function: "fibonacci" }, [10, 10], 0, 20],
  ["restart.md#delay-4: fibonacci, three", { function: "fibonacci" }, [10, 10, 20], 0, 30],
  ["restart.md#delay-6: fibonacci, bounded", { function: "fibonacci", maxDelayMs: 25 }, [10, 10, 20], 0, 25],
  [
    "restart.md#delay-4: fibonacci, after a reset",
    { function: "fibonacci", maxDelayMs: 25 },
    [20, 25, 10],
    0,
    10,
  ],
])("%s", (_what, policy, delays, failedAfterMs, expected) => {
  expect(nextDelay({ ...POLICY, ...policy }, after(...delays), T0 + failedAfterMs)).toBe(expected);
});

test.each<[string, Partial<ReschedulePolicy>, number, number, boolean]>([
  ["restart.md#eligible: none yet", {}, 0, 0, true],
  ["restart.md#eligible: one of two", {}, 1, 0, true],
  ["restart.md#not-eligible: two of two", {}, 2, 0, false],
  ["restart.md#eligible: the interval is over for the first", {}, 2, 60 * MINUTE - MINUTE, true],
  ["restart.md#not-eligible: not quite", {}, 2, 60 * MINUTE - MINUTE - 1, false],
  ["restart.md#not-eligible: no attempts", { attempts: 0 }, 0, 0, false],
  ["restart.md#eligible: unlimited", { attempts: 0, unlimited: true }, 40, 0, true],
  ["restart.md#not-eligible: a delay as long as the interval", { delayMs: 60 * MINUTE }, 0, 0, false],
])("%s", (_what, policy, count, failedAfterMs, expected) => {
  const events = after(...Array.from({ length: count }, () => 10));
  expect(mayReschedule({ ...POLICY, ...policy }, events, T0 + failedAfterMs)).toBe(expected);
});

const TWICE: Partial<RunSpecInput> = { reschedule: { attempts: 2, delay: "30s" } };

describe("a run whose machine was lost is placed anew, if it says so (api.md#forms-and-defaults)", () => {
  const lost = runAt(started(TWICE), T0 + 1_000, ended("lost"));

  test("it waits, wants nothing, and still runs as far as anybody can see", () => {
    expect(lost.record).toMatchObject({ ended: false, outcome: null, endedEpoch: 1, placeAt: T0 + 31_000 });
    expect(owed(lost, T0 + 1_000)).toMatchObject({
      run: { wants: "nothing", state: "running", ended: 1, avoid: ["w1"] },
    });
    expect(lost.record.events.at(-1)).toMatchObject({
      type: "Rescheduling",
      details: { worker: "w1", delay: "30s" },
    });
  });

  test("then it wants another place, not where it was (restart.md#penalty)", () => {
    expect(runAt(lost, T0 + 30_999, { type: "tick" }).record.placeAt).toBeDefined();
    const again = runAt(lost, T0 + 31_000, { type: "tick" });
    expect(owed(again, T0 + 31_000).run).toMatchObject({ wants: "place", avoid: ["w1"] });
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
    expect(whyOf(lost, null, null, T0)).toMatchObject({
      reason: { code: "rescheduling" },
      next: { at: new Date(T0 + 31_000).toISOString() },
    });
  });

  const noPlace = (version: number) => pool(version, { kind: "none", version });

  test.each([
    ["an abort", abort(), 2_000, "aborted"],
    ["its time limit", { type: "tick" } as const, 20_000, "timedout"],
  ])("%s while it waits ends it by the pool's word, for which it asks anew", (_what, event, ms, state) => {
    const limited = runAt(started({ ...TWICE, timeout: "20s" }), T0 + 1_000, ended("lost"));
    const waiting = runAt(limited, T0 + 1_000, noPlace(limited.record.version));
    expect(owed(waiting, T0 + 1_000)).toEqual({});
    const wished = runAt(waiting, T0 + ms, event);
    const { version = 0 } = owed(wished, T0 + ms).run ?? {};
    expect(runAt(wished, T0 + ms, noPlace(version)).record).toMatchObject({
      ended: true,
      outcome: { state },
    });
  });

  // restart.md#delay-6, restart.md#delay-7
  test("a run that fails at once each time waits for the longest wait again and again", () => {
    const growing = { function: "exponential" as const, delay: "30s", maxDelay: "50s", unlimited: true };
    let run = started({ reschedule: growing });
    let now = T0;
    const waits: number[] = [];
    for (let epoch = 1; epoch <= 5; epoch += 1) {
      run = runAt(run, now + 1_000, ended("lost", { epoch, worker: `w${epoch}` }));
      const placeAt = run.record.placeAt ?? 0;
      waits.push((placeAt - now - 1_000) / 1_000);
      now = placeAt;
      run = runAt(run, now, { type: "tick" }, place(`w${epoch + 1}`, epoch + 1));
    }
    expect(waits).toEqual([30, 50, 50, 50, 50]);
  });

  // restart.md#fail-time
  test("it failed when its machine was lost, not when an earlier attempt ended", () => {
    const growing = { function: "exponential" as const, delay: "30s", maxDelay: "50s", unlimited: true };
    let run = started({ reschedule: growing, restart: { attempts: 1, delay: "0s" } });
    run = runAt(run, T0 + 1_000, ended("lost"));
    run = runAt(run, T0 + 31_000, { type: "tick" }, place("w2", 2));
    const [first, second] = [1, 2].map((n) => `${RUN}/main/2.${n}`) as [string, string]; // two of two
    const on = { epoch: 2, worker: "w2" };
    run = runAt(run, T0 + 32_000, observed([{ ...exited({ code: 1 }), id: first }], on));
    run = runAt(run, T0 + 33_000, observed([{ id: second, state: "running", startedAgoMs: 0 }], on));
    // It ran for longer than the longest wait: the waits begin anew.
    expect(runAt(run, T0 + 900_000, ended("lost", on)).record.placeAt).toBe(T0 + 930_000);
    expect(runAt(run, T0 + 40_000, ended("lost", on)).record.placeAt).toBe(T0 + 90_000);
  });

  test("nor does the end of the wait change anything of a run that was aborted in it", () => {
    const wished = runAt(lost, T0 + 2_000, abort());
    expect(runAt(wished, T0 + 31_000, { type: "tick" }).record).toBe(wished.record);
  });

  test("an epoch whose order the host never held is no reschedule (R2)", () => {
    const refused = runAt(started(TWICE), T0, ended("refused", { held: false }));
    expect(refused.record).toMatchObject({ ended: false, endedEpoch: 1 });
    expect(refused.record.reschedules).toEqual([]);
    expect(owed(refused, T0).run).toMatchObject({ wants: "place" });
  });

  test("without a word it is not: the short form ends unknown", () => {
    expect(runAt(started(), T0, ended("lost")).record.outcome?.state).toBe("unknown");
  });
});

test.each<[string, Partial<RunSpecInput>["reschedule"], number]>([
  ["endlessly", { unlimited: true, function: "constant", delay: "5s" }, 5],
  ["so often within an interval", { attempts: 7, delay: "5s", interval: "1h" }, 7],
])("of what was placed anew %s, so much is remembered as counts (restart.md#kept)", (_what, policy, kept) => {
  let run = started({ reschedule: policy });
  for (let epoch = 1; epoch <= 7; epoch += 1) {
    const now = T0 + epoch * 100_000;
    const on = { epoch, worker: `w${epoch}` };
    run = runAt(run, now, { type: "tick" }, place(on.worker, epoch), ended("lost", on));
  }
  expect(run.record.reschedules).toHaveLength(kept);
  expect(run.record.reschedules?.at(-1)).toMatchObject({ at: T0 + 700_000, worker: "w7" });
});

describe("a group that has failed is placed anew", () => {
  const failed = () => new GroupStory({ tasks: [task("m"), task("n")] }).ends("m", { code: 1 });

  test("once within a day, by default, after 5 s (restart.md#reschedule-defaults)", () => {
    const story = failed();
    expect(story.run.record).toMatchObject({ ended: false, endedEpoch: 1, outcome: null });
    expect(story.status.placements).toMatchObject([{ epoch: 1, outcome: "gone" }]);
    story
      .later(5_000)
      .apply(pool(99, placedOn("w2", 2)))
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

  test("but one that has done its work is not, nor one that is not wanted (restart.md#unwanted)", () => {
    const done = () => new GroupStory({ tasks: [task("m"), task("n")] });
    expect(done().ends("m").ends("n").run.record).toMatchObject({ ended: true, endedEpoch: 1 });
    expect(done().abort().run.record).toMatchObject({ ended: true, outcome: { state: "aborted" } });
  });

  test("with the restarts of a fresh placement", () => {
    const again = { restart: { attempts: 1, delay: "1s" } };
    const story = new GroupStory({ tasks: [task("m", again), task("n")] });
    story.ends("m", { code: 1 }).later(1_250).ends("m", { code: 1 });
    story
      .later(5_000)
      .apply(pool(99, placedOn("w2", 2)))
      .obey();
    expect(story.ends("m", { code: 1 }).status.tasks[0]).toMatchObject({ phase: "backoff", restarts: 2 });
  });

  test("an abort while it waits ends it", () => {
    const story = failed().abort();
    const { version } = story.run.record;
    story.apply(pool(version, { kind: "none", version }));
    expect(story.status.state).toBe("aborted");
  });
});
