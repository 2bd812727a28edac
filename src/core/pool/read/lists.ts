// What do the lists of queued runs and of workers show?
import type { ListedWorker, WorkerStateName } from "../../../schema/pool.ts";
import type { QueuedRun } from "../../../schema/queue.ts";
import type { Instant } from "../../../shared/machine.ts";
import { iso } from "../../../shared/time/instant.ts";
import { plan } from "../plan/plan.ts";
import type { RunRow, WorkerRow } from "../record.ts";
import { byQueueOrder, type QueuePlace } from "../rows/run-index.ts";
import type { Configured, ReadonlyConfigured } from "../state.ts";
import { keptField } from "./kept-runs.ts";
import { runsByWorker, whyAt, workerSummary } from "./views.ts";

/** The part of the queue to read: at most `limit` runs behind the position `after`. */
export interface QueueStretch {
  limit: number;
  after?: QueuePlace | undefined;
  /** Only the runs of this project. Absent: of all. */
  project?: string | undefined;
}

/** A part of the queue. */
export interface QueuePage {
  items: QueuedRun[];
  /** The number of all queued runs. */
  queued: number;
  /** Whether this page reaches the end of the queue. */
  isLast: boolean;
}

/**
 * Queued runs in order. The reasons of all runs come from one plan. The run at `after` may have left the
 * queue.
 */
export function queuePage(
  state: Configured,
  { after, limit, project }: QueueStretch,
  now: Instant,
): QueuePage {
  const planned = plan(state, now);
  const { queue } = planned;
  const from = after === undefined ? 0 : behind(queue, after);
  const places = queue.flatMap((row, at) =>
    at >= from && (project === undefined || row.project === project) ? [{ row, at }] : [],
  );
  const items = places.slice(0, limit).map(({ row, at }): QueuedRun => {
    const { reason, next } = whyAt(state, at, planned, now);
    return {
      id: row.run,
      position: at + 1,
      project: row.project,
      priority: row.priority,
      command: row.command,
      submittedAt: iso(row.submittedAt),
      ageMs: Math.max(0, now - row.submittedAt),
      reason: { code: reason.code, text: reason.text },
      next,
    };
  });
  return { items, queued: queue.length, isLast: places.length <= limit };
}

/** Where a page goes on. Where keys take turns, the run at `after` may be anywhere (pool.md#round-robin). */
function behind(queue: readonly RunRow[], after: QueuePlace): number {
  const own = queue.findIndex(({ run }) => run === after.run);
  if (own >= 0) return own + 1;
  const found = queue.findIndex((row) => byQueueOrder(row, after) > 0);
  return found < 0 ? queue.length : found;
}

/**
 * By worker: the run that ended last on this worker. `isAll`: no run has ended on a worker without an entry.
 */
export interface LastRuns {
  byWorker: ReadonlyMap<string | null, Pick<RunRow, "run" | "finishedAt">>;
  isAll: boolean;
}

/**
 * The workers in these states. `gone` reads the latest of the workers that are gone. A run that was moved
 * counts only for the worker on which it ended.
 */
export function listedWorkers(
  state: ReadonlyConfigured,
  states: readonly WorkerStateName[],
  gone: () => WorkerRow[],
  lastRuns: LastRuns,
): ListedWorker[] {
  const runs = runsByWorker(state);
  return [...state.workers.live(), ...(states.includes("gone") ? gone() : [])]
    .map((row) => {
      const summary = {
        ...workerSummary(row, runs.get(row.worker) ?? [], state.record),
        ...keptField(state, row),
      };
      const last = lastRuns.byWorker.get(row.worker);
      const endedAt = last?.finishedAt ?? null;
      const isKnown = endedAt !== null || lastRuns.isAll;
      const isIdle = summary.state === "idle" && row.readyAt !== null && isKnown;
      return {
        ...summary,
        idleSince: isIdle ? iso(Math.max(row.readyAt ?? 0, endedAt ?? 0)) : null,
        lastRun: last === undefined || endedAt === null ? null : { run: last.run, endedAt: iso(endedAt) },
        protocol: row.protocol,
      };
    })
    .filter((one) => states.includes(one.state));
}
