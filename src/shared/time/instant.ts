// How is an instant written, and which one has always passed?
import type { Instant } from "../machine.ts";

/** An instant that has always passed. */
export const PAST: Instant = 0;

/** An instant as text (RFC 3339). */
export function iso(at: Instant): string {
  return new Date(at).toISOString();
}

/** Like `iso`, for an event that may not have happened yet. */
export function isoOrNull(at: Instant | null): string | null {
  return at === null ? null : iso(at);
}
