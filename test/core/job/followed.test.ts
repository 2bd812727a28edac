import { describe, expect, test } from "vitest";
import { refusalOfAfter, refuseFollowed } from "../../../src/core/job/followed/circle.ts";
import { latestOf, type RunOfJob, toFollow } from "../../../src/core/job/followed/to-follow.ts";
import type { JobRow } from "../../../src/core/job/listed.ts";
import { type JobRecord, type VersionRow, versionKey } from "../../../src/core/job/record.ts";
import { keyOf } from "../../../src/core/registry/projects.ts";
import { Rows } from "../../../src/core/rows.ts";
import { runToFollow } from "../../../src/objects/jobs/run-to-follow.ts";
import type { PoolApi } from "../../../src/objects/rpc.ts";
import { JobFields } from "../../../src/schema/job/job.ts";
import { unfollowed } from "../../../src/shared/jobs/unfollowed.ts";
import { MapDisk } from "../support/map-disk.ts";
import { schedule } from "./support/schedule.ts";

// Which run of a job is followed, and which jobs may follow each other (jobs.md#following).

const NOON = Date.parse("2026-11-22T12:00:00Z");
const MINUTE = 60_000;
const at = (minutes: number) => NOON + minutes * MINUTE;

/** A run that was submitted so many minutes after noon, for a tick if it has one. */
const run = (submitted: number, tick?: number): RunOfJob => ({
  run: tick === undefined ? `by-${submitted}` : `at-${tick}-${submitted}`,
  submittedAt: at(submitted),
  tick: tick === undefined ? undefined : at(tick),
});

interface Given {
  owed?: [tick: number, startAt: number][];
  /** Up to where ticks are handled. */
  since?: number;
  cron?: string;
  paused?: boolean;
}

function job({ owed = [], since = 0, cron, paused = false }: Given) {
  const record: Pick<JobRecord, "owed" | "paused" | "since"> = {
    owed: owed.map(([tick, startAt]) => ({
      tick: { at: at(tick), local: "" },
      startAt: at(startAt),
      version: 1,
    })),
    since: { at: at(since) },
    paused: paused ? { at: NOON, by: "user" } : null,
  };
  return { record, schedule: cron === undefined ? undefined : schedule(cron) };
}

test("is found behind thousands of newer runs, which make pages without any of the job", async () => {
  const asked: unknown[] = [];
  const summary = { id: "load-by-one", labels: {}, submittedAt: new Date(NOON).toISOString() };
  const pages = [
    { items: [], next: "1" },
    { items: [], next: "2" },
    { items: [summary], next: "3" },
  ];
  const list = async (...[, page]: Parameters<PoolApi["list"]>) => {
    asked.push(page?.cursor);
    return pages[asked.length - 1] ?? { items: [], next: null };
  };
  const versions = new Rows<VersionRow>(new MapDisk(), () => true);
  const fields = JobFields.parse({ spec: { argv: ["true"] } });
  versions.set(versionKey(1), { version: 1, fields, at: NOON, by: "ann", budget: null }, NOON);
  const { record } = job({});
  const all = { ...record, name: "load", project: "default", version: 1 } as JobRecord;
  const found = await runToFollow(
    { pool: () => ({ list }) },
    { record: all, versions, memo: {} },
    { tick: null, maxAgeMs: null },
    at(60),
  );
  expect([found, asked]).toEqual([{ kind: "run", run: "load-by-one" }, [undefined, "1", "2"]]);
});

