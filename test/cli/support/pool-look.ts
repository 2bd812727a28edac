// A pool as `drover top` has read it, made of what a test cares about.
import type { Look } from "../../../cli/top/pool-watch.ts";
import type { QueuedRun } from "../../../src/schema/queue.ts";
import { poolViewOf, workerOf } from "../../edge/support/samples.ts";
import { summaryOf } from "./control-plane.ts";

/** The server's time in looks: ten minutes after the sample runs were submitted. */
export const NOW = Date.parse("2026-11-21T08:10:00.000Z");

/** A run that runs on `w-1`, since ten minutes. */
export const running = (id: string) => summaryOf(id);

/** A run that waits for a place, or has one but does not run yet. */
export const pending = (id: string, worker: string | null = null) =>
  summaryOf(id, { state: "pending", startedAt: null, worker });

/** A machine of the pool, since an hour and a half. */
export const worker = (id: string, more: object = {}) => ({
  ...workerOf(id, "default"),
  ...{ askedAt: "2026-11-21T06:40:00.000Z", project: null, price: 0.05, ...more },
});

/** A place in the queue, with its reason. */
export function queued(id: string, position: number, more: Partial<QueuedRun> = {}): QueuedRun {
  return {
    id,
    position,
    project: "default",
    priority: 50,
    command: "make test",
    submittedAt: "2026-11-21T08:00:00.000Z",
    ageMs: 600_000 - position,
    reason: { code: "max_instances", text: "no machine has capacity (1 running)" },
    next: { code: "place", action: "place it", at: null, waitsFor: "worker" },
    ...more,
  };
}

/** A look with these runs and machines, and with the counts of the pool that belong to them. */
export function lookOf(parts: {
  running?: Look["running"];
  pending?: Look["pending"];
  workers?: Look["workers"];
  queue?: readonly QueuedRun[];
  pool?: Partial<Look["pool"]>;
}): Look {
  const { running: runs = [], pending: waiting = [], workers = [], queue = [] } = parts;
  const oldestAgeMs = queue.length === 0 ? null : 600_000;
  return {
    pool: {
      ...poolViewOf("default"),
      runs: { running: runs.length, pending: waiting.length },
      queue: { depth: queue.length, oldestAgeMs },
      workers: { running: workers.length },
      spend: { perHour: 0.05, unpriced: 0, worstPerHour: 0.2 },
      ...parts.pool,
    },
    running: runs,
    pending: waiting,
    workers,
    queue: new Map(queue.map((one) => [one.id, one])),
    at: NOW,
  };
}
