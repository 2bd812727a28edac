// How long does a view of output wait before it tries again?
import { backOffMs, spread } from "../../../src/shared/time/backoff.ts";

const DELAYS = { firstMs: 1_000, longestMs: 30_000 };

/** Waits before the try after so many failures in a row, or until reading ends. */
export function pauseIn(signal: AbortSignal): (failures: number) => Promise<void> {
  return (failures) => {
    return new Promise((done) => {
      const timer = setTimeout(done, spread(backOffMs(DELAYS, failures), Math.random()));
      const end = () => {
        clearTimeout(timer);
        done();
      };
      signal.addEventListener("abort", end, { once: true });
    });
  };
}
