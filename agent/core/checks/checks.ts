// When is each check of a running attempt tried, and what is said of it (health.md#tries)?
import type { AttemptReport } from "../../../src/schema/host.ts";
import { earliest, type Instant, type Millis } from "../../../src/shared/machine.ts";
import { ownStop, stopAttempt } from "../attempts/attempt.ts";
import type { EventOf } from "../events.ts";
import type { HostMessage } from "../messages.ts";
import type { AttemptState, CheckState, Unhealthy } from "../types.ts";
import { isStarting, mustRestart, textOf, withResult } from "./results.ts";

/** How soon after the start of its attempt a check is tried first. */
export const FIRST_CHECK_MS: Millis = 500;
/** How often a check is tried in its start period at least: failures do not count there. */
export const STARTING_CHECK_MS: Millis = 1_000;
/** How many characters of texts of checks one report has at most. */
export const MAX_REPORT_CHECK_CHARS = 64 * 1024;

/** Whether the attempt is checked now: its main process runs, and no stop has begun. */
function isChecked({ main, stop, checks }: AttemptState): boolean {
  return main === "running" && stop === undefined && checks !== undefined;
}

/**
 * Begins the tries that are due. An attempt that this start of the agent has adopted is checked from the
 * beginning: results are not in the journal (health.md#survives).
 */
export function elapseChecks(attempt: AttemptState, now: Instant): AttemptState {
  if (!isChecked(attempt)) return attempt;
  if (attempt.checking === undefined) return { ...attempt, checking: begun(attempt, now) };
  const dueAt = nextCheckAt(attempt);
  if (dueAt === undefined || dueAt > now) return attempt;
  const due = Object.entries(attempt.checking).map(([name, check]): [string, CheckState] => {
    const isDue = check.nextAt !== undefined && check.nextAt <= now;
    return [name, isDue ? { ...check, nextAt: undefined, beganAt: now } : check];
  });
  return { ...attempt, checking: Object.fromEntries(due) };
}

function begun({ checks, startedAt = 0 }: AttemptState, now: Instant): Record<string, CheckState> {
  const all = (checks?.checks ?? []).map(({ name, intervalMs }): [string, CheckState] => {
    const nextAt = Math.max(now, startedAt + Math.min(FIRST_CHECK_MS, intervalMs));
    return [name, { status: "pending", since: now, good: 0, bad: 0, unhealthy: 0, hasPassed: false, nextAt }];
  });
  return Object.fromEntries(all);
}

/** When the next try of the attempt begins. Undefined: none will, or all are being tried. */
export function nextCheckAt(attempt: AttemptState): Instant | undefined {
  if (!isChecked(attempt)) return undefined;
  if (attempt.checking === undefined) return attempt.startedAt ?? 0;
  return earliest(...Object.values(attempt.checking).map(({ nextAt }) => nextAt));
}

/** The tries that are being made. One that is no longer due is ended. */
export function dueChecks(attempt: AttemptState): HostMessage[] {
  const { id, checks, checking } = attempt;
  if (!isChecked(attempt) || checking === undefined) return [];
  const inFlight = (checks?.checks ?? []).filter(({ name }) => checking[name]?.beganAt !== undefined);
  return inFlight.map((check) => ({ to: `${id}#${check.name}`, kind: "check", id, check }));
}

/**
 * The attempt after a result. If the check has failed too often the attempt is stopped, and its end counts as
 * a failure of its task (health.md#restart).
 */
export function foldChecked(
  attempt: AttemptState,
  { name, result }: EventOf<"checked">,
  now: Instant,
): AttemptState {
  const { checks, checking = {}, startedAt = 0 } = attempt;
  const check = checks?.checks.find((one) => one.name === name);
  const { beganAt, ...before } = checking[name] ?? {};
  if (!isChecked(attempt) || check === undefined || beganAt === undefined) return attempt;
  const restart = checks?.restart;
  const known = { ...before, beganAt } as CheckState; // of `checking`, where it was found
  // What could not be tried says nothing of the task.
  const after =
    result === null ? known : withResult(known, { check, restart, startedAt, beganAt, result }, now);
  const everyMs = isStarting(after, { check, startedAt, beganAt: now })
    ? Math.min(check.intervalMs, STARTING_CHECK_MS)
    : check.intervalMs;
  const next = { ...after, beganAt: undefined, nextAt: Math.max(now, beganAt + everyMs) };
  const tried = { ...attempt, checking: { ...checking, [name]: next } };
  if (result === null || !mustRestart(after, restart)) return tried;
  const unhealthy = { check: name, failures: after.unhealthy, output: textOf(result), at: now };
  return stopAttempt({ ...tried, unhealthy }, ownStop(attempt), now, "check");
}

/** Whether something changed that the control plane must hear of: a status, or why a check fails. */
export function hasCheckNews(before: AttemptState | undefined, after: AttemptState): boolean {
  if (after.checking === undefined || after.checking === before?.checking) return false;
  return Object.entries(after.checking).some(([name, check]) => {
    const known = before?.checking?.[name];
    const status = known?.status ?? "pending";
    return check.status !== status || check.output !== known?.output;
  });
}

/** What a report says of the check that has stopped an attempt. */
export function unhealthyReport({ at, ...check }: Unhealthy, now: Instant): AttemptReport["unhealthy"] {
  return { ...check, agoMs: Math.max(0, now - at) };
}

/** What reports say of the checks of attempts, with room for so many characters of texts in all. */
export function checkReports(now: Instant): (attempt: AttemptState) => Pick<AttemptReport, "checks"> {
  let room = MAX_REPORT_CHECK_CHARS;
  return ({ checking }) => {
    if (checking === undefined) return {};
    const checks = Object.entries(checking).map(([name, { status, since, output = "" }]) => {
      const text = output.slice(0, room);
      room -= text.length;
      return { name, status, sinceAgoMs: Math.max(0, now - since), ...(text === "" ? {} : { output: text }) };
    });
    return { checks };
  };
}
