// How the client waits as long as necessary: it sends one request after the other, and the server holds each.
import { type CallOptions, pause } from "../transport/http.ts";

/** How long the server may hold each request of a wait. */
export const WAIT_STEP_MS = 30_000;
/** The least time between requests, in case the server does not hold them. */
export const LEAST_STEP_MS = 500;

/** Calls `look` until `look` finds something. The server may hold each call for `WAIT_STEP_MS`. */
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
