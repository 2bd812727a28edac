// What can a check say of a task, and what follows for the health of its run (health.md#statuses)?

/** The statuses of a check, in the order in which lists and metrics name them. */
export const CHECK_STATUSES = ["pending", "passing", "warning", "critical"] as const;
export type CheckStatus = (typeof CHECK_STATUSES)[number];

/** The health of a run whose tasks have checks (health.md#run). */
export const HEALTHS = ["pending", "healthy", "warning", "unhealthy"] as const;
export type Health = (typeof HEALTHS)[number];

/** The most checks that one task can have. */
export const MAX_CHECKS = 16;
/** The name of a check. It is part of file names and of the environment of its command. */
export const CHECK_NAME_PATTERN = /^[a-z0-9-]{1,63}$/;
/** The shortest interval of a check, so that its results cost little. */
export const MIN_CHECK_INTERVAL_MS = 1_000;
/** The shortest and the longest time-out of one try of a check. */
export const MIN_CHECK_TIMEOUT_MS = 100;
export const MAX_CHECK_TIMEOUT_MS = 300_000;
/** How much of what a failing check has said is kept: its end, in characters. */
export const MAX_CHECK_OUTPUT_CHARS = 1_024;

/**
 * The health that follows from the statuses of all checks (health.md#run). The first of these that fits: one
 * is critical, one is pending, one warns, all pass. Undefined: there are no checks.
 */
export function healthOf(statuses: readonly CheckStatus[]): Health | undefined {
  if (statuses.length === 0) return undefined;
  if (statuses.includes("critical")) return "unhealthy";
  if (statuses.includes("pending")) return "pending";
  return statuses.includes("warning") ? "warning" : "healthy";
}
