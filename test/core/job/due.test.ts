import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Due,
  dueTicks,
  MAX_TICKS_A_LOOK,
  nextLookAt,
  sinceFrom,
} from "../../../src/core/job/schedule/due.ts";
import { nextStarts } from "../../../src/core/job/schedule/start.ts";
import { instantsAfter, nextTicks, type Since } from "../../../src/core/job/schedule/ticks.ts";
import type { JobSchedule } from "../../../src/schema/job/schedule.ts";
import { MADE_UP_SPACING_MS, MAX_MADE_UP, ON_TIME_MS } from "../../../src/shared/jobs/limits.ts";
import { sized } from "../../chance/length.ts";
import { changesOf, DAY, HOUR, schedule, ZONES } from "./support/schedule.ts";

const MINUTE = 60_000;
const NOON = Date.parse("2026-11-22T12:00:00Z");
const job = "nightly";

/** What a look has found, in short. */
function shown({ runs, skips }: Due): string[] {
  const made = runs.map(({ tick, cause }) => `${tick.local.slice(11, 16)} ${cause}`);
  const gone = skips.map(({ from, to, count, reason }) => {
    return `${from.local.slice(11, 16)}–${to.local.slice(11, 16)} ${count} ${reason}`;
  });
  return [...made, ...gone];
}

/** How many ticks a look has handled. */
function handled({ runs, skips }: Due): number {
  return runs.length + skips.reduce((sum, { count }) => sum + count, 0);
}

describe("a tick at noon, at a look that comes later by", () => {
  test.each([
    ["nothing", 0, "one", ["12:00 on-time"]],
    ["a restart of 30 s: case 5", 30_000, "skip", ["12:00 on-time"]],
    ["the most that is on time", ON_TIME_MS, "skip", ["12:00 on-time"]],
    ["a millisecond more", ON_TIME_MS + 1, "skip", ["12:00–12:00 1 missed"]],
    ["a millisecond more, and it is made up", ON_TIME_MS + 1, "one", ["12:00 missed"]],
    ["the longest time of `catchUp`", HOUR, "one", ["12:00 missed"]],
    ["the longest time of `catchUp`, with `all`", HOUR, "all", ["12:00 missed"]],
    ["more than that", HOUR + 1, "one", ["12:00–12:00 1 too_old"]],
    ["more than that, with `all`", HOUR + 1, "all", ["12:00–12:00 1 too_old"]],
    ["less than nothing: it is not due", -1, "one", []],
  ] as const)("%s (jobs.md#missed)", (_what, lateMs, missed, expected) => {
    const daily = schedule("0 12 * * *", { missed });
    const due = dueTicks(daily, { since: { at: NOON - DAY }, now: NOON + lateMs, job });
    expect(shown(due)).toEqual(expected);
    expect(due.since).toEqual(
      expected.length === 0 ? { at: NOON - DAY } : nextTicks(daily, { at: NOON - 1 }, 1)[0],
    );
  });
});

test("with `catchUp: 0s` nothing is made up, and what is on time runs", () => {
  const hourly = schedule("0 * * * *", { catchUp: "0s", missed: "all" });
  const due = dueTicks(hourly, { since: { at: NOON - 3 * HOUR }, now: NOON + 30_000, job });
  expect(shown(due)).toEqual(["12:00 on-time", "10:00–11:00 2 too_old"]);
});

