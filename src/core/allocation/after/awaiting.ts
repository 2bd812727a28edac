// Which runs and arrays must end before this one may start, and what if they end otherwise (api.md#after)?
import type { After, AfterOn } from "../../../shared/after/entries.ts";
import { arraysIn, nameOf, onOf, runOf } from "../../../shared/after/entries.ts";
import { earliest, type Instant } from "../../../shared/machine.ts";
import type { Answered, Letter } from "../../inbox.ts";
import type { ArrayEnded, RunEnd, RunEnded, Unmet } from "../../messages.ts";
import type { RunDraft } from "../draft.ts";
import type { AllocationRecord, Existing } from "../state.ts";
import { requestStop } from "../stop.ts";

/** A run that has promised to tell is asked again after this time: its word may be lost. */
export const ASK_AGAIN_MS = 10 * 60_000;
/** A run that has too many followers to tell this one is asked again after this time. */
const ASK_UNTOLD_MS = 60_000;

/** The ends that this run awaits. Empty: it may start, or is to stop. */
export function awaitedBy({ ended, stopRequest, awaits }: AllocationRecord): readonly After[] {
  return ended || stopRequest !== null ? [] : (awaits ?? []);
}

/** The runs that it asks for their ends, each once. Of arrays its pool tells it (pool.md#array-ends). */
function awaitedRuns({ record }: Existing): string[] {
  return [...new Set(awaitedBy(record).flatMap((one) => runOf(one) ?? []))];
}

/**
 * The questions that this run owes to the runs that it awaits. They are repeated even without news, so that
 * its start never depends on a single message (messages.md#after).
 */
export function questionsOf(state: Existing, now: Instant): Letter<"allocation", "await_end">[] {
  const { record, memo } = state;
  const follower = { run: record.id, submittedAt: record.submittedAt };
  return awaitedRuns(state)
    .filter((run) => now >= (memo.askEndAt[run] ?? 0))
    .map((run) => {
      const body = { run, follower };
      return { object: "allocation", to: run, kind: "await_end", repeatedBy: "self", body };
    });
}

/** When this run asks the next time. Undefined: it awaits no run, or asks now. */
export function asksEndAt(state: Existing): Instant | undefined {
  const { askEndAt } = state.memo;
  return earliest(...awaitedRuns(state).flatMap((run) => askEndAt[run] ?? []));
}

/** Applies what an awaited run has answered. A promise to another submission of this run is ignored. */
export function foldEndAnswer(run: RunDraft, { sent, answer }: Answered<"allocation", "await_end">): void {
  if (answer.kind === "goes_on") {
    if (sent.follower.submittedAt !== run.record.submittedAt) return;
    const askAt = run.now + (answer.tells ? ASK_AGAIN_MS : ASK_UNTOLD_MS);
    run.remember({ askEndAt: { ...run.memo.askEndAt, [sent.run]: askAt } });
    return;
  }
  foldEndOfRun(run, sent.run, answer.kind === "no_such" ? "deleted" : answer.end);
}

/** Applies the word of an awaited run that it has ended. Ignored if another run now has the id. */
export function foldRunEnded(run: RunDraft, { submittedAt, of, end }: RunEnded): void {
  if (run.record.submittedAt === submittedAt) foldEndOfRun(run, of, end);
}

/** Applies the word of the pool on an awaited array. Ignored if another run now has the id. */
export function foldArrayEnded(run: RunDraft, { submittedAt, array, on, unmet }: ArrayEnded): void {
  if (run.record.submittedAt !== submittedAt) return;
  const isMeant = (one: After) => arraysIn([one]).some((of) => of.array === array && of.on === on);
  foldEnds(run, awaitedBy(run.record).filter(isMeant), () => unmet);
}

function foldEndOfRun(run: RunDraft, of: string, end: RunEnd | "deleted"): void {
  const entries = awaitedBy(run.record).filter((one) => runOf(one) === of);
  foldEnds(run, entries, (on) => {
    const unmet = unmetBy(on, end);
    return unmet && { ...unmet, cause: unmet.cause ?? { run: of, text: unmet.text } };
  });
}

/** Why the end of a run is not the end that was to be awaited. Undefined: it is. */
function unmetBy(on: AfterOn, end: RunEnd | "deleted"): Unmet | undefined {
  if (on === "any") return undefined; // what is not there has ended, or was refused and never began
  if (end === "deleted") return { text: "was deleted before this run knew how it had ended" };
  if (end.well) return on === "failure" ? { text: "ended well" } : undefined;
  return on === "success" ? end : undefined;
}

const AFTER_WHAT: Record<AfterOn, string> = {
  success: "after which it was to start",
  failure: "after whose failure it was to start",
  any: "after whose end it was to start",
};

/**
 * Notes the end of what these entries of `after` name. After the last end that meets its entry the run wants
 * a place. At the first that does not it is to stop, whatever the others will do, with a reason that names
 * the run or array and, if that one never started either, the first cause.
 */
function foldEnds(
  run: RunDraft,
  entries: readonly After[],
  unmetOf: (on: AfterOn) => Unmet | undefined,
): void {
  if (entries.length === 0) return;
  for (const entry of entries) {
    const unmet = unmetOf(onOf(entry));
    if (unmet === undefined) continue;
    giveUp(run, entry, unmet);
    return;
  }
  const left = awaitedBy(run.record).filter((one) => !entries.includes(one));
  run.set(left.length > 0 ? { awaits: left } : { awaits: undefined, waitingSince: run.now });
}

function giveUp(run: RunDraft, entry: After, { text, cause }: Unmet): void {
  const isOwn = cause === undefined || (cause.run === runOf(entry) && cause.text === text);
  const why = isOwn ? "" : `, since run ${cause.run} ${cause.text}`;
  const reason = `${nameOf(entry)}, ${AFTER_WHAT[onOf(entry)]}, ${text}${why}`;
  if (cause !== undefined) run.set({ firstCause: cause });
  requestStop(run, { state: "failed", at: run.now, reason, by: "drover", failure: "dependency_failed" });
}
