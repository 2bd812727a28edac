// How are durations counted so that their histograms survive an eviction (pool.md#histograms)?
import type { Millis } from "../shared/machine.ts";

/** Counters by name; they only grow. */
export type Counts = Record<string, number>;

/**
 * The upper bounds of the buckets of each histogram, in seconds. A changed bound would begin a new time
 * series, and what was counted for the former bound would be lost.
 */
export const BUCKETS = {
  start: [0.05, 0.25, 1, 5, 15, 60, 300, 1_800, 7_200],
  run: [1, 10, 60, 300, 900, 3_600, 14_400, 43_200, 86_400],
  ready: [5, 15, 30, 60, 120, 300, 600, 1_200],
  shutdown: [5, 15, 30, 60, 120, 300, 600, 1_200],
  report: [0.1, 0.5, 1, 5, 15, 60, 300, 3_600],
  call: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
} as const satisfies Record<string, readonly number[]>;

export type HistogramName = keyof typeof BUCKETS;

/** What a histogram tells. `buckets`: how many durations are at most as long as each bound. */
export interface Histogram {
  buckets: { le: string; count: number }[];
  seconds: number;
  times: number;
}

/**
 * What one duration adds to the counters of a histogram (pool.md#histograms): only the first bucket that
 * holds it is counted, so a duration changes three counters, however many buckets there are. `series` tells
 * apart durations with different labels.
 */
export function timeCounts(histogram: HistogramName, ms: Millis, series: string = histogram): Counts {
  const seconds = Math.max(0, ms) / 1_000;
  const bound = BUCKETS[histogram].find((le) => seconds <= le);
  const bucket = bound === undefined ? {} : { [`${series} le ${bound}`]: 1 };
  return { [`${series} times`]: 1, [`${series} seconds`]: seconds, ...bucket };
}

/** Reads a histogram from its counters. The last bucket has no bound and holds all durations. */
export function histogramOf(counts: Readonly<Counts>, histogram: HistogramName, series: string): Histogram {
  const times = counts[`${series} times`] ?? 0;
  let count = 0;
  const buckets = BUCKETS[histogram].map((bound) => {
    count += counts[`${series} le ${bound}`] ?? 0;
    return { le: String(bound), count };
  });
  return {
    buckets: [...buckets, { le: "+Inf", count: times }],
    seconds: counts[`${series} seconds`] ?? 0,
    times,
  };
}

/** The calls to a provider whose durations are counted, and what may come of them. */
export const TIMED_CALLS = ["create", "destroy", "find", "list"] as const;
export const CALL_OUTCOMES = ["success", "failure"] as const;
type TimedCall = (typeof TIMED_CALLS)[number];

/** The series of the calls of one kind with one outcome. */
export function callSeries(call: TimedCall, outcome: (typeof CALL_OUTCOMES)[number]): string {
  return `call ${call} ${outcome}`;
}

/**
 * What one call to a provider adds to the counters (pool.md#histograms). A call of which nobody knows how
 * long it took adds nothing. `unsure`: a look for one machine that has shown nothing.
 */
export function callCounts(call: TimedCall, answer: { kind: string }, tookMs: Millis | undefined): Counts {
  if (tookMs === undefined) return {};
  const failed = answer.kind === "failed" || answer.kind === "unsure";
  return timeCounts("call", tookMs, callSeries(call, failed ? "failure" : "success"));
}

/** The sum of two sets of counters. */
export function sumOf(one: Readonly<Counts>, other: Readonly<Counts>): Counts {
  const sum = { ...one };
  for (const [name, value] of Object.entries(other)) sum[name] = (sum[name] ?? 0) + value;
  return sum;
}

/** By how much counters have grown. A counter that has not grown is left out. */
export function growthOf(before: Readonly<Counts>, after: Readonly<Counts>): Counts {
  const grown = Object.entries(after).map(([name, value]) => [name, value - (before[name] ?? 0)] as const);
  return Object.fromEntries(grown.filter(([, value]) => value > 0));
}
