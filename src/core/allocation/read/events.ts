// Which events does the history of a run have, and in which order?
import type { RunEvent } from "../../../schema/run/run.ts";
import { MAX_RUN_EVENTS } from "../../../shared/limits.ts";
import type { Instant } from "../../../shared/machine.ts";
import { iso } from "../../../shared/time/instant.ts";
import type { AllocationRecord, AllocationState } from "../state.ts";

/**
 * The types of events. tasks.md#events explains those of tasks and groups, which have the same names as in
 * Nomad.
 */
export type RunEventType =
  | "Received"
  | "Placed"
  | "Placement Ended"
  | "Started"
  | "Downloading Artifacts"
  | "Failed Artifact Download"
  | "Driver Failure"
  | "Terminated"
  | "Killing"
  | "Killed"
  | "Kill Failed"
  | "Restarting"
  | "Not Restarting"
  | "Restart Signaled"
  | "Signaling"
  | "Sibling Task Failed"
  | "Leader Task Dead"
  | "Main Tasks Dead"
  | "Waiting for shutdown delay"
  | "Failed Restoring Task"
  | "Rescheduling"
  | "Updated"
  | "Lost"
  | "Data Stored"
  | "Data Not Stored"
  | "Data Moved"
  | "Data Lost"
  | "Late Report"
  | "Outputs Stored"
  | "Outputs Failed"
  | "Log Limit"
  | "Log Truncated";

/** What an event is about. */
export interface EventDetails {
  task?: string | undefined;
  details?: Record<string, string>;
}

/** Appends an event. The latest `MAX_RUN_EVENTS` are kept; the others are counted. */
export function addEvent(
  record: AllocationRecord,
  type: RunEventType,
  at: Instant,
  message: string,
  { task, details = {} }: EventDetails = {},
): AllocationRecord {
  const seq = (record.events.at(-1)?.seq ?? 0) + 1;
  const event: RunEvent = { seq, type, at: iso(at), task: task ?? null, message, details };
  const events = [...record.events, event];
  const excess = Math.max(0, events.length - MAX_RUN_EVENTS);
  return { ...record, events: events.slice(excess), eventsDropped: record.eventsDropped + excess };
}

/**
 * Sorts the events that were just added by time, since hosts report late. Earlier events keep their numbers.
 */
export function inOrder(before: AllocationState, after: AllocationState): AllocationState {
  const { record } = after;
  const last = before.record?.events.at(-1)?.seq ?? 0;
  if (record === null) return after;
  const fresh = record.events.filter(({ seq }) => seq > last);
  const sorted = [...fresh].sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : a.seq - b.seq));
  if (sorted.every((event, i) => event === fresh[i])) return after;
  const numbered = sorted.map((event, i) => ({ ...event, seq: fresh[i]?.seq ?? event.seq }));
  const kept = record.events.slice(0, record.events.length - fresh.length);
  return { ...after, record: { ...record, events: [...kept, ...numbered] } };
}
