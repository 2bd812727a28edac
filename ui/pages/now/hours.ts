// How many runs ended in each of the last hours, and how (ui.md#last-day)?
import type { PoolTally } from "../../../src/generated/api.ts";
import { type EndState, isTerminal, RUN_STATES } from "../../../src/shared/run-state.ts";

const HOUR_MS = 3_600_000;
const HOURS = 24;

/** The states in which a run can end, in the order in which they are shown: what went well is the ground. */
export const END_STATES: readonly EndState[] = ["complete", "failed", "timedout", "unknown", "aborted"];

/** How many runs ended in an hour, by state. */
export interface HourOfEnds {
  fromMs: number;
  ended: Record<EndState, number>;
  all: number;
}

/** The beginning of the first of the hours: the hour of now is the last one. */
export function firstHourMs(nowMs: number): number {
  return Math.floor(nowMs / HOUR_MS) * HOUR_MS - (HOURS - 1) * HOUR_MS;
}

/**
 * The hours, oldest first, each with the sums of all pools. An hour without news has no tally: nothing ended.
 */
export function hoursOf(tallies: readonly PoolTally[], nowMs: number): HourOfEnds[] {
  const first = firstHourMs(nowMs);
  const hours = Array.from({ length: HOURS }, (_, index) => noEnds(first + index * HOUR_MS));
  for (const { from, ended } of tallies) {
    const hour = hours[Math.floor((Date.parse(from) - first) / HOUR_MS)];
    if (hour !== undefined) add(hour, ended);
  }
  return hours;
}

/** The sum of some hours. */
export function sumOfHours(hours: readonly HourOfEnds[]): HourOfEnds {
  const sum = noEnds(hours[0]?.fromMs ?? 0);
  for (const { ended } of hours) add(sum, ended);
  return sum;
}

function noEnds(fromMs: number): HourOfEnds {
  return { fromMs, ended: { complete: 0, failed: 0, timedout: 0, unknown: 0, aborted: 0 }, all: 0 };
}

function add(hour: HourOfEnds, ended: Record<string, number>): void {
  for (const state of RUN_STATES) {
    if (!isTerminal(state)) continue;
    hour.ended[state] += ended[state] ?? 0;
    hour.all += ended[state] ?? 0;
  }
}

/** What ended in words, without states that nothing ended in: `120 complete, 3 failed`. */
export function endsText({ ended, all }: HourOfEnds): string {
  if (all === 0) return "none";
  return END_STATES.filter((state) => ended[state] > 0)
    .map((state) => `${ended[state]} ${state}`)
    .join(", ");
}
