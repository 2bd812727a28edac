// Which entries of the audit log does a job owe the registry (audit.md#outbox)?
import type { Instant } from "../../shared/machine.ts";
import type { OwedEntry } from "../audit/entry.ts";
import { withEntry } from "../audit/outbox.ts";
import { viaField } from "../audit/via.ts";
import type { JobEvent, JobRequest } from "./events.ts";
import type { JobRecord, JobState } from "./record.ts";

const ACTIONS = {
  put: "job.put",
  pause: "job.pause",
  resume: "job.resume",
  remove: "job.delete",
} as const satisfies Record<JobRequest["type"], string>;

/** Adds the entry of what a user has asked, in the same step. What changes nothing has no entry. */
export function noteAudit(before: JobState, after: JobState, event: JobEvent, now: Instant): JobState {
  const { record } = after;
  if (!isRequest(event) || record === null || record.revision === (before.record?.revision ?? 0))
    return after;
  const entry: Omit<OwedEntry, "n"> = {
    at: now,
    by: event.by,
    action: ACTIONS[event.type],
    ...reasonOf(event, record),
    ...viaField(event),
  };
  return { ...after, record: { ...record, audit: withEntry(record.audit, entry) } };
}

function isRequest(event: JobEvent): event is JobRequest {
  return Object.hasOwn(ACTIONS, event.type);
}

function reasonOf(event: JobRequest, { version, paused }: JobRecord): Pick<OwedEntry, "reason"> {
  if (event.type === "put") return { reason: `version ${version}${paused === null ? "" : ", paused"}` };
  return event.type === "resume" && event.makeUp ? { reason: "with the ticks of the pause" } : {};
}
