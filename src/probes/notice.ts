// What a host says of its machine's near end: an interruption by the provider, or an operator at work.
import type { Report } from "../schema/host.ts";
import { NOTICE_DRIFT_MS } from "../shared/limits.ts";
import type { Instant, Millis } from "../shared/machine.ts";

/** An end that is farther away is none that anybody knows. No date would hold some that a host can say. */
const FARTHEST_END_MS: Millis = 365 * 24 * 3_600_000;

/** That a machine will end soon. */
export interface Notice {
  text: string;
  /** When the machine will be gone; null: that is not known. */
  goneAt: Instant | null;
}

/** The notice in a report; null: it says that there is none; undefined: it says nothing of it. */
export function noticeIn({ draining, goneInMs }: Report, now: Instant): Notice | null | undefined {
  if (!draining) return draining === undefined ? undefined : null;
  const isSaid = goneInMs !== undefined && goneInMs <= FARTHEST_END_MS;
  return { text: draining, goneAt: isSaid ? now + Math.round(goneInMs) : null };
}

/** The time is said as a duration, which the way here makes a little longer each time. */
export function isSameNotice(known: Notice, said: Notice): boolean {
  if (known.text !== said.text || (known.goneAt === null) !== (said.goneAt === null)) return false;
  return Math.abs((known.goneAt ?? 0) - (said.goneAt ?? 0)) <= NOTICE_DRIFT_MS;
}
