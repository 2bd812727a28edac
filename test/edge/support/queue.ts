import { byQueueOrder, type QueuePlace } from "../../../src/core/pool/rows/run-index.ts";
import type { QueuedRun } from "../../../src/schema/queue.ts";

const SUBMITTED_AT = Date.UTC(2026, 10, 21, 8, 30);

/** The waiting runs of each pool of the fake, in the order in which they get a place. */
export const QUEUED: readonly QueuedRun[] = [90, 50, 50, 1].map((priority, at) => ({
  id: `waits-${at + 1}`,
  position: at + 1,
  project: "default",
  priority,
  command: "make test",
  submittedAt: new Date(SUBMITTED_AT).toISOString(),
  ageMs: 61_000,
  reason: { code: "max_instances", text: "no machine has room" },
  next: { action: "place it as soon as a machine has room, or is gone", at: null },
}));

/** Whether a run is behind that place in the queue. */
export function isQueuedBehind({ id: run, priority, submittedAt }: QueuedRun, place: QueuePlace): boolean {
  return byQueueOrder({ run, priority, submittedAt: Date.parse(submittedAt) }, place) > 0;
}
