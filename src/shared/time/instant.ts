// How is an instant written?
import type { Instant } from "../machine.ts";

/** An instant as text (RFC 3339). */
export function iso(at: Instant): string {
  return new Date(at).toISOString();
}

/** Like `iso`, for an event that may not have happened yet. */
export function isoOrNull(at: Instant | null): string | null {
  return at === null ? null : iso(at);
}
