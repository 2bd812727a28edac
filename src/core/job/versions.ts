// What does a new version of a job change (jobs.md#versions)?
import type { JobFields } from "../../schema/job/job.ts";
import type { Instant } from "../../shared/machine.ts";
import type { Budget } from "../messages.ts";
import { foldBegun } from "./look.ts";
import { skipPaused } from "./pause.ts";
import {
  type ExistingJob,
  type JobRecord,
  type JobState,
  lookingAgain,
  MAX_VERSIONS,
  versionKey,
  versionOf,
} from "./record.ts";
import { sinceFrom } from "./schedule/due.ts";

/** A request to store a job. */
export interface Put {
  name: string;
  project: string;
  fields: JobFields;
  /** Whether the job is paused from now on. Absent: as it was. */
  paused?: boolean | undefined;
  by: string;
  budget: Budget | null;
}

/** Stores a job, or another version of it. The fields that it has already make no version. */
export function foldPut(state: JobState, put: Put, now: Instant): JobState {
  const { record } = state;
  if (record?.removed !== undefined) return state;
  if (record !== null && isSame(versionOf(state, record.version).fields, put.fields)) return state;
  const version = (record?.version ?? 0) + 1;
  const row = { version, fields: put.fields, at: now, by: put.by, budget: put.budget };
  state.versions.set(versionKey(version), row, now);
  const isChanged = changesTicks(state, record, put);
  const next = record === null ? freshRecord(put, now) : leftBehind({ ...state, record }, isChanged, now);
  const since = isChanged ? sinceFrom(next.since, now, isSameZone(state, record, put)) : next.since;
  const after = {
    ...state,
    record: { ...next, version, since, revision: next.revision + 1 },
    // Of a new job no earlier object has held a tick.
    memo: lookingAgain(record === null ? { memo: { hasDecided: true } } : state),
  };
  forgetOld(after, version);
  return after;
}

function isSameZone(state: JobState, record: JobRecord | null, { fields }: Put): boolean {
  const before = record === null ? undefined : versionOf(state, record.version).fields.schedule;
  return before?.zone === fields.schedule?.zone;
}

/** What the version of before leaves: ticks that have come are its own, those of a pause included. */
function leftBehind(job: ExistingJob, isChanged: boolean, now: Instant): JobRecord {
  if (job.record.paused === null) return foldBegun(job, now).record;
  return isChanged ? skipPaused(job, now, true).record : job.record;
}

function freshRecord({ name, project, by }: Put, now: Instant): JobRecord {
  return {
    name,
    project,
    createdAt: now,
    createdBy: by,
    version: 0,
    since: { at: now },
    owed: [],
    paused: null,
    skips: [],
    revision: 0,
    listed: 0,
  };
}

function isSame(one: JobFields, other: JobFields): boolean {
  return textOf(one) === textOf(other);
}

/** The fields as text, in one order of keys. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

/** Whether a version has other ticks: then they count from now on. */
function changesTicks(state: JobState, record: JobRecord | null, { fields }: Put): boolean {
  if (record === null) return true;
  const { schedule } = versionOf(state, record.version).fields;
  const ticksOf = (one: JobFields["schedule"]) => {
    return textOf(one && { cron: one.cron, zone: one.zone, from: one.from, until: one.until });
  };
  return ticksOf(schedule) !== ticksOf(fields.schedule);
}

/** Keeps the latest versions, and those of owed ticks. */
function forgetOld({ versions, record }: JobState, version: number): void {
  const oldest = Math.min(version - MAX_VERSIONS, ...(record?.owed ?? []).map((one) => one.version - 1));
  for (const row of [...versions.live()]) if (row.version <= oldest) versions.delete(versionKey(row.version));
}
