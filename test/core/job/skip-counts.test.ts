import { describe, expect, test } from "vitest";
import { foldJob, type JobRow, type RemovedJob } from "../../../src/core/job/listed.ts";
import { foldSkipped, newCounts, skipSamples } from "../../../src/core/job/skips/counts.ts";
import { withCounts } from "../../../src/core/job/skips/tally.ts";
import { Rows } from "../../../src/core/rows.ts";
import { MapDisk } from "../support/map-disk.ts";

// How many ticks of a job got no run, as the registry hears of it (jobs.md#skip-counts).

const skip = (reason: "overlap" | "paused", count: number) => ({
  from: 0,
  to: 0,
  count,
  reason,
  text: "",
  at: 0,
});
const said = (skipped: object, createdAt = 1) => ({
  name: "nightly",
  project: "default",
  createdAt,
  skipped,
});

function rowsWithJob(): Rows<JobRow> {
  const rows = new Rows(new MapDisk<JobRow>(), () => true);
  list(rows, 1);
  return rows;
}

function list(rows: Rows<JobRow>, revision: number): void {
  const job = {
    description: "",
    version: revision,
    schedule: null,
    paused: false,
    changedAt: 0,
    pool: "default",
  };
  const listing = { name: "nightly", project: "default", createdAt: 1, revision, entries: [] };
  const named = { name: "nightly", project: "default", ...job };
  const removedJobs = new Rows(new MapDisk<RemovedJob>(), () => false);
  foldJob({ jobs: rows, removedJobs }, { type: "job_listed", listing: { ...listing, job: named } }, 0);
}

test("counts are of ticks, by reason, and a stretch counts as many as it has", () => {
  const counts = withCounts([skip("overlap", 1), skip("paused", 4)], withCounts([skip("paused", 3)]));
  expect(counts).toEqual({ paused: 7, overlap: 1 });
});

describe("the registry", () => {
  test("has a series for each reason of a job, which a change of the job keeps", () => {
    const rows = rowsWithJob();
    expect(skipSamples(rows, null)).toEqual([]);
    foldSkipped(rows, { type: "jobs_skipped", jobs: [said({ overlap: 2, paused: 7 })] }, 0);
    list(rows, 2);
    const labels = { project: "default", job: "nightly" };
    const name = "drover_job_skipped_total";
    expect(skipSamples(rows, "default")).toEqual([
      { name, labels: { ...labels, reason: "overlap" }, value: 2 },
      { name, labels: { ...labels, reason: "paused" }, value: 7 },
    ]);
    expect(skipSamples(rows, "other")).toEqual([]);
  });

  test.each([
    ["the same again", said({ overlap: 2 })],
    ["an older word that comes late", said({ overlap: 1 })],
    ["that of an earlier job of this name", said({ overlap: 9 }, 0)],
    ["that of a job that is not listed", { ...said({ overlap: 9 }), name: "gone" }],
  ])("writes no row for %s", (_, word) => {
    const rows = rowsWithJob();
    foldSkipped(rows, { type: "jobs_skipped", jobs: [said({ overlap: 2 })] }, 0);
    expect(newCounts(rows, [word])).toEqual([]);
  });
});
