// How does an answer say how many requests are left (access.md#rate-limits)?
import type { Instant } from "../../shared/machine.ts";
import type { RatePolicy, RateVerdict } from "../../shared/time/rate.ts";

/**
 * The headers `RateLimit-Policy` and `RateLimit` (the IETF draft of both headers). The first header has the
 * quota and its period. The second header says how many requests are left, and in how many seconds the whole
 * quota is available again.
 */
export function rateHeaders(
  { quota, windowMs }: RatePolicy,
  { left, state }: RateVerdict,
  now: Instant,
): [string, string][] {
  return [
    ["RateLimit-Policy", `"requests";q=${quota};w=${windowMs / 1_000}`],
    ["RateLimit", `"requests";r=${left};t=${Math.max(0, Math.ceil((state - now) / 1_000))}`],
  ];
}
