// How soon is the next report due, and how long is the back-off after failures?
import type { Instant, Millis } from "../../../src/shared/machine.ts";
import { backOffMs } from "../../../src/shared/time/backoff.ts";
import { BACKOFF_LONGEST_MS } from "../bounds.ts";
import type { HostState } from "../types.ts";

/** The longest wait after a first failed exchange; full jitter shortens it (host-protocol.md#back-off). */
export const BACKOFF_FIRST_MS: Millis = 1_000;

/** Records a change that must be reported by the instant `by`. */
export function withNews(state: HostState, by: Instant): HostState {
  const { newsBy } = state.exchange;
  if (newsBy !== undefined && newsBy <= by) return state;
  return { ...state, exchange: { ...state.exchange, newsBy: by } };
}

/** The wait after `failures` earlier failures: between zero and a bound that doubles up to `longestMs`. */
export function retryDelayMs(failures: number, random: number, longestMs = BACKOFF_LONGEST_MS): Millis {
  return random * backOffMs({ firstMs: BACKOFF_FIRST_MS, longestMs }, failures + 1);
}
