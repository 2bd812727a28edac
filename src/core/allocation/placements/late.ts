// What happens if a host's report contradicts the stored end of a placement or of an attempt?
import type { AttemptReport } from "../../../schema/host.ts";
import type { Exit } from "../../../schema/run/run.ts";
import { parseAttemptId } from "../../../shared/attempt-id.ts";
import type { Observed } from "../../messages.ts";
import type { RunDraft } from "../draft.ts";
import type { AllocationRecord, AttemptRecord } from "../state.ts";
import { isOver, wasOrdered } from "../tasks/tasks.ts";

/**
 * Adds events for reports that contradict the stored end of an epoch. The end does not change (invariant 1).
 */
export function noteLate(run: RunDraft, { worker, epoch, attempts }: Observed): void {
  const { record } = run;
  if (!record.placements.some((one) => one.epoch === epoch && one.worker === worker)) return;
  for (const report of attempts) {
    const parts = parseAttemptId(report.id);
    const mayHaveRun = parts?.epoch === epoch && wasOrdered(record, parts);
    if (mayHaveRun || attemptIn(record, report) !== undefined) noteContradiction(run, report);
  }
}

function attemptIn({ tasks }: AllocationRecord, { id }: AttemptReport): AttemptRecord | undefined {
  return tasks.flatMap((task) => task.attempts).find((one) => one.id === id);
}

/**
 * Adds an event for a report that contradicts the stored end of an attempt. For each attempt, at most one
 * event says that the attempt is alive, and at most one event says how the attempt ended.
 */
export function noteContradiction(run: RunDraft, report: AttemptReport): void {
  const known = attemptIn(run.record, report);
  if (!contradicts(known, report)) return;
  const { id, state, exit } = report;
  const over = state === "exited";
  const noted = run.record.events.some(({ type, details }) => {
    return type === "Late Report" && details.attempt === id && (details.state === "exited") === over;
  });
  if (noted) return;
  const reported = exit === undefined ? state : `${state} with ${textOf(exit)}`;
  const stays = known?.exit
    ? `the first report stays: ${textOf(known.exit)}`
    : "its end was decided without it";
  const parts: Record<string, string> =
    exit === undefined ? {} : { exit_code: String(exit.code ?? ""), signal: exit.signal ?? "" };
  run.note("Late Report", run.now, `the host now says that ${id} is ${reported}; ${stays}`, {
    task: parseAttemptId(id)?.task,
    details: { attempt: id, state, ...parts },
  });
}

function contradicts(known: AttemptRecord | undefined, report: AttemptReport): boolean {
  if (report.state === "gone") return false;
  if (known?.state === "gone") return true;
  // An earlier state of an ended attempt is merely late: reports may overtake each other.
  if (report.state !== "exited") return false;
  if (known === undefined || !isOver(known)) return true;
  const { exit, startError } = known;
  return (
    exit?.code !== report.exit?.code ||
    exit?.signal !== report.exit?.signal ||
    !startError !== !report.startError
  );
}

function textOf({ code, signal }: Exit): string {
  return signal ?? `exit code ${code}`;
}