describe("case 4: the control plane was away for 12 h, and the job runs each minute (jobs.md#missed)", () => {
  const since = { at: NOON - 12 * HOUR };
  const now = NOON + 30_000;
  const away = (more: object) => dueTicks(schedule("* * * * *", more), { since, now, job });

  test("`skip`: none is made up", () => {
    const due = away({ missed: "skip" });
    expect(shown(due)).toEqual(["12:00 on-time", "00:01–11:59 719 missed"]);
  });

  test("`one`: one run stands for all, that of the latest tick", () => {
    expect(shown(away({ missed: "one" }))).toEqual([
      "12:00 on-time",
      "00:01–11:00 660 too_old",
      "11:01–11:59 59 superseded",
    ]);
    const hourly = dueTicks(schedule("0 * * * *", { missed: "one" }), {
      since,
      now: NOON + 20 * MINUTE,
      job,
    });
    expect(shown(hourly)).toEqual(["12:00 missed", "01:00–11:00 11 too_old"]);
  });

  test("`all`: those of the last hour are made up, oldest first, one after the other", () => {
    const due = away({ missed: "all" });
    const madeUp = due.runs.filter(({ cause }) => cause === "missed");
    expect(madeUp).toHaveLength(59);
    expect(shown(due).slice(-1)).toEqual(["00:01–11:00 660 too_old"]);
    for (const [i, { tick, startAt }] of madeUp.entries()) {
      expect(tick.at).toBe(NOON - (59 - i) * MINUTE);
      expect(startAt).toBe((madeUp[0]?.startAt ?? 0) + i * MADE_UP_SPACING_MS);
    }
    expect(madeUp[0]?.startAt).toBeGreaterThanOrEqual(now);
    expect(madeUp[0]?.startAt).toBeLessThan(now + MADE_UP_SPACING_MS);
  });

  test.each([
    ["as many as the cap", MAX_MADE_UP, []],
    ["one more than the cap", MAX_MADE_UP + 1, ["1 over_cap"]],
  ])("`all`, %s: the rest is skipped, and the oldest first", (_what, count, rest) => {
    const due = dueTicks(schedule("* * * * *", { missed: "all", catchUp: "12h" }), {
      since: { at: NOON - (count + 1) * MINUTE },
      now,
      job,
    });
    expect(due.runs.filter(({ cause }) => cause === "missed")).toHaveLength(MAX_MADE_UP);
    expect(due.skips.map(({ count: skipped, reason }) => `${skipped} ${reason}`)).toEqual(rest);
    expect(handled(due)).toBe(count + 1);
  });
});

describe("an absence with more ticks than one look handles needs several looks (jobs.md#ticks)", () => {
  test.each([
    ["as many as one look handles", MAX_TICKS_A_LOOK, 1],
    ["few more", MAX_TICKS_A_LOOK + 50, 2],
    ["twice as many", 2 * MAX_TICKS_A_LOOK, 3],
  ])("%s", (_what, ticks, count) => {
    for (const missed of ["skip", "one", "all"] as const) {
      const minutely = schedule("* * * * *", { missed, catchUp: "7d" });
      const looks: Due[] = [];
      let since: Since = { at: NOON - ticks * MINUTE };
      do {
        const due = dueTicks(minutely, { since, now: NOON + 1_000, job });
        since = due.since;
        looks.push(due);
      } while (looks.at(-1)?.more === true);
      expect(looks).toHaveLength(count);
      expect(looks.reduce((sum, due) => sum + handled(due), 0)).toBe(ticks);
      expect(looks.flatMap(({ runs }) => runs)).toHaveLength(
        { skip: 1, one: 1, all: MAX_MADE_UP + 1 }[missed],
      );
      expect(looks.slice(0, -1).flatMap(({ runs }) => runs)).toEqual([]);
    }
  });
});

describe("case 10: a job is paused for three days and resumed (jobs.md#paused)", () => {
  const hourly = schedule("0 * * * *", { missed: "all", catchUp: "31d" });
  const since = { at: NOON - 3 * DAY };
  const now = NOON + 10 * MINUTE;

  test("its ticks were skipped, so there is no storm", () => {
    const due = dueTicks(hourly, { since, now, job, paused: true });
    expect(shown(due)).toEqual(["13:00–12:00 72 paused"]);
    const next = dueTicks(hourly, { since: due.since, now: NOON + HOUR, job });
    expect(shown(next)).toEqual(["13:00 on-time"]);
  });

  test("they are made up if that is asked for: then it resumes without having skipped them", () => {
    expect(dueTicks(hourly, { since, now, job }).runs).toHaveLength(72);
  });

  test("even a tick that is on time is skipped while the job is paused", () => {
    expect(shown(dueTicks(hourly, { since: { at: NOON - 1 }, now: NOON, job, paused: true }))).toEqual([
      "12:00–12:00 1 paused",
    ]);
  });
});

