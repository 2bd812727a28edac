// When did Drover look at the pool, and how far does each look reach (ui.md#fleet)?
import type { PoolSample } from "../../../src/generated/api.ts";
import type { Span } from "./machine.ts";

/** What one look at the pool told. */
export interface Look {
  atMs: number;
  /** How many machines had runs. */
  running: number;
  /** How full these were on average, from 0 to 1; null: unknown. */
  share: number | null;
}

/** The time for which a look speaks. */
export interface Reach extends Span {
  look: Look;
}

/**
 * A pool with anything to see is looked at every five minutes at least (`listPoolSamples`). What is farther
 * from every look is unknown.
 */
export const REACH_MS = 5 * 60_000;

/** The look that a sample is. */
export function lookOf({ at, workers, filled }: PoolSample): Look {
  const running = workers.running ?? 0;
  return { atMs: Date.parse(at), running, share: running === 0 ? null : Math.min(1, filled / running) };
}

/** What the lists of now say: a look, too. They do not tell how full machines are: the look before did. */
export function lookNow(running: number, atMs: number, before: Look | undefined): Look {
  const isNear = before !== undefined && atMs - before.atMs <= REACH_MS;
  return { atMs, running, share: isNear ? before.share : null };
}

/** How far each look reaches: half of the way to the next one, and `REACH_MS` at most. `looks`: in order. */
export function reachesOf(looks: readonly Look[]): Reach[] {
  return looks.map((look, index) => {
    const half = (other: Look | undefined) =>
      other === undefined ? REACH_MS : Math.min(REACH_MS, Math.abs(other.atMs - look.atMs) / 2);
    const [before, next] = [looks[index - 1], looks[index + 1]];
    return { look, fromMs: look.atMs - half(before), toMs: look.atMs + half(next) };
  });
}

/** A time that looks reach. `isSure`: a machine without known runs was idle then, and not just perhaps. */
export interface Stretch extends Span {
  isSure: boolean;
}

/**
 * The times that looks reach, in order. They are sure where the look fits what is known of the runs, and not
 * before `sinceMs`, since when runs are known.
 */
export function stretchesOf(
  reaches: readonly Reach[],
  fitting: ReadonlySet<Look>,
  sinceMs: number,
): Stretch[] {
  const stretches: Stretch[] = [];
  const add = (fromMs: number, toMs: number, isSure: boolean) => {
    const last = stretches.at(-1);
    if (fromMs >= toMs) return;
    if (last?.toMs === fromMs && last.isSure === isSure) last.toMs = toMs;
    else stretches.push({ fromMs, toMs, isSure });
  };
  for (const { look, fromMs, toMs } of reaches) {
    add(fromMs, Math.min(toMs, sinceMs), false);
    add(Math.max(fromMs, sinceMs), toMs, fitting.has(look));
  }
  return stretches;
}
