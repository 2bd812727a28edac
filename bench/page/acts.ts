// Which of all that the probe has seen belongs to what the reader did? What began after an act, and before
// the next one, belongs to it, however late the browser reported it.
import type { Seen, Took } from "./probe.ts";

/** Something that was done, and since when, on the page's clock. Without a kind it is not measured. */
export interface Done {
  kind?: string;
  isScroll?: boolean;
  from: number;
}

/**
 * How long each act took, in ms, by its kind: until its last paint, or for scrolling the longest time between
 * two frames. Throws for an act of which nothing was measured.
 */
export function timesOf(done: readonly Done[], seen: readonly Seen[]): Map<string, number[]> {
  const interactions = seen.flatMap((one) => one.interactions);
  const frames = seen.flatMap((one) => one.frames);
  const times = new Map<string, number[]>();
  done.forEach(({ kind, isScroll, from }, index) => {
    if (kind === undefined) return;
    const of = within(isScroll ? frames : interactions, from, done[index + 1]?.from);
    if (of.length === 0) throw new Error(`Nothing was measured of "${kind}": did it reach the page?`);
    times.set(kind, [...(times.get(kind) ?? []), Math.max(...of)]);
  });
  return times;
}

/** The long tasks, in ms, but for those outside the measurement. */
export function longTasksOf(done: readonly Done[], seen: readonly Seen[]): number[] {
  const tasks = seen.flatMap((one) => one.longTasks);
  return done.flatMap(({ kind, from }, index) =>
    kind === undefined ? [] : within(tasks, from, done[index + 1]?.from),
  );
}

function within(took: readonly Took[], from: number, to = Number.POSITIVE_INFINITY): number[] {
  return took.filter(({ at }) => at >= from && at < to).map(({ ms }) => ms);
}
