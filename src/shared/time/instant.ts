// How is an instant written?
import type { Instant } from "../machine.ts";

/** An instant as it is shown (RFC 3339). */
export function iso(at: Instant): string {
  return new Date(at).toISOString();
}

/** The same, of something that may not have happened. */
export function isoOrNull(at: Instant | null): string | null {
  return at === null ? null : iso(at);
}
