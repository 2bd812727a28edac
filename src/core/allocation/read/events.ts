// Which events does the history of a run have, and in which order?
import type { AllocationState } from "../state.ts";

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
