import type { OutputsOutcome, StartError } from "../../../schema/host.ts";
import type { Exit, RunEvent } from "../../../schema/run/run.ts";
import {
  MAX_RUN_ATTEMPT_TEXT_BYTES,
  MAX_RUN_ATTEMPTS,
  MAX_RUN_EVENT_BYTES,
  MAX_TASK_ATTEMPTS,
  MIN_TASK_ATTEMPTS,
} from "../../../shared/limits.ts";
import { latestWithin, storedBytes } from "../../stored-bytes.ts";
import type { AllocationRecord, AllocationState, AttemptRecord, TaskRecord } from "../state.ts";

/**
 * A run is one value, which storage takes up to 2 MB: what hosts say of it has a bound in all, and not only
 * each text. What is oldest gives way: events go, and are counted as dropped; texts of attempts are cut.
 */

/** What is left of a text that is cut, in characters, and the mark at its end. */
const CUT_TO = 32;
const CUT_MARK = " … (cut)";
/** What an event takes beside its texts. */
const EVENT_BYTES = 128;

/** The attempts that are kept with each of so many tasks. */
export function attemptsKept(tasks: number): number {
  return Math.max(MIN_TASK_ATTEMPTS, Math.min(MAX_TASK_ATTEMPTS, Math.floor(MAX_RUN_ATTEMPTS / tasks)));
}

/** The run after an event, with its texts within their bounds. */
export function withinBounds(before: AllocationState, after: AllocationState): AllocationState {
  const { record } = after;
  if (record === null || record === before.record) return after;
  const { events, eventsDropped } = record;
  const kept =
    events === before.record?.events ? events : latestWithin(events, MAX_RUN_EVENT_BYTES, eventBytes);
  const tasks = record.tasks === before.record?.tasks ? record.tasks : withCutTexts(record.tasks);
  if (kept === events && tasks === record.tasks) return after;
  const dropped = eventsDropped + events.length - kept.length;
  const bounded: AllocationRecord = { ...record, tasks, events: kept, eventsDropped: dropped };
  return { ...after, record: bounded };
}

function eventBytes({ message, details }: RunEvent): number {
  const texts = Object.entries(details).flat();
  return texts.reduce((sum, text) => sum + storedBytes(text), EVENT_BYTES + storedBytes(message));
}

function withCutTexts(tasks: TaskRecord[]): TaskRecord[] {
  const all = tasks.flatMap(({ attempts }) => attempts);
  const latest = [...all].sort((a, b) => a.epoch - b.epoch || (a.startedAt ?? 0) - (b.startedAt ?? 0));
  const whole = latestWithin(latest, MAX_RUN_ATTEMPT_TEXT_BYTES, textBytes);
  if (whole === latest) return tasks;
  const isWhole = new Set(whole);
  const cut = (one: AttemptRecord) => (isWhole.has(one) ? one : withCutText(one));
  return tasks.map((task) => ({ ...task, attempts: task.attempts.map(cut) }));
}

function textBytes({ exit, startError, killError, outputs }: AttemptRecord): number {
  const lost = outputs !== undefined && "error" in outputs ? outputs.error : "";
  const texts = [exit?.message, exit?.signal, startError?.text, killError, lost];
  return texts.reduce<number>((sum, text) => sum + storedBytes(text ?? ""), 0);
}

function withCutText(attempt: AttemptRecord): AttemptRecord {
  const { exit, startError, killError, outputs } = attempt;
  const ended: Exit | null = exit && { ...exit, message: cutText(exit.message) };
  const failed: StartError | null = startError && { ...startError, text: cutText(startError.text) };
  const stored: OutputsOutcome | undefined =
    outputs !== undefined && "error" in outputs ? { error: cutText(outputs.error) } : outputs;
  return {
    ...attempt,
    exit: ended,
    startError: failed,
    killError: killError && cutText(killError),
    ...(stored === undefined ? {} : { outputs: stored }),
  };
}

function cutText(text: string): string {
  return text.length <= CUT_TO + CUT_MARK.length ? text : text.slice(0, CUT_TO) + CUT_MARK;
}