describe("with jitter (jobs.md#jitter)", () => {
  const daily = schedule("0 12 * * *", { jitter: "1h" });
  const startAt = nextStarts(daily, { at: NOON - 1 }, 1, job)[0]?.startAt ?? 0;

  test("a tick is due at its start, and late only by what comes after that", () => {
    const look = (now: number) => shown(dueTicks(daily, { since: { at: NOON - 1 }, now, job }));
    expect(startAt).toBeGreaterThan(NOON);
    expect(look(startAt - 1)).toEqual([]);
    expect(look(startAt)).toEqual(["12:00 on-time"]);
    expect(look(startAt + ON_TIME_MS)).toEqual(["12:00 on-time"]);
    expect(look(startAt + ON_TIME_MS + 1)).toEqual(["12:00 missed"]);
  });

  test("case 11: what many jobs have missed is not made up by all of them at once", () => {
    const now = NOON + 30 * MINUTE;
    const hourly = schedule("0 * * * *", { jitter: "20m" });
    const starts = Array.from({ length: 1_000 }, (_, i) => {
      const due = dueTicks(hourly, { since: { at: NOON - 1 }, now: now + ON_TIME_MS, job: `job-${i}` });
      return due.runs[0]?.startAt ?? 0;
    });
    const minutes = new Set(starts.map((at) => Math.floor((at - now - ON_TIME_MS) / MINUTE)));
    expect([...minutes].sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i));
  });
});

test("what is made up with jitter starts before the next tick", () => {
  const hourly = schedule("0 * * * *", { jitter: "24h" });
  for (let i = 0; i < 100; i += 1) {
    const { runs } = dueTicks(hourly, { since: { at: NOON - 1 }, now: NOON + 59 * MINUTE, job: `job-${i}` });
    for (const { startAt } of runs) expect(startAt).toBeLessThan(NOON + HOUR);
  }
});

describe("the next look (jobs.md#zones)", () => {
  const since = { at: NOON };

  test("is at the start of the next tick", () => {
    expect(nextLookAt(schedule("0 12 * * *"), since, NOON, job)).toBe(NOON + DAY);
    expect(nextLookAt(schedule("* * * * *", { zone: "Europe/Berlin" }), since, NOON, job)).toBe(
      NOON + MINUTE,
    );
  });

  test("is a day before a distant tick of a zone whose rules may change", () => {
    const monthly = schedule("0 12 1 * *", { zone: "Europe/Berlin" });
    const tick = Date.parse("2026-12-01T11:00:00Z");
    expect(nextLookAt(monthly, since, NOON, job)).toBe(tick - 26 * HOUR);
    expect(nextLookAt(monthly, since, tick - 26 * HOUR, job)).toBe(tick);
    expect(nextLookAt(schedule("0 11 1 * *"), since, NOON, job)).toBe(tick);
  });

  test("is never, if there is no tick to come", () => {
    expect(nextLookAt(schedule("0 12 * * *", { until: "2026-11-22T12:00:01Z" }), since, NOON, job)).toBe(
      undefined,
    );
  });
});

test("a job that is made, resumed or changed begins now, and never before what it has handled", () => {
  expect(sinceFrom(null, NOON, true)).toEqual({ at: NOON });
  expect(sinceFrom({ at: NOON - 1, local: "x" }, NOON, true)).toEqual({ at: NOON });
  expect(sinceFrom({ at: NOON, local: "x" }, NOON, true)).toEqual({ at: NOON, local: "x" });
  expect(sinceFrom({ at: NOON, local: "x" }, NOON, false)).toEqual({ at: NOON });
});

