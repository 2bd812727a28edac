// How are unauthenticated calls to a worker logged?
import { NOTE_REFUSAL_MS } from "../../shared/limits.ts";
import type { Instant } from "../../shared/machine.ts";

let warnedAt = Number.NEGATIVE_INFINITY;

/** Logs an unauthenticated call, at most once a minute. Nothing is stored. */
export function warnOfStranger(worker: string, now: Instant): void {
  if (Math.abs(now - warnedAt) < NOTE_REFUSAL_MS) return;
  warnedAt = now;
  console.warn({ event: "stranger", worker });
}
