import { DroverError } from "../core/errors.ts";
import { NOTE_REFUSAL_MS } from "../core/limits.ts";
import type { Instant } from "../core/machine.ts";

let warnedAt = Number.NEGATIVE_INFINITY;

/** What everybody is told whose signature is none: the same, whether there is such a worker or not. */
export function notKnown(): DroverError {
  return new DroverError(
    "bad_signature",
    "the call is not signed by a host, or with a code, that is known here",
  );
}

/** Says in the log that somebody has knocked, at most once a minute: nothing of that is stored. */
export function warnOfStranger(worker: string, now: Instant): void {
  if (Math.abs(now - warnedAt) < NOTE_REFUSAL_MS) return;
  warnedAt = now;
  console.warn({ event: "stranger", worker });
}