describe("the run that is followed (jobs.md#following)", () => {
  test.each<[string, RunOfJob[], number, string | undefined]>([
    ["the latest tick", [run(1, 1), run(2, 2)], 9, "at-2-2"],
    ["the latest tick, also if an older one was made up later", [run(2, 2), run(5, 1)], 9, "at-2-2"],
    ["a trigger after the latest tick", [run(2, 2), run(3)], 9, "by-3"],
    ["of two of one tick the second, such as a rerun", [run(2, 2), run(6, 2)], 9, "at-2-6"],
    ["none that is later than asked for", [run(1, 1), run(5)], 4, "at-1-1"],
    ["a tick that was run before its time as of then", [run(1, 60)], 9, "at-60-1"],
    ["nothing", [run(5)], 4, undefined],
  ])("is %s", (_, runs, until, expected) => {
    expect(latestOf(runs, at(until))?.run).toBe(expected);
    expect(latestOf([...runs].reverse(), at(until))?.run).toBe(expected);
  });

  const ask = (given: Given, runs: RunOfJob[], tick: number | null, maxAge: number | null, now = 10) => {
    const question = {
      tick: tick === null ? null : at(tick),
      maxAgeMs: maxAge === null ? null : maxAge * MINUTE,
    };
    const answer = toFollow(job(given), runs, question, at(now));
    if (answer.kind === "run") return answer.run;
    return answer.kind === "waits"
      ? `waits for ${(answer.tick - NOON) / MINUTE}`
      : (answer.latest?.run ?? "none");
  };

  test.each<[string, Given, RunOfJob[], number | null, number | null, string]>([
    ["of a tick: that of the same tick", {}, [run(5, 5), run(6)], 5, null, "at-5-5"],
    ["of a tick: the one that its job owes", { owed: [[5, 5]] }, [run(4, 4)], 5, null, "waits for 5"],
    ["of a tick: one of which the answer was lost", { owed: [[5, 5]] }, [run(5, 5)], 5, null, "at-5-5"],
    ["of a tick: one that starts later", { owed: [[5, 60]] }, [run(4, 4)], 5, null, "waits for 5"],
    [
      "of a tick: one that nobody has looked at",
      { since: 4, cron: "* * * * *" },
      [run(4, 4)],
      5,
      null,
      "waits for 5",
    ],
    ["of a tick: none of a later tick", { since: 5, owed: [[6, 6]] }, [run(5, 5)], 5, null, "at-5-5"],
    [
      "of a tick: not that of a paused job",
      { since: 4, cron: "* * * * *", paused: true },
      [run(4, 4)],
      5,
      null,
      "at-4-4",
    ],
    [
      "of a tick: what is owed, although the job is paused",
      { owed: [[5, 5]], paused: true },
      [],
      5,
      null,
      "waits for 5",
    ],
    [
      "of a tick: one that was skipped has none",
      { since: 5, cron: "* * * * *" },
      [run(4, 4)],
      5,
      null,
      "at-4-4",
    ],
    ["of a tick: by its own time, however late", {}, [run(5, 5)], 7, 2, "at-5-5"],
    ["of a tick: too old by a minute", {}, [run(5, 5)], 8, 2, "at-5-5 "],
    ["now: the latest", {}, [run(1, 1), run(5)], null, null, "by-5"],
    ["now: as old as it may be", {}, [run(5)], null, 5, "by-5"],
    ["now: older", {}, [run(4)], null, 5, "by-4 "],
    ["now: one that should have started", { owed: [[9, 10]] }, [run(8, 8)], null, null, "waits for 9"],
    ["now: not one whose start is spread out", { owed: [[9, 11]] }, [run(8, 8)], null, null, "at-8-8"],
    ["now: one that is owed and too old", { owed: [[1, 1]] }, [], null, 5, "none"],
    ["now: nothing", { since: 10, cron: "* * * * *" }, [], null, null, "none"],
  ])("%s", (_, given, runs, tick, maxAge, expected) => {
    const found = ask(given, runs, tick, maxAge);
    const question = {
      tick: tick === null ? null : at(tick),
      maxAgeMs: maxAge === null ? null : maxAge * MINUTE,
    };
    const isOld = toFollow(job(given), runs, question, at(10)).kind === "none" && found !== "none";
    expect(isOld ? `${found} ` : found).toBe(expected);
  });

  test("is never there although it was not, whatever is read first: a tick is owed or listed", () => {
    const before: Given = { owed: [[5, 5]] };
    expect(ask(before, [run(4, 4)], 5, null)).toBe("waits for 5");
    expect(ask(before, [run(4, 4), run(5, 5)], 5, null)).toBe("at-5-5");
  });
});

