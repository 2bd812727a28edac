// How many runs ended in each of the last hours, and how (ui.md#last-day)?
import type { PoolTally } from "../../../src/generated/api.ts";
import type { EndState } from "../../../src/shared/run-state.ts";

const HOUR_MS = 3_600_000;
const HOURS = 24;

/**
 * The ends that are told apart, in the order in which they are shown: what went well is the ground. To people
 * a command that ended with another code than 0 has failed, although its run is `complete`.
 */
export const ENDS = ["complete", "exited", "failed", "timedout", "unknown", "aborted"] as const;
type End = (typeof ENDS)[number];

/** An end in words. */
export function endText(end: End): string {
  switch (end) {
    case "complete":
      return "complete, exit code 0";
    case "exited":
      return "complete, another exit code";
    default:
      return end;
  }
}

/** How many runs ended in an hour, by their end. */
export interface HourOfEnds {
  fromMs: number;
  ended: Record<End, number>;
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
  for (const tally of tallies) {
    const hour = hours[Math.floor((Date.parse(tally.from) - first) / HOUR_MS)];
    if (hour !== undefined) add(hour, endsOf(tally));
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
  return {
    fromMs,
    ended: { complete: 0, exited: 0, failed: 0, timedout: 0, unknown: 0, aborted: 0 },
    all: 0,
  };
}

function endsOf({ ended, failedExits = 0 }: PoolTally): HourOfEnds["ended"] {
  const of = (state: EndState) => ended[state] ?? 0;
  const exited = Math.min(failedExits, of("complete"));
  return {
    complete: of("complete") - exited,
    exited,
    failed: of("failed"),
    timedout: of("timedout"),
    unknown: of("unknown"),
    aborted: of("aborted"),
  };
}

function add(hour: HourOfEnds, ended: HourOfEnds["ended"]): void {
  for (const end of ENDS) {
    hour.ended[end] += ended[end];
    hour.all += ended[end];
  }
}

/** What ended in words, without ends that no run had: `120 complete, exit code 0; 3 failed`. */
export function endsText({ ended, all }: HourOfEnds): string {
  if (all === 0) return "none";
  return ENDS.filter((end) => ended[end] > 0)
    .map((end) => `${ended[end]} ${endText(end)}`)
    .join("; ");
}
