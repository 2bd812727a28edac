import { expect, test } from "vitest";
import { jobMachine } from "../../../../src/core/job/machine.ts";
import type { JobState, VersionRow } from "../../../../src/core/job/record.ts";
import { Rows } from "../../../../src/core/rows.ts";
import { JobFields } from "../../../../src/schema/job/job.ts";
import { MapDisk } from "../../support/map-disk.ts";
import { at, configured, run, vcpus } from "../../support/pool.ts";

// 10,000 jobs have a tick at 00:00, and one pool has all of their runs (jobs.md#jitter).

const JOBS = 10_000;
const SECOND = 1_000;
const EVENING = Date.parse("2026-11-21T23:00:00Z");
const MIDNIGHT = Date.parse("2026-11-22T00:00:00Z");
const JITTER_S = 600;
const OPS = 5;
const MACHINES = 200;

const fields = JobFields.parse({
  spec: { argv: ["true"] },
  schedule: { cron: "0 0 * * *", zone: "UTC", jitter: `${JITTER_S}s` },
});

/** When the job submits its run, and which one. The alarm comes exactly when it was asked for. */
function submission(name: string): { to: string; at: number } {
  const versions = new Rows(new MapDisk<VersionRow>(), () => true);
  const empty: JobState = { record: null, versions, memo: {} };
  const put = { type: "put", name, project: "default", fields, by: "user", budget: null } as const;
  const stored = jobMachine.apply(empty, put, EVENING);
  const wakeAt = jobMachine.wakeAt(stored) ?? 0;
  const woken = jobMachine.apply(stored, { type: "woken" }, wakeAt);
  const letters = jobMachine.due(woken, wakeAt).filter(({ kind }) => kind === "submit");
  expect(letters).toHaveLength(1);
  return { to: letters[0]?.to ?? "", at: wakeAt };
}

test("case 11: each second brings its share of 10,000 jobs, and the pool keeps its rates", {
  timeout: 300_000,
}, () => {
  const sent = Array.from({ length: JOBS }, (_, i) =>
    submission(`team-${i % 100}-job-${Math.floor(i / 100)}`),
  );
  const bySecond = Map.groupBy(sent, ({ at: when }) => Math.floor((when - MIDNIGHT) / SECOND));
  expect(Math.min(...bySecond.keys())).toBeGreaterThanOrEqual(0);
  expect(Math.max(...bySecond.keys())).toBeLessThan(JITTER_S);
  // A second has 17 of them by the mean. By chance alone one in a million seconds would have 40.
  expect(Math.max(...[...bySecond.values()].map(({ length }) => length))).toBeLessThan(40);
  expect(new Set(sent.map(({ to }) => to)).size).toBe(JOBS);

  let state = configured({ maxInstances: MACHINES, maxCloudOpsPerSecond: OPS });
  const turns: number[] = [];
  for (let second = 0; second <= JITTER_S; second += 1) {
    const now = MIDNIGHT + second * SECOND;
    const runs = (bySecond.get(second) ?? []).map(({ to }) => run(to, { ...vcpus(1), submittedAt: now }));
    state = at(state, now, ...runs, { type: "tick" });
    const given = [...state.workers.live()].filter((row) => row.turn?.at === now).length;
    turns.push(given);
    expect(given).toBeLessThanOrEqual(OPS);
    expect([...state.workers.live()].length).toBeLessThanOrEqual(MACHINES);
  }
  expect([...state.runs.live()]).toHaveLength(JOBS);
  expect(turns.some((count) => count > 0)).toBe(true);
});
