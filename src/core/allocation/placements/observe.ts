// Which attempts of a run does a host's report change?
import { parseAttemptId } from "../../../shared/attempt-id.ts";
import type { Observed } from "../../messages.ts";
import type { RunDraft } from "../draft.ts";
import { noteChecks } from "../health/fold.ts";
import { takeLogs } from "../output/logs.ts";
import { spillTails } from "../output/tails.ts";
import { wasOrdered } from "../tasks/tasks.ts";
import { foldAttempt } from "./attempts.ts";
import { foldHeld, isHeld } from "./hold.ts";
import { noteContradiction, noteLate } from "./late.ts";
import { storePlacement, takeUp } from "./placement.ts";
import { noteData, noteSaved } from "./sticky.ts";

/** Applies a host's report on an open or ended placement of the run. */
export function foldObserved(run: RunDraft, message: Observed): void {
  const { record } = run;
  if (message.kept) return;
  if (isHeld(record) && takeUp(run, message, run.now)) foldHeld(run, message);
  else if (!record.ended && message.epoch > record.endedEpoch) foldPresent(run, message);
  else noteLate(run, message);
}

/**
 * Applies a report on the open epoch. In a restart, this object may have lost a placement that it had not
 * stored. If the reporting worker has accepted an order for the placement (`held`), this run must have sent
 * that order, so the run adopts the placement again. Without an accepted order, a report does not prove that
 * the run was placed there.
 */
function foldPresent(run: RunDraft, message: Observed): void {
  if (!run.isPlaced() && !message.held) return;
  // A placement that was lost from memory counts from the start of its first attempt.
  const ages = message.attempts.map(({ startedAgoMs = 0 }) => startedAgoMs);
  const from = Math.max(run.record.waitingSince, Math.round(run.now - Math.max(0, ...ages)));
  if (!takeUp(run, message, from)) return;
  storePlacement(run);
  for (const report of message.attempts) {
    const parts = parseAttemptId(report.id);
    if (parts?.epoch !== message.epoch || !wasOrdered(run.record, parts)) continue;
    // Undefined: an update removed the task before this placement.
    const member = run.view.members.find(({ task }) => task.name === parts.task);
    if (member !== undefined && foldAttempt(run, member, parts, report, message.protocol)) {
      noteData(run, parts.epoch, report.data);
    } else if (member !== undefined) {
      noteSaved(run, report);
      noteContradiction(run, report);
    }
    if (member !== undefined) noteChecks(run, member, report);
    takeLogs(run, parts.task, report);
  }
  spillTails(run);
}
