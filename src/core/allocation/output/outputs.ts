// What became of the outputs of a task?
import { formatSize } from "../../../shared/size.ts";
import type { RunDraft } from "../draft.ts";
import type { AllocationRecord, AttemptRecord, Outcome } from "../state.ts";
import { groupView, isOver, type Member } from "../tasks/tasks.ts";

/** The error of an attempt whose host did not report its outputs. */
const NOT_SAID = "its host did not report what became of them";

/**
 * The attempt, with an error if its outputs are missing. If a task ended by itself, its host must report the
 * outputs that the spec of the task asks for. Otherwise the outputs count as lost. This is decided when the
 * end is reported, and a later request to stop does not change the decision.
 */
export function withOwedOutputs(
  { task, known, n, isStopping }: Member,
  attempt: AttemptRecord,
): AttemptRecord {
  const { exit, stopped, timedOut, outputs } = attempt;
  if (!isOver(attempt) || exit === null || outputs !== undefined) return attempt;
  if (task.spec.outputs === undefined) return attempt;
  const cut = isStopping || known.restartOf === n || stopped !== undefined || timedOut;
  return cut ? attempt : { ...attempt, outputs: { error: NOT_SAID } };
}

/** Why an attempt lost its outputs; undefined if it did not. */
export function outputsError({ outputs }: AttemptRecord): string | undefined {
  return outputs !== undefined && "error" in outputs ? outputs.error : undefined;
}

/** The failure of a run whose attempt lost its outputs; null if the attempt lost none. */
export function outputsFailure(attempt: AttemptRecord | undefined): Outcome["failure"] {
  const error = attempt === undefined ? undefined : outputsError(attempt);
  if (error === undefined) return null;
  return { code: "outputs_failed", text: `its outputs could not be stored: ${error}` };
}

/** The stored result of an attempt, for its outcome. */
export function resultOf({ outputs }: AttemptRecord): { snapshot?: string } {
  return outputs !== undefined && "snapshot" in outputs ? { snapshot: outputs.snapshot } : {};
}

/** Notes what became of the outputs of an ended attempt. */
export function noteOutputs(run: RunDraft, task: string, { id, outputs }: AttemptRecord): void {
  if (outputs === undefined) return;
  if ("error" in outputs) {
    const details = { attempt: id, outputs_error: outputs.error };
    const text = `its outputs could not be stored: ${outputs.error}`;
    run.note("Outputs Failed", run.now, text, { task, details });
  } else {
    const { snapshot, files, bytes } = outputs;
    const details = { attempt: id, snapshot, files: String(files), bytes: String(bytes) };
    const what = `${files} ${files === 1 ? "file" : "files"} (${formatSize(bytes)})`;
    const text = `${what} are stored as ${snapshot}`;
    run.note("Outputs Stored", run.now, text, { task, details });
  }
}

/** The attempt of the open epoch whose outputs are being stored, if any. */
export function uploadingAttempt(record: AllocationRecord): AttemptRecord | undefined {
  return groupView(record).members.find(({ attempt }) => attempt?.state === "uploading")?.attempt;
}
