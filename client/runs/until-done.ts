import { type CallOptions, pause } from "../transport/http.ts";

/** How long one read is held by the server while a wait goes on. */
export const WAIT_STEP_MS = 30_000;
/** A server that answers a wait at once, though nothing has changed, is not asked more often than this. */
const LEAST_STEP_MS = 500;

/** Looks, each time held for `WAIT_STEP_MS`, until there is what was waited for, however long that takes. */
export async function untilDone<Found>(
  { signal }: Pick<CallOptions, "signal">,
  look: () => Promise<Found | undefined>,
): Promise<Found> {
  for (;;) {
    const askedAt = performance.now();
    const found = await look();
    if (found !== undefined) return found;
    const earlyMs = LEAST_STEP_MS - (performance.now() - askedAt);
    if (earlyMs > 0) await pause(earlyMs, signal);
  }
}
