// Has a run failed for good, so that it waits for somebody (retry.md#parked)?
import { hasFailed } from "../../../shared/run-state.ts";
import type { Parked } from "../../run/run-upsert.ts";
import type { RunDraft } from "../draft.ts";
import { describeEnd } from "../read/end-text.ts";
import type { AllocationRecord, Outcome } from "../state.ts";

/** How many characters of the reason are kept, since each list of runs has it. */
const MAX_REASON_CHARS = 300;

/**
 * Since when a run is parked, and why. Undefined: it is not. A run that did not start because another one had
 * failed is not parked: that other one is.
 */
export function parkedOf(record: AllocationRecord): Parked | undefined {
  const { spec, ended, outcome, redriven, retries = [] } = record;
  if (spec.retry?.park !== true || !ended || outcome === null || redriven !== undefined) return undefined;
  if (!hasFailed(outcome) || outcome.failure?.code === "dependency_failed") return undefined;
  const tries = retries.length + (endedUntried(record, outcome) ? 0 : 1);
  const why = describeEnd(record, outcome);
  const after = tries === 0 ? "before any try" : tries === 1 ? "after one try" : `after ${tries} tries`;
  const reason = `${after}: ${why}`;
  return { since: outcome.heardAt ?? outcome.at, reason: reason.slice(0, MAX_REASON_CHARS), tries };
}

/** Whether a run ended while it waited for its next place: nothing was tried there. */
function endedUntried({ tasks, retries }: AllocationRecord, { state, failure }: Outcome): boolean {
  const failed = retries?.at(-1)?.epoch ?? 0;
  if (tasks.some(({ attempts }) => (attempts.at(-1)?.epoch ?? 0) > failed)) return false;
  return state === "timedout" || failure?.code === "queue_timeout" || failure?.code === "unsatisfiable";
}

/** Notes that a run that has just ended is parked. */
export function noteParked(run: RunDraft): void {
  const parked = parkedOf(run.record);
  if (parked === undefined) return;
  const text = `it is parked ${parked.reason}; \`drover redrive ${run.record.id}\` has it run again`;
  run.note("Parked", run.now, text);
}

/** A parked run is run again, under another id, by somebody. */
export interface Redrive {
  run: string;
  by: string;
}

/** Notes which run repeats this parked one. Only the first counts. */
export function foldRedrive(run: RunDraft, { run: next, by }: Redrive): void {
  if (parkedOf(run.record) === undefined) return;
  run.set({ redriven: { run: next, at: run.now, by } });
  run.note("Redriven", run.now, `${by} has had it run again as ${next}`, { details: { by, run: next } });
}
