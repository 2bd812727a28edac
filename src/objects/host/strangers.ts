import { NOTE_REFUSAL_MS } from "../../shared/limits.ts";
import type { Instant } from "../../shared/machine.ts";

let warnedAt = Number.NEGATIVE_INFINITY;

/** Says in the log that somebody has knocked, at most once a minute: nothing of that is stored. */
export function warnOfStranger(worker: string, now: Instant): void {
  if (Math.abs(now - warnedAt) < NOTE_REFUSAL_MS) return;
  warnedAt = now;
  console.warn({ event: "stranger", worker });
}
