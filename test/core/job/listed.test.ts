import { describe, expect, test } from "vitest";
import {
  foldJob,
  type JobRow,
  type JobTables,
  jobsOf,
  jobsToPoke,
  REMOVED_KEPT_MS,
  type RemovedJob,
} from "../../../src/core/job/listed.ts";
import type { JobListing } from "../../../src/core/job/summary.ts";
import { Rows } from "../../../src/core/rows.ts";
import { JobSchedule, type JobScheduleInput } from "../../../src/schema/job/schedule.ts";
import { MapDisk } from "../support/map-disk.ts";

const NOON = Date.parse("2026-11-22T12:00:00Z");
const HOUR = 3_600_000;

function rowsOf(schedule: Partial<JobScheduleInput>, paused = false): Rows<JobRow> {
  const rows = new Rows<JobRow>(new MapDisk(), () => true);
  const listed = {
    name: "nightly",
    project: "default",
    pool: "default",
    description: "",
    version: 1,
    paused,
  };
  const parsed = JobSchedule.parse({ cron: "0 12 * * *", zone: "UTC", ...schedule });
  const known = { createdAt: 0, changedAt: 0, revision: 1, audited: 0 };
  rows.set("nightly", { ...listed, ...known, schedule: parsed }, NOON);
  return rows;
}

// An alarm that the platform gave up keeps a job asleep, so the pokes of an hour must find it once its tick
// has started, and as long as its run is tried (jobs.md#list).
describe("a poke wakes a job", () => {
  const CASES: [what: string, schedule: Partial<JobScheduleInput>, hours: number, isWoken: boolean][] = [
    ["before its tick", {}, -0.1, false],
    ["after its tick", {}, 0.1, true],
    ["whose last try was right before the poke of before", {}, 1.9, true],
    ["while it still tries to submit its run", { catchUp: "12h" }, 11, true],
    ["no more once that is over", { catchUp: "1h" }, 4, false],
    ["whose start is hours after its tick", { jitter: "10h" }, 11, true],
    ["no more a day after its last try", { catchUp: "31d", jitter: "10h" }, 37, false],
  ];
  test.each(CASES)("%s", (_, schedule, hours, isWoken) => {
    // Daily ticks would be in reach again.
    const once = { until: new Date(NOON + HOUR).toISOString(), from: new Date(NOON - HOUR).toISOString() };
    const woken = jobsToPoke(jobsOf(rowsOf({ ...schedule, ...once }), null), false, NOON + hours * HOUR);
    expect(woken).toHaveLength(isWoken ? 1 : 0);
  });

  test("that is paused only where the clock was set", () => {
    expect(jobsToPoke(jobsOf(rowsOf({}, true), null), false, NOON + 1)).toEqual([]);
    expect(jobsToPoke(jobsOf(rowsOf({}, true), null), true, NOON + 1)).toHaveLength(1);
  });
});

// Each word is repeated until it is confirmed, so any of them may come once more, and late (jobs.md#list).
describe("the words of a job, in any order", () => {
  const NAMED = { name: "nightly", project: "default" };
  const FIELDS = { pool: "default", description: "", version: 1, schedule: null, paused: false };
  type Said = { createdAt?: number; revision: number; isRemoved?: true };
  const wordOf = ({ createdAt = NOON, revision, isRemoved }: Said): JobListing => {
    const entry = (n: number) => ({ n, at: createdAt + n, by: "t_ada", action: "job.put" as const });
    const entries = Array.from({ length: revision }, (_, index) => entry(index + 1));
    const job = isRemoved ? null : { ...NAMED, ...FIELDS, version: revision, changedAt: createdAt };
    return { ...NAMED, createdAt, revision, job, entries };
  };
  const created: Said = { revision: 1 };
  const changed: Said = { revision: 2 };
  const removed: Said = { revision: 3, isRemoved: true };
  const again: Said = { createdAt: NOON + HOUR, revision: 1 };
  const removedAgain: Said = { createdAt: NOON + HOUR, revision: 2, isRemoved: true };
  /** The row's version, or none, and how many entries of the audit log each word brings. */
  const CASES: [what: string, words: Said[], version: number | null, entries: number[]][] = [
    ["in order", [created, changed, removed], null, [1, 1, 1]],
    ["a change before the creation", [changed, created], 2, [2, 0]],
    ["a late word after the removal", [created, removed, changed], null, [1, 2, 0]],
    ["the removal as the first word", [removed, created, changed], null, [3, 0, 0]],
    ["the removal twice", [created, removed, removed], null, [1, 2, 0]],
    ["the name again, and late words of before", [removed, again, changed, removed], 1, [3, 1, 0, 0]],
    ["the name again before the removal was heard", [created, again, removed], 1, [1, 1, 0]],
    ["the name again after a clock that went back", [again, removedAgain, created], 1, [1, 1, 1]],
    ["the name again, and late words of it", [created, removedAgain, again], null, [1, 2, 0]],
  ];
  const tables = (): JobTables => ({
    jobs: new Rows(new MapDisk<JobRow>(), () => true),
    removedJobs: new Rows(new MapDisk<RemovedJob>(), () => false),
  });
  const hear = ({ jobs, removedJobs }: JobTables, said: Said, now: number) => {
    const entries = foldJob({ jobs, removedJobs }, { type: "job_listed", listing: wordOf(said) }, now);
    jobs.flush();
    removedJobs.flush();
    return entries.length;
  };

  test.each(CASES)("%s: the list and the audit log are right", (_, words, version, entries) => {
    const heard = tables();
    expect(words.map((said, index) => hear(heard, said, NOON + 2 * HOUR + index))).toEqual(entries);
    expect(jobsOf(heard.jobs, null).map((row) => row.version)).toEqual(version === null ? [] : [version]);
  });

  test("a name that is used again within a millisecond is listed", () => {
    const heard = tables();
    expect([created, removed, created].map((said) => hear(heard, said, NOON))).toEqual([1, 2, 1]);
    expect(jobsOf(heard.jobs, null)).toHaveLength(1);
  });

  test("a removed job is remembered for a week", () => {
    const heard = tables();
    hear(heard, removed, NOON);
    const other = { ...wordOf(removed), name: "other" };
    const otherRemoved = (now: number) => {
      foldJob(heard, { type: "job_listed", listing: { ...other, createdAt: now } }, now);
      heard.removedJobs.flush();
    };
    otherRemoved(NOON + REMOVED_KEPT_MS - 1);
    expect(heard.removedJobs.get("nightly")).toMatchObject({ createdAt: NOON, audited: 3 });
    otherRemoved(NOON + REMOVED_KEPT_MS);
    expect(heard.removedJobs.get("nightly")).toBeUndefined();
  });
});
