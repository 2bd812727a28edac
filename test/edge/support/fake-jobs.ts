// Jobs in memory: the real machine, whose letters go nowhere.

import { jobMachine } from "../../../src/core/job/machine.ts";
import { problemsOf } from "../../../src/core/job/problems.ts";
import { jobSummary, jobView, ticksAfter, versionView } from "../../../src/core/job/read.ts";
import {
  type ExistingJob,
  type JobState,
  jobOf,
  type VersionRow,
  versionOf,
} from "../../../src/core/job/record.ts";
import { listingOf } from "../../../src/core/job/summary.ts";
import { Rows } from "../../../src/core/rows.ts";
import { redriveRuns } from "../../../src/objects/jobs/redrive-runs.ts";
import { runToFollow } from "../../../src/objects/jobs/run-to-follow.ts";
import { hashOfGiven, submitTrigger } from "../../../src/objects/jobs/submit-trigger.ts";
import type { JobApi, Objects } from "../../../src/objects/rpc.ts";
import type { JobSummary } from "../../../src/schema/job/job.ts";
import { DroverError } from "../../../src/shared/errors.ts";
import { unknownJob } from "../../../src/shared/jobs/unknown.ts";
import { MapDisk } from "../../core/support/map-disk.ts";

/** The time of day of these jobs. */
const NOW = Date.UTC(2026, 10, 21, 8, 30);

/** The jobs of a world, by their full names. */
export type FakeJobs = Map<string, JobState>;

/** The job of this name as the edge reaches it. */
export function jobOfWorld(jobs: FakeJobs, objects: () => Objects, fullName: string): JobApi {
  const existing = (): ExistingJob => {
    const state = jobs.get(fullName);
    const job = state && jobOf(state);
    if (job === undefined) throw unknownJob(fullName);
    return job;
  };
  const applied = (event: Parameters<typeof jobMachine.apply>[1]) => {
    const before = jobs.get(fullName) ?? {
      record: null,
      versions: new Rows<VersionRow>(new MapDisk(), () => true),
      memo: {},
    };
    jobs.set(fullName, jobMachine.apply(before, event, NOW));
  };
  const asked = (event: Parameters<typeof jobMachine.apply>[1]) => {
    existing();
    applied(event);
    return jobView(existing(), NOW);
  };
  return {
    async put(request) {
      const fields = problemsOf(request, NOW);
      if (fields.length > 0) throw new DroverError("invalid_request", "the job is wrong", { fields });
      const created = !jobs.has(fullName);
      applied({ type: "put", ...request });
      return { created, job: jobView(existing(), NOW) };
    },
    read: async () => jobView(existing(), NOW),
    async ticks(count) {
      const job = existing();
      const { schedule } = versionOf(job, job.record.version).fields;
      return schedule === undefined ? [] : ticksAfter(job.record, schedule, { at: NOW }, count);
    },
    preview: async () => [],
    versions: async () => [...existing().versions.live()].map(versionView),
    async remove() {
      existing();
      jobs.delete(fullName);
    },
    pause: async (by) => asked({ type: "pause", by }),
    resume: async (makeUp, by) => asked({ type: "resume", makeUp, by }),
    async trigger(request) {
      const job = existing();
      const hash = await hashOfGiven(job.record.name, request.given);
      return submitTrigger(objects(), job, request, { hash, now: NOW, via: undefined });
    },
    redrive: async (request) => redriveRuns(objects(), existing(), request, undefined),
    runToFollow: async (question) => runToFollow(objects(), existing(), question, NOW),
    poke: async () => null,
  };
}

/** The list of a project's jobs; null: of all. */
export function listedJobs(jobs: FakeJobs, project: string | null): JobSummary[] {
  const listed = [...jobs.values()].flatMap((state) => {
    const { job = null, ...known } = listingOf(state) ?? {};
    return job === null
      ? []
      : [jobSummary({ createdAt: NOW, revision: 1, audited: 0, ...known, ...job }, NOW)];
  });
  return listed.filter((job) => project === null || job.project === project);
}
