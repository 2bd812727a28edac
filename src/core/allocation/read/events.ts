// Which events does the history of a run have, and in which order?
import type { RunEvent } from "../../../schema/run/run.ts";

/** The types of events. Those of tasks and groups have the same names as in Nomad (tasks.md#events). */
export type RunEventType =
  | "Received"
  | "Placed"
  | "Placement Ended"
  | "Started"
  | "Secrets On Disk"
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
  | "Healthy"
  | "Unhealthy"
  | "Signaling"
  | "Tunnel Opened"
  | "Sibling Task Failed"
  | "Leader Task Dead"
  | "Main Tasks Dead"
  | "Waiting for shutdown delay"
  | "Failed Restoring Task"
  | "Rescheduling"
  | "Retrying"
  | "Parked"
  | "Redriven"
  | "Updated"
  | "Lost"
  | "Data Stored"
  | "Data Not Stored"
  | "Data Moved"
  | "Data Lost"
  | "Late Report"
  | "Outputs Stored"
  | "Outputs Failed"
  | "Kept"
  | "Released"
  | "Log Limit"
  | "Log Truncated";

/** The events of a run. The events that are not in `before` are sorted by time, since hosts report late. */
export function inOrder(events: RunEvent[], before: RunEvent[]): RunEvent[] {
  const last = before.at(-1)?.seq ?? 0;
  const fresh = events.filter(({ seq }) => seq > last);
  const sorted = [...fresh].sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : a.seq - b.seq));
  if (sorted.every((event, i) => event === fresh[i])) return events;
  const numbered = sorted.map((event, i) => ({ ...event, seq: fresh[i]?.seq ?? event.seq }));
  return [...events.slice(0, events.length - fresh.length), ...numbered];
}
