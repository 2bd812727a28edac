// Does a host announce that its machine will end soon, for example before an interruption or maintenance?
import type { Report } from "../schema/host.ts";
import { NOTICE_DRIFT_MS } from "../shared/limits.ts";
import type { Instant, Millis } from "../shared/machine.ts";

/** A later end counts as unknown, since a host may send a value that no date can represent. */
const FARTHEST_END_MS: Millis = 365 * 24 * 3_600_000;

/** An announced end of a machine. */
export interface Notice {
  text: string;
  /** When the machine will be gone; null: unknown. */
  goneAt: Instant | null;
  /** The machine stays, but is not fit for runs at present (workers.md#unfit-hosts). Absent: it will end. */
  unfit?: true;
}

/** The notice in a report. Null: the report says that there is none. Undefined: it does not say. */
export function noticeIn({ draining, goneInMs }: Report, now: Instant): Notice | null | undefined {
  if (!draining) return draining === undefined ? undefined : null;
  const isSaid = goneInMs !== undefined && goneInMs <= FARTHEST_END_MS;
  return { text: draining, goneAt: isSaid ? now + Math.round(goneInMs) : null };
}

/**
 * Whether two notices are the same. Times may differ a little, since reports take varying times to arrive.
 */
export function isSameNotice(known: Notice, said: Notice): boolean {
  if (known.text !== said.text || (known.goneAt === null) !== (said.goneAt === null)) return false;
  return Math.abs((known.goneAt ?? 0) - (said.goneAt ?? 0)) <= NOTICE_DRIFT_MS;
}
