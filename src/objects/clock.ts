// What time is it for Drover? Only this file reads the platform's clock.
import { env } from "cloudflare:workers";
import type { Instant } from "../shared/machine.ts";
import { believed, latestConfirmed } from "../shared/time/clock.ts";
import type { Env } from "./env.ts";

const { DROVER_CLOCK_AHEAD_MS = "0" }: Partial<Env> = env;

/** How far Drover's time is ahead of the platform's clock; constant for the life of this process. */
const AHEAD_MS = Number(DROVER_CLOCK_AHEAD_MS);

/** The latest trusted value of the platform's clock. Undefined: `drover up` does not watch the clock. */
let lastMs: Instant | undefined;

/** Trusts this reading of the clock: `drover up` has checked that nobody has set the clock. */
export function confirmClock(wallMs: Instant): void {
  lastMs = latestConfirmed(lastMs, wallMs);
}

/**
 * Drover's time, which all instants and deadlines use. This time does not jump when somebody sets the clock
 * of the machine on which a local Drover runs: it stands still until `drover up` restarts the Worker with a
 * correction (`local/clock.ts`). A deployed Worker has no correction.
 */
export function droverNow(): Instant {
  if (lastMs === undefined) return Date.now() + AHEAD_MS;
  lastMs = believed(lastMs, Date.now());
  return lastMs + AHEAD_MS;
}

/** Converts Drover's time to that of the platform's clock, which alarms use. */
export function onPlatform(at: Instant): Instant {
  return at - AHEAD_MS;
}

/** Converts a time of the platform's clock to Drover's time. */
export function fromPlatform(at: Instant): Instant {
  return at + AHEAD_MS;
}
