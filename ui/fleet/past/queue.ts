// How did the queue of a pool change: as lines for a chart, and as rows of a table (ui.md#fleet)?
import type { PoolSample } from "../../../src/generated/api.ts";
import { REACH_MS } from "./looks.ts";
import type { Span } from "./machine.ts";

/** The queue at a moment. */
export interface QueueLook {
  atMs: number;
  depth: number;
  /** Of the run that has waited longest; 0: none waits. */
  oldestMs: number;
}

/** Lines for a chart: a value for each moment, null where nobody looked. */
export interface QueueLines {
  atSeconds: number[];
  depth: (number | null)[];
  oldestSeconds: (number | null)[];
}

/** A row of the table: the most within a time; null: nobody looked. */
export interface QueueRow extends Span {
  depth: number | null;
  oldestMs: number | null;
}

/** The queue as a sample, or the pool itself, tells it. */
export function queueLook(atMs: number, { depth, oldestAgeMs }: PoolSample["queue"]): QueueLook {
  return { atMs, depth, oldestMs: oldestAgeMs ?? 0 };
}

/** The lines of looks that are in order. They break where two looks reach less far than to each other. */
export function linesOf(looks: readonly QueueLook[]): QueueLines {
  const lines: QueueLines = { atSeconds: [], depth: [], oldestSeconds: [] };
  const add = (atMs: number, depth: number | null, oldestMs: number | null) => {
    lines.atSeconds.push(atMs / 1_000);
    lines.depth.push(depth);
    lines.oldestSeconds.push(oldestMs === null ? null : oldestMs / 1_000);
  };
  for (const [index, { atMs, depth, oldestMs }] of looks.entries()) {
    const before = looks[index - 1];
    if (before !== undefined && atMs - before.atMs > 2 * REACH_MS) add(before.atMs + REACH_MS, null, null);
    add(atMs, depth, oldestMs);
  }
  return lines;
}

/** The most rows that the table has (ui.md#d14). */
export const MOST_ROWS = 50;

/** The span in steps of `stepMs`, the latest first, each with the most that a look in it has seen. */
export function rowsOf(looks: readonly QueueLook[], { fromMs, toMs }: Span, stepMs: number): QueueRow[] {
  const rows: QueueRow[] = [];
  for (let end = toMs; end > fromMs && rows.length < MOST_ROWS; end -= stepMs) {
    const within = looks.filter(({ atMs }) => atMs > end - stepMs && atMs <= end);
    rows.push({
      fromMs: end - stepMs,
      toMs: end,
      depth: within.length === 0 ? null : Math.max(...within.map(({ depth }) => depth)),
      oldestMs: within.length === 0 ? null : Math.max(...within.map(({ oldestMs }) => oldestMs)),
    });
  }
  return rows;
}

/** The look nearest to a moment; undefined: none reaches it. */
export function lookAt(looks: readonly QueueLook[], atMs: number): QueueLook | undefined {
  const nearest = looks.reduce<QueueLook | undefined>(
    (best, look) =>
      best === undefined || Math.abs(look.atMs - atMs) < Math.abs(best.atMs - atMs) ? look : best,
    undefined,
  );
  return nearest !== undefined && Math.abs(nearest.atMs - atMs) <= REACH_MS ? nearest : undefined;
}