test("what is not there is said with what to do (jobs.md#following)", () => {
  const entry = { job: "etl", maxAge: "1d" };
  const latest = { run: "etl-by-x", at: NOON };
  const texts = [
    unfollowed(entry, { tick: null }, undefined),
    unfollowed({ job: "etl" }, { tick: null }, { kind: "none", latest: null }),
    unfollowed(entry, { tick: null }, { kind: "none", latest: null }),
    unfollowed(entry, { tick: NOON }, { kind: "none", latest: null }),
    unfollowed(entry, { tick: null }, { kind: "none", latest }),
    unfollowed(entry, { tick: null }, { kind: "waits", tick: NOON }),
  ].map(({ code, detail }) => `${code}: ${detail}`);
  expect(texts).toEqual([
    'unknown_job: names job "etl", which does not exist, or no longer: store it first',
    'unknown_run: names job "etl", which has no run: run it first, with `drover jobs trigger etl`',
    'unknown_run: names job "etl", which has no run that is at most 1d old: run it first, with ' +
      "`drover jobs trigger etl`",
    'unknown_run: names job "etl", which has no run from 2026-11-22T12:00:00.000Z or before that is at ' +
      "most 1d old: run it first, with `drover jobs trigger etl --tick <instant>`",
    'unknown_run: names job "etl", whose latest run, etl-by-x of 2026-11-22T12:00:00.000Z, is older than ' +
      "1d: run it first, with `drover jobs trigger etl`",
    'not_acknowledged: names job "etl", and the run of its tick 2026-11-22T12:00:00.000Z is not submitted ' +
      "yet: ask again",
  ]);
});

describe("jobs that follow jobs (jobs.md#following-put)", () => {
  const rows = new Rows(new MapDisk<JobRow>(), () => true);
  const list = (name: string, after: string[], project = "default") => {
    const named = { name, project };
    const row: JobRow = {
      ...named,
      pool: "default",
      description: "",
      version: 1,
      schedule: null,
      paused: false,
      ...(after.length === 0 ? {} : { after }),
      changedAt: 0,
      createdAt: 0,
      revision: 1,
      audited: 0,
    };
    rows.set(keyOf(named), row, 0);
  };
  list("a", ["b"]);
  list("b", ["c", "d"]);
  list("c", ["d"]);
  list("d", []);
  list("e", [], "other");

  test.each([
    [
      "d",
      ["a"],
      "/spec/after/0/job makes jobs wait for each other in a circle: d after a after b after c after d",
    ],
    ["c", ["d", "b"], "/spec/after/1/job makes jobs wait for each other in a circle: c after b after c"],
    ["d", ["d"], "/spec/after/0/job names the job itself"],
    ["new", ["d", "nobody"], '/spec/after/1/job names job "nobody", which does not exist'],
    ["new", ["e"], '/spec/after/0/job names job "e", which does not exist'],
  ])("%s after %j is refused, and the whole circle is named", (name, after, text) => {
    expect(refusalOfAfter(rows, { project: "default", name }, after)?.message).toContain(text);
  });

  test.each([
    ["new", ["a", "b", "c", "d"]],
    ["a", ["c", "d"]],
    ["a", []],
  ])("%s after %j is not", (name, after) => {
    expect(refusalOfAfter(rows, { project: "default", name }, after)).toBeNull();
  });

  test("a job that others follow is not removed, and they are named", () => {
    const remove = (name: string) => () => refuseFollowed(rows, { project: "default", name });
    expect(remove("d")).toThrow(/the job d is followed by b, c: .*remove these jobs/);
    expect(remove("a")).not.toThrow();
    expect(() => refuseFollowed(rows, { project: "other", name: "d" })).not.toThrow();
  });
});
