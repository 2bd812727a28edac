// Which attempts of a run does a host's report change?
import { parseAttemptId } from "../../../shared/attempt-id.ts";
import type { Observed } from "../../messages.ts";
import type { RunDraft } from "../draft.ts";
import { takeLogs } from "../output/logs.ts";
import { spillTails } from "../output/tails.ts";
import { wasOrdered } from "../tasks/tasks.ts";
import { foldAttempt } from "./attempts.ts";
import { noteContradiction, noteLate } from "./late.ts";
import { storePlacement, takeUp } from "./placement.ts";
import { noteData, noteSaved } from "./sticky.ts";

/** Folds in a host's report on a placement of the run, open or ended. */
export function foldObserved(run: RunDraft, message: Observed): void {
  const { record } = run;
  if (message.kept) return;
  if (!record.ended && message.epoch > record.endedEpoch) foldPresent(run, message);
  else noteLate(run, message);
}

/**
 * Folds in a report on the open epoch. After a restart, this object may have lost a placement that it had not
 * stored. If the reporting worker has accepted an order for it (`held`), this run must have sent that order,
 * and adopts the placement again. Without such an order a report proves nothing.
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
    takeLogs(run, parts.task, report);
  }
  spillTails(run);
}
