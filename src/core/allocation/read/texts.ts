// How is the text in a run's record bounded? Storage takes at most 2 MB per value. So the oldest events are
// dropped and counted, and the texts of the oldest attempts are cut.
import type { OutputsOutcome, StartError } from "../../../schema/host.ts";
import type { Exit, RunEvent } from "../../../schema/run/run.ts";
import { MAX_TASK_ATTEMPTS } from "../../../shared/limits.ts";
import { latestWithin, storedBytes } from "../../stored-bytes.ts";
import type { RunDraft } from "../draft.ts";
import type { AllocationRecord, AttemptRecord, CheckRecord, TaskRecord } from "../state.ts";

/**
 * How many attempts a run with many tasks keeps at most, and how many attempts each of its tasks keeps in any
 * case. The latest attempts are kept.
 */
export const MAX_RUN_ATTEMPTS = 512;
export const MIN_TASK_ATTEMPTS = 4;
/**
 * How many bytes texts from hosts may take in storage, in the events of a run and in its attempts. If there
 * are more bytes, the oldest events are dropped, and the texts of the oldest attempts are cut. Together with
 * the logs and the spec, the record stays below 2 MB.
 */
export const MAX_RUN_EVENT_BYTES = 384 * 1024;
export const MAX_RUN_ATTEMPT_TEXT_BYTES = 128 * 1024;
/** How many bytes the latest output of all checks of a run may take: the oldest are cut. */
export const MAX_RUN_CHECK_TEXT_BYTES = 64 * 1024;

/** The characters that a cut text keeps, and the mark after them. */
const CUT_TO = 32;
const CUT_MARK = " … (cut)";
/** Bytes that an event takes in addition to its texts. */
const EVENT_BYTES = 128;

/** How many attempts each task of a run with this many tasks keeps. */
export function attemptsKept(tasks: number): number {
  return Math.max(MIN_TASK_ATTEMPTS, Math.min(MAX_TASK_ATTEMPTS, Math.floor(MAX_RUN_ATTEMPTS / tasks)));
}

/** Keeps the texts of a run within their bounds. `before`: the record before the event. */
export function limitTexts(run: RunDraft, before: AllocationRecord): void {
  const { events, tasks, eventsDropped } = run.record;
  const kept = events === before.events ? events : latestWithin(events, MAX_RUN_EVENT_BYTES, eventBytes);
  if (kept !== events) run.set({ events: kept, eventsDropped: eventsDropped + events.length - kept.length });
  const cut = tasks === before.tasks ? tasks : withCutChecks(withCutTexts(tasks));
  if (cut !== tasks) run.set({ tasks: cut });
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

/** Cuts what the checks have said that have had their status for the longest time. */
function withCutChecks(tasks: TaskRecord[]): TaskRecord[] {
  const all = tasks.flatMap(({ checks }) => checks?.items ?? []);
  const latest = [...all].sort((a, b) => a.since - b.since);
  const whole = latestWithin(latest, MAX_RUN_CHECK_TEXT_BYTES, ({ output = "" }) => storedBytes(output));
  if (whole === latest) return tasks;
  const isWhole = new Set(whole);
  const cut = (one: CheckRecord) =>
    isWhole.has(one) || one.output === undefined ? one : { ...one, output: cutText(one.output) };
  return tasks.map((task) =>
    task.checks === undefined
      ? task
      : { ...task, checks: { ...task.checks, items: task.checks.items.map(cut) } },
  );
}

function textBytes({ exit, startError, killError, outputs, unhealthy, ...own }: AttemptRecord): number {
  const lost = outputs !== undefined && "error" in outputs ? outputs.error : "";
  const { devices = [], image, doing } = own;
  const said = [exit?.message, exit?.signal, startError?.text, killError, lost, unhealthy?.output];
  const texts = [...said, image, doing, ...devices];
  return texts.reduce<number>((sum, text) => sum + storedBytes(text ?? ""), 0);
}

/** The attempt with short texts, and without the ids of its devices: a part of an id is of no use. */
function withCutText({ devices: _, ...attempt }: AttemptRecord): AttemptRecord {
  const { exit, startError, killError, outputs, unhealthy, image, doing } = attempt;
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
    ...(image === undefined ? {} : { image: cutText(image) }),
    ...(doing === undefined ? {} : { doing: cutText(doing) }),
    ...(unhealthy === undefined ? {} : { unhealthy: { ...unhealthy, output: cutText(unhealthy.output) } }),
  };
}

function cutText(text: string): string {
  return text.length <= CUT_TO + CUT_MARK.length ? text : text.slice(0, CUT_TO) + CUT_MARK;
}
