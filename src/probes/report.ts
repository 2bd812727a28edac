// Does a report count at all, and which attempts in it are over?
import type { AttemptReport, Report } from "../schema/host.ts";

/**
 * How a report relates to what its reader knows: from an earlier or later start of the agent, old, or new.
 */
export type Verdict = "earlier_start" | "later_start" | "old" | "fresh";

/**
 * Judges a report by its numbers (host-protocol.md#report). A report counts only if it is fresh. Every start
 * of the agent except the latest start must end. `lastSeq`: the number of the latest report that counted.
 */
export function judgeReport(
  { incarnation, seq }: Pick<Report, "incarnation" | "seq">,
  known: { incarnation: number; lastSeq: number },
): Verdict {
  if (incarnation < known.incarnation) return "earlier_start";
  if (incarnation > known.incarnation) return "later_start";
  return seq <= known.lastSeq ? "old" : "fresh";
}

/** Whether nothing of the attempt is left on its host. */
export function hasEnded({ state }: Pick<AttemptReport, "state">): boolean {
  return state === "exited" || state === "gone";
}