// What the next two tests choose from.
const expressions = fc.constantFrom("* * * * *", "*/7 * * * *", "0 * * * *", "30 2 * * *", "15,45 1-3 * * *");
const anySchedule = fc
  .record({
    cron: fc.array(expressions, { minLength: 1, maxLength: 3 }),
    zone: fc.constantFrom(...ZONES),
    missed: fc.constantFrom("skip", "one", "all"),
    catchUp: fc.constantFrom("0s", "10m", "1h", "24h"),
    jitter: fc.constantFrom("0s", "0s", "30s", "10m", "24h"),
  })
  .map(({ cron, zone, ...more }) => schedule(cron, { zone, ...more }));

/** A look: so much later than the one before, or earlier; and whether the job stores what it finds. */
const look = fc.record({
  afterMs: fc.oneof(
    fc.integer({ min: 0, max: 5 * MINUTE }),
    fc.integer({ min: 0, max: 4 * HOUR }),
    fc.integer({ min: -2 * HOUR, max: 0 }),
  ),
  crashes: fc.boolean(),
  paused: fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
});

/** Makes the looks one after the other, and lists what the job has stored. */
function story(
  one: JobSchedule,
  from: number,
  looks: { afterMs: number; crashes: boolean; paused: boolean }[],
) {
  const stored: Due[] = [];
  let since: Since = { at: from };
  let now = from;
  let latest = from;
  for (const { afterMs, crashes, paused } of looks) {
    now += afterMs;
    latest = Math.max(latest, now);
    const due = dueTicks(one, { since, now, job, paused });
    if (crashes) continue;
    stored.push(due);
    since = due.since;
  }
  return { stored, since, latest };
}

test("each tick is handled once, in order, whatever the looks, crashes and clocks (jobs.md#ticks)", () => {
  const around = fc.constantFrom(...ZONES.flatMap(changesOf).map(({ at }) => at));
  fc.assert(
    fc.property(anySchedule, around, fc.array(look, { maxLength: 12 }), (one, change, looks) => {
      const from = change - 3 * HOUR;
      const { stored, since } = story(one, from, looks);
      const ends = stored.flatMap(({ runs, skips }) => [
        ...runs.map(({ tick }) => ({ from: tick.at, to: tick.at, count: 1 })),
        ...skips.map((skip) => ({ from: skip.from.at, to: skip.to.at, count: skip.count })),
      ]);
      ends.sort((a, b) => a.from - b.from);
      const expected: number[] = [];
      for (const at of instantsAfter(one, { at: from })) {
        if (at > since.at) break;
        expected.push(at);
      }
      // Each tick lies in exactly one run or one range of skipped ticks, and the counts are right.
      let at = 0;
      for (const end of ends) {
        expect([expected[at], expected[at + end.count - 1]]).toEqual([end.from, end.to]);
        at += end.count;
      }
      expect(at).toBe(expected.length);
    }),
    { numRuns: sized(40, 1_000) },
  );
});

test("case 26: what `next` shows is what then happens (jobs.md#ticks)", () => {
  fc.assert(
    fc.property(anySchedule, fc.constantFrom(...ZONES.flatMap(changesOf)), (one, { at }) => {
      const from = at - 2 * HOUR;
      const shownStarts = nextStarts(one, { at: from }, 12, job);
      let since: Since = { at: from };
      let now = from;
      const happened: { local: string; startAt: number }[] = [];
      while (happened.length < 12) {
        now = nextLookAt(one, since, now, job) ?? Infinity;
        const due = dueTicks(one, { since, now, job });
        since = due.since;
        expect(due.skips).toEqual([]);
        for (const { tick, startAt } of due.runs) happened.push({ local: tick.local, startAt });
      }
      expect(happened.slice(0, 12)).toEqual(
        shownStarts.map(({ tick, startAt }) => ({ local: tick.local, startAt })),
      );
    }),
    { numRuns: sized(30, 300) },
  );
});
