// Which runs must end well before this one may start, and what if they do not (api.md#after)?
import { earliest, type Instant } from "../../../shared/machine.ts";
import type { Answered, Letter } from "../../inbox.ts";
import type { RunEnd, RunEnded } from "../../messages.ts";
import type { RunDraft } from "../draft.ts";
import type { Existing } from "../state.ts";
import { requestStop } from "../stop.ts";

/** A run that has promised to tell is asked again after this time: its word may be lost. */
export const ASK_AGAIN_MS = 10 * 60_000;
/** A run that has too many followers to tell this one is asked again after this time. */
const ASK_UNTOLD_MS = 60_000;

/** The runs whose end this run awaits. Empty: it may start, or is to stop. */
function awaited({ record }: Existing): string[] {
  return record.ended || record.stopRequest !== null ? [] : (record.awaits ?? []);
}

/**
 * The questions that this run owes to the runs that it awaits. They are repeated even without news, so that
 * its start never depends on a single message (messages.md#after).
 */
export function questionsOf(state: Existing, now: Instant): Letter<"allocation", "await_end">[] {
  const { record, memo } = state;
  const follower = { run: record.id, submittedAt: record.submittedAt };
  return awaited(state)
    .filter((run) => now >= (memo.askEndAt[run] ?? 0))
    .map((run) => {
      const body = { run, follower };
      return { object: "allocation", to: run, kind: "await_end", repeatedBy: "self", body };
    });
}

/** When this run asks the next time. Undefined: it awaits nobody, or asks now. */
export function asksEndAt(state: Existing): Instant | undefined {
  const { askEndAt } = state.memo;
  return earliest(...awaited(state).flatMap((run) => askEndAt[run] ?? []));
}

/** Applies what an awaited run has answered. */
export function foldEndAnswer(run: RunDraft, { sent, answer }: Answered<"allocation", "await_end">): void {
  if (answer.kind === "goes_on") {
    const askAt = run.now + (answer.tells ? ASK_AGAIN_MS : ASK_UNTOLD_MS);
    run.remember({ askEndAt: { ...run.memo.askEndAt, [sent.run]: askAt } });
    return;
  }
  const deleted = { well: false, text: "was deleted before this run knew how it had ended" } as const;
  foldEnd(run, sent.run, answer.kind === "no_such" ? deleted : answer.end);
}

/** Applies the word of an awaited run that it has ended. Ignored if another run now has the id. */
export function foldRunEnded(run: RunDraft, { submittedAt, of, end }: RunEnded): void {
  if (run.record.submittedAt === submittedAt) foldEnd(run, of, end);
}

/**
 * Notes the end of an awaited run. After the last good end the run wants a place. After any other end it is
 * to stop, with a reason that names that run and, if that one never started either, the first cause.
 */
function foldEnd(run: RunDraft, of: string, end: RunEnd): void {
  const { awaits = [] } = run.record;
  if (!awaited(run.state).includes(of)) return;
  if (end.well) {
    const left = awaits.filter((other) => other !== of);
    run.set(left.length > 0 ? { awaits: left } : { awaits: undefined, waitingSince: run.now });
    return;
  }
  const { text, cause } = end;
  const why = cause === undefined ? "" : `, since run ${cause.run} ${cause.text}`;
  const reason = `run ${of}, after which it was to start, ${text}${why}`;
  const failure = "predecessor_failed" as const;
  run.set({ firstCause: cause ?? { run: of, text } });
  requestStop(run, { state: "failed", at: run.now, reason, by: "drover", failure });
}
