// How soon is the next report due, and how long is the back-off after failures?
import type { Instant, Millis } from "../../../src/shared/machine.ts";
import { backOffMs } from "../../../src/shared/time/backoff.ts";
import { BACKOFF_FIRST_MS, BACKOFF_LONGEST_MS } from "../bounds.ts";
import type { HostState } from "../types.ts";

/** Something has changed that the control plane must hear of by `by`. */
export function withNews(state: HostState, by: Instant): HostState {
  const { newsBy } = state.exchange;
  if (newsBy !== undefined && newsBy <= by) return state;
  return { ...state, exchange: { ...state.exchange, newsBy: by } };
}

/** The wait after the failure number `failures` (from 0): anything up to 1 s, doubling to `longestMs`. */
export function retryDelayMs(failures: number, random: number, longestMs = BACKOFF_LONGEST_MS): Millis {
  return random * backOffMs({ firstMs: BACKOFF_FIRST_MS, longestMs }, failures + 1);
}
