// Whether a report counts at all, and what it says of attempts that are over.
import type { AttemptReport, Report } from "../schema/host.ts";

/** What a report is to its reader: of another start of the agent, said before, or news. */
export type Verdict = "earlier_start" | "later_start" | "old" | "fresh";

/**
 * Judges a report by its numbers (host-protocol.md#report): only a fresh one means anything, and a start of
 * the agent that is not the latest must end. `lastSeq`: of the latest report that counted.
 */
export function judgeReport(
  { incarnation, seq }: Pick<Report, "incarnation" | "seq">,
  known: { incarnation: number; lastSeq: number },
): Verdict {
  if (incarnation < known.incarnation) return "earlier_start";
  if (incarnation > known.incarnation) return "later_start";
  return seq <= known.lastSeq ? "old" : "fresh";
}

/** Whether nothing of an attempt is on its host any more. */
export function hasEnded({ state }: Pick<AttemptReport, "state">): boolean {
  return state === "exited" || state === "gone";
}
