// When did each machine have runs, as the pool's history and the lists of now tell (ui.md#fleet)?
import type { HistoryItem } from "../../../src/generated/api.ts";
import type { Look } from "./looks.ts";
import type { Machine, Span } from "./machine.ts";

/** What has been read of a pool's history. It has what happened from `sinceMs` to `readMs`. */
export interface Placements {
  sinceMs: number;
  readMs: number;
  items: readonly HistoryItem[];
}

/** The times in which each machine had runs, in order and apart from each other. */
export type Use = ReadonlyMap<string, readonly Span[]>;

/**
 * The use of each machine. A run that only ended within the history began before it, and so did a run of now
 * that the history does not know. A run without an end goes on if its machine has it now. `live` was read
 * before the history.
 */
export function useOf({ sinceMs, readMs, items }: Placements, live: readonly Machine[]): Use {
  const held = new Map(live.flatMap(({ id, runs }) => runs.map((run) => [`${run} ${id}`, id])));
  const begun = new Map<string, { worker: string; fromMs: number }>();
  const ended = new Set<string>();
  const spans = new Map<string, Span[]>();
  const add = (worker: string, fromMs: number, toMs: number) => {
    const known = spans.get(worker);
    if (known === undefined) spans.set(worker, [{ fromMs, toMs }]);
    else known.push({ fromMs, toMs });
  };
  for (const { what, run, worker, at } of items) {
    if (run === null || worker === null) continue;
    const key = `${run} ${worker}`;
    if (what === "run_placed") begun.set(key, { worker, fromMs: Date.parse(at) });
    if (what !== "run_ended") continue;
    add(worker, begun.get(key)?.fromMs ?? sinceMs, Date.parse(at));
    ended.add(key);
  }
  for (const [key, { worker, fromMs }] of begun) if (!ended.has(key)) add(worker, fromMs, readMs);
  for (const [key, worker] of held) if (!begun.has(key) && !ended.has(key)) add(worker, sinceMs, readMs);
  return new Map([...spans].map(([worker, all]) => [worker, merged(all)]));
}

function merged(spans: Span[]): Span[] {
  const all: Span[] = [];
  for (const span of spans.sort((a, b) => a.fromMs - b.fromMs)) {
    const last = all.at(-1);
    if (last !== undefined && span.fromMs <= last.toMs) last.toMs = Math.max(last.toMs, span.toMs);
    else all.push({ ...span });
  }
  return all;
}

/** A pool hears of an end later than it happened: until then, the machine still counts as running. */
const LATE_MS = 60_000;

/**
 * The looks that have counted no more running machines than the known use explains. If one has counted more,
 * the history lacks a run: it was moved, deleted, or is another project's. Then a machine without known runs
 * may have had some. `looks`: in order.
 */
export function fittingLooks(looks: readonly Look[], use: Use): Set<Look> {
  const spans = [...use.values()].flat();
  const starts = spans.map(({ fromMs }) => fromMs).sort((a, b) => a - b);
  const ends = spans.map(({ toMs }) => toMs + LATE_MS).sort((a, b) => a - b);
  let [begun, over] = [0, 0];
  const fitting = new Set<Look>();
  for (const look of looks) {
    while ((starts[begun] ?? Number.POSITIVE_INFINITY) <= look.atMs) begun += 1;
    while ((ends[over] ?? Number.POSITIVE_INFINITY) < look.atMs) over += 1;
    if (look.running <= begun - over) fitting.add(look);
  }
  return fitting;
}
