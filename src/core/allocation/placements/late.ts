// What if a host reports something else about an ended placement than is stored?
import type { AttemptReport } from "../../../schema/host.ts";
import type { Exit } from "../../../schema/run/run.ts";
import { parseAttemptId } from "../../../shared/attempt-id.ts";
import type { Instant } from "../../../shared/machine.ts";
import type { Observed } from "../../messages.ts";
import { addEvent } from "../read/events.ts";
import type { AllocationRecord, AttemptRecord } from "../state.ts";
import { isOver } from "../tasks/tasks.ts";

/** Notes reports of an ended epoch that contradict the record; the record itself stays (invariant 1). */
export function noteLate(record: AllocationRecord, message: Observed, now: Instant): AllocationRecord {
  const { worker, epoch, attempts } = message;
  const placed = record.placements.some((one) => one.epoch === epoch && one.worker === worker);
  if (!placed) return record;
  return attempts.reduce((next, report) => {
    const known = next.tasks.flatMap((task) => task.attempts).find((one) => one.id === report.id);
    const ours = known !== undefined || mayHaveBeen(next, epoch, report.id);
    return ours ? noteContradiction(next, known, report, now) : next;
  }, record);
}

/** Whether an attempt that was never reported may have been ordered in that epoch. */
function mayHaveBeen(record: AllocationRecord, epoch: number, id: string): boolean {
  const parts = parseAttemptId(id);
  const task = record.tasks.find(({ name }) => name === parts?.task);
  return task !== undefined && parts?.epoch === epoch && parts.n <= task.n;
}

/**
 * Notes that a report contradicts the stored end of an attempt: at most once that the attempt lives, and at
 * most once how it ended.
 */
export function noteContradiction(
  record: AllocationRecord,
  known: AttemptRecord | undefined,
  report: AttemptReport,
  now: Instant,
): AllocationRecord {
  if (!contradicts(known, report)) return record;
  const { id, state, exit } = report;
  const over = state === "exited";
  const noted = record.events.some(({ type, details }) => {
    return type === "Late Report" && details.attempt === id && (details.state === "exited") === over;
  });
  if (noted) return record;
  const reported = exit === undefined ? state : `${state} with ${textOf(exit)}`;
  const stays = known?.exit
    ? `the first report stays: ${textOf(known.exit)}`
    : "its end was decided without it";
  const parts: Record<string, string> =
    exit === undefined ? {} : { exit_code: String(exit.code ?? ""), signal: exit.signal ?? "" };
  const task = parseAttemptId(id)?.task;
  return addEvent(record, "Late Report", now, `the host now says that ${id} is ${reported}; ${stays}`, {
    ...(task === undefined ? {} : { task }),
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
