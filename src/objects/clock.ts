import { env } from "cloudflare:workers";
import type { Instant } from "../shared/machine.ts";
import { believed } from "../shared/time/clock.ts";
import type { Env } from "./env.ts";

const { DROVER_CLOCK_AHEAD_MS = "0" }: Partial<Env> = env;

/** How far Drover's time is ahead of the platform's clock. It never changes while this process lives. */
const AHEAD_MS = Number(DROVER_CLOCK_AHEAD_MS);

/** What the platform's clock showed when it was last believed. Undefined: no `drover up` watches over it. */
let lastMs: Instant | undefined;

/** `drover up` has seen the platform's clock show this, and that nobody had set it. */
export function confirmClock(wallMs: Instant): void {
  lastMs = wallMs;
}

/**
 * Drover's time, which all stored instants and all deadlines are in. It goes on evenly when the clock of a
 * local Drover's machine is set: then `drover up` starts the Worker again with a correction
 * (`local/clock.ts`). Until then the time stands still. A deployed Worker has no correction.
 */
export function droverNow(): Instant {
  if (lastMs === undefined) return Date.now() + AHEAD_MS;
  lastMs = believed(lastMs, Date.now());
  return lastMs + AHEAD_MS;
}

/** An instant of Drover's time on the platform's clock, which alarms go by. */
export function onPlatform(at: Instant): Instant {
  return at - AHEAD_MS;
}

/** An instant of the platform's clock in Drover's time. */
export function fromPlatform(at: Instant): Instant {
  return at + AHEAD_MS;
}
